"""Tables for people: the comparison, the formats, the stops and the compactions, in few columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from compactlab.charts import paper
from compactlab.charts.means import means
from compactlab.fates import FATES, Fates
from compactlab.results.shares import pooled_effective
from compactlab.words import NONE, interval, kilo, percent, window_name

if TYPE_CHECKING:
    import pandas as pd



def comparison(runs: pd.DataFrame) -> pd.DataFrame:
    """A line a kind of head, window and strategy of the table `runs`.

    The reduction is the mean over the sessions served whole, with its 95 % interval; in brackets
    the mean of those that were refused in part, which no other figure contains.
    """
    import pandas as pd

    runs = paper.with_key(runs)
    by = ["head_kind", "window", "label"]
    groups = dict(list(runs.groupby(by, sort=False)))
    lines = []
    for row in means(runs, *by).sort_values(by[:2], kind="stable").to_dict("records"):
        group = groups[tuple(row[name] for name in by)]
        ran = group[group["status"] == "ok"]
        lines.append({
            "head": row["head_kind"], "window": window_name(row["window"]),
            "strategy": row["label"], "sessions": len(group),
            "served whole": row["n"], "token reduction": reduction_text(row),
            "peak tokens": _kilo(paper.numbers(ran["peak_tokens"])),
            "compactions": _sum(ran, "compactions"), "silent": _sum(ran, "silent"),
            "no-ops": _sum(ran, "noops"), "effective": percent(pooled_effective(ran)),
            "stops": _sum(ran, "stops"), "hard stops": _sum(ran, "hard_stops"),
        })
    return pd.DataFrame(lines).set_index(["head", "window", "strategy"]) if lines else runs


def by_format(runs: pd.DataFrame) -> pd.DataFrame:
    """Mean token reduction: a line a format, kind of head and window, a column a strategy."""
    import pandas as pd

    runs = paper.with_key(runs)
    runs = runs[runs["status"] == "ok"]
    if not len(runs):
        return pd.DataFrame()
    compared = runs[runs["strategy"] != paper.RAW]
    runs = compared if len(compared) else runs
    by = ["format", "head_kind", "window", "label"]
    found = means(runs, *by).sort_values(["format", "head_kind", "window"], kind="stable")
    found["text"] = [reduction_text(row, bounds=False) for row in found.to_dict("records")]
    found["window"] = [window_name(row["window"]) for row in found.to_dict("records")]
    found = found.rename(columns={"head_kind": "head", "label": "strategy"})
    sessions = runs.groupby(["format", "head_kind"])["session"].nunique()
    found["sessions"] = [int(sessions[key]) for key in zip(found["format"], found["head"],
                                                           strict=True)]
    table = found.pivot_table(index=["format", "head", "sessions", "window"], columns="strategy",
                              values="text", aggfunc="first", sort=False).fillna(NONE)
    return table[paper.in_order(runs["label"])]


def stops(runs: pd.DataFrame) -> pd.DataFrame:
    """A line a strategy and window: in how many sessions turns ended refused, and why first."""
    import pandas as pd

    runs = paper.with_key(runs)
    ran = runs[runs["status"] == "ok"]
    reasons = sorted(set(ran["stop_reason"].dropna()))
    lines = []
    for (label, _), group in ran.groupby(["label", "window"], sort=False):
        refused = group[group["stops"] > 0]
        line: dict[str, Any] = {
            "strategy": label, "window": window_name(int(group["window"].iloc[0])),
            "sessions": len(group),
            "with a stop": len(refused), "turns stopped": int(group["stops"].sum()),
            "requests unserved": _percent_of(group["requests_unserved"], group["requests"]),
        }
        first = refused["stop_reason"]
        line |= {f"first: {reason}": int((first == reason).sum()) for reason in reasons}
        line["median head"] = kilo(_median(paper.numbers(refused["head"])))
        lines.append(line)
    found = pd.DataFrame(lines)
    return found.set_index(["strategy", "window"]) if lines else found


def compaction_list(compactions: pd.DataFrame, most: int = 40) -> pd.DataFrame:
    """The compactions of one replay for reading, silent ones left out, at most `most` of them."""
    import pandas as pd

    loud = compactions[~paper.truths(compactions["silent"])].head(most)
    shown = pd.DataFrame(index=loud.index)
    for name in ("request", "turn", "trigger", "member"):
        shown[name] = loud[name]
    shown["level"] = [NONE if value != value else f"{value:.0f}"
                      for value in paper.numbers(loud["level"])]
    shown["before"] = [kilo(value) for value in paper.numbers(loud["before"])]
    shown["after"] = [kilo(value) for value in paper.numbers(loud["after"])]
    shown["reduction"] = [percent(value) for value in paper.numbers(loud["reduction"])]
    shown["effective"] = ["yes" if value else "no" for value in paper.truths(loud["effective"])]
    shown["summary"] = [kilo(value) for value in paper.numbers(loud["summary_tokens"])]
    shown["written by"] = loud["written_by"].astype(object).where(
        loud["written_by"].notna(), NONE)
    shown["messages"] = [f"{b} → {a}" for b, a in zip(loud["messages_before"],
                                                      loud["messages_after"], strict=True)]
    shown["reason"] = loud["reason"].astype(object).where(loud["reason"].notna(), NONE)
    return shown.set_index("request")


def fate_sums(fates: Fates) -> pd.DataFrame:
    """Messages and tokens of one compaction by side, fate and role, summaries apart."""
    import pandas as pd

    table = fates.table
    if not len(table):
        return pd.DataFrame(columns=["messages", "tokens"])
    table["role"] = table["role"].where(table["kind"] != "summary", "summary")
    found = table.groupby(["side", "fate", "role"], sort=False)["tokens"].agg(["size", "sum"])
    found = found.rename(columns={"size": "messages", "sum": "tokens"})
    order = {"before": 0, "after": 1} | {fate: at for at, fate in enumerate(FATES)}
    return found.sort_index(key=lambda level: level.map(lambda name: order.get(name, 9)),
                            level=["side", "fate"], sort_remaining=False)


def largest_messages(fates: Fates, most: int = 12) -> pd.DataFrame:
    """The largest messages before one compaction, what became of each, and how it begins."""
    table = fates.table
    before = table[table["side"] == "before"].astype({"tokens": "int64"})  # no row has no type
    before = before.nlargest(most, "tokens")
    return before.set_index("index")[["role", "tokens", "fate", "text"]]


def reduction_text(row: Mapping[Any, Any], *, bounds: bool = True) -> str:
    """A row of `means` in words: 43 % [38, 47], behind it (12 %) for those refused in part."""
    parts = []
    if row["n"]:
        parts.append(interval(row["mean"], row["low"], row["high"]) if bounds
                     else percent(row["mean"]))
    if row["n_partial"]:
        parts.append(f"({percent(row['mean_partial'])})")
    return " ".join(parts) or NONE


def _sum(runs: pd.DataFrame, name: str) -> int:
    return int(paper.numbers(runs[name].fillna(0)).sum())


def _kilo(values: paper.Floats) -> str:
    found = values[values == values]
    return kilo(float(found.max())) if len(found) else NONE


def _median(values: paper.Floats) -> float:
    found = sorted(values[values == values].tolist())
    return (found[(len(found) - 1) // 2] + found[len(found) // 2]) / 2 if found else float("nan")


def _percent_of(part: pd.Series[Any], whole: pd.Series[Any]) -> str:
    total = float(paper.numbers(whole).sum())
    return percent(float(paper.numbers(part).sum()) / total if total else None)
