"""The findings of a run in sentences, every number of them computed from its tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compactlab.charts import paper
from compactlab.charts.means import means
from compactlab.report.headline import headline, lacking
from compactlab.report.outcome import within
from compactlab.results import with_kept
from compactlab.results.shares import whole
from compactlab.results.trust import trust
from compactlab.words import HEAD_NAMES, joined, kilo, percent, plural, window_name

if TYPE_CHECKING:
    import pandas as pd


WHY = {  # reasons of a stop, in words
    "no_strategy": "it has no answer to a refusal",
    "exhausted": "all attempts used up",
    "under_budget": "its messages were under the budget",
    "too_short": "nothing left to summarise",
    "no_safe_split": "no place to part the messages",
}


def finding(runs: pd.DataFrame, quality: pd.DataFrame | None = None) -> tuple[str, ...]:
    """What the tables say: first which strategy, at which window, costs and loses what.

    `runs` and, where it was measured, `quality` are tables of one run. The headline takes the
    smallest window at which a strategy served every request, and the one that reduced tokens most
    there; then who costs or loses less, what was replayed, window by window, money, the stops.
    Kinds of hidden heads are not pooled: it speaks of the kind with the most runs in which
    something happened, and says which.
    """
    runs = paper.with_key(with_kept(runs, quality))
    runs = runs[~runs["requests"].fillna(-1).eq(0)]  # a session without a request is no replay
    if not (runs["status"] == "ok").any():
        return ("No session was replayed.", *_failures(runs))
    head, group = _busiest(runs)
    compared = group[group["strategy"] != paper.RAW]
    rows = means(compared, "window", "label").to_dict("records")
    windows = sorted({row["window"] for row in rows})
    best = {window: _best([r for r in rows if r["window"] == window]) for window in windows}
    first = next((w for w in windows if _whole(best[w])), windows[-1] if windows else 0)
    label = best[first]["label"] if windows else None
    kind = HEAD_NAMES.get(head, head)
    apart = kind if runs[runs["status"] == "ok"]["head_kind"].nunique() > 1 else ""
    return (
        *headline(group, label, first, apart),
        _scope(runs, f"{'above: ' if apart else ''}{kind}; {_measured(group)}"),
        *(_sentence(best[window]) for window in windows if window != first or best[window]["n"]),
        *_money(group, first),
        *(f"{sentence[:1].upper()}{sentence[1:]}." for sentence in trust(runs)),
        *lacking(group, label, first),
        *stop_sentences(runs),
        *_failures(runs),
    )


def _money(runs: pd.DataFrame, window: int) -> tuple[str, ...]:
    """What the strategies saved or lost in money at one window, mean over sessions served whole."""
    if "cost_saving" not in runs:
        return ()
    at = runs[(runs["window"] == window) & (runs["strategy"] != paper.RAW) & whole(runs)
              & runs["cost_saving"].notna()]
    if not len(at):
        return ()
    means_ = at.groupby("label", sort=False)["cost_saving"].mean().sort_values(ascending=False)
    said = ", ".join(f"{label} {percent(value, sign=True)}" for label, value in means_.items())
    models = joined(at["price_model"])
    return (f"Money saved at {window_name(window)} with a simulated prompt cache"
            f", prices of {models}, the mean of each session's own share "
            f"over those served whole: {said}.",)


def under_budget(runs: pd.DataFrame) -> str:
    """How often the first stop was `under_budget`, and what that means, in two sentences."""
    runs = paper.with_key(runs)
    stopped = runs[runs["stops"] > 0]
    found = stopped[stopped["stop_reason"] == "under_budget"]
    if not len(found):
        return "No run was first stopped because its messages were under the budget."
    heads = [kilo(tokens) for tokens in sorted(paper.numbers(found["head"]).tolist())]
    sizes = heads[0] if heads[0] == heads[-1] else f"{heads[0]} to {heads[-1]}"
    labels = paper.in_order(found["label"])
    names, refused = ", ".join(labels), stopped[stopped["label"].isin(labels)]
    return (f"{names}: in {len(found)} of {len(refused)} runs with a refused turn the first stop "
            "was under_budget. The prompt was over the window, but its messages alone were not "
            "over the budget (the window less a margin for system prompt, tools and answer): "
            "nothing was compacted and the turn ended with the provider's own error. The hidden "
            f"head of these runs takes {sizes} tokens.")


def stop_sentences(runs: pd.DataFrame) -> tuple[str, ...]:
    """One sentence for each strategy whose turns ended refused: how often, where, why first."""
    found = []
    for label in paper.in_order(runs["label"]):
        mine = runs[(runs["label"] == label) & (runs["status"] == "ok")]
        parts = []
        for window in sorted(set(mine["window"])):
            at = mine[mine["window"] == window]
            stopped = at[at["stops"] > 0]
            if len(stopped):
                reasons = sorted(stopped["stop_reason"].value_counts().to_dict().items())
                why = ", ".join(f"{WHY.get(reason, reason)}: {count}" for reason, count in reasons)
                why = why if len(reasons) > 1 else WHY.get(reasons[0][0], str(reasons[0][0]))
                share = "" if len(at) == 1 else f"in {len(stopped)} of {len(at)} sessions "
                parts.append(f"{share}at {window_name(window)} ({why})")
        if parts:
            found.append(f"Under {label}, turns ended refused {'; '.join(parts)}.")
    return tuple(found)


def _busiest(runs: pd.DataFrame) -> tuple[str, pd.DataFrame]:
    """The kind of head with the most runs that compacted or were refused, and its runs."""
    busy = paper.numbers(runs["compactions"].fillna(0)) + paper.numbers(runs["stops"].fillna(0))
    kinds = runs["head_kind"]
    counts: dict[str, tuple[int, int]] = {}
    for kind, happened in zip(kinds, busy > 0, strict=True):
        some, all_ = counts.get(kind, (0, 0))
        counts[kind] = (some + int(happened), all_ + 1)
    head = max(counts, key=lambda kind: counts[kind])
    return head, runs[kinds == head]


def _best(rows: list[dict[Any, Any]]) -> dict[Any, Any]:
    """The row with the largest mean among those that served whole as many sessions as any."""
    most = max(row["n"] for row in rows)
    rivals = [row for row in rows if row["n"] == most]
    best = max(rivals, key=lambda row: row["mean"] if row["n"] else row["mean_partial"])
    return best | {"alone": len(rivals) == 1 < len(rows)}


def _whole(row: dict[Any, Any]) -> bool:
    return bool(row["n"]) and not row["n_partial"] and not row["n_failed"]


def _sentence(row: dict[Any, Any]) -> str:
    total = row["n"] + row["n_partial"] + row["n_failed"]
    at = "Without a window," if not row["window"] else f"At {window_name(row['window'])},"
    if not row["n"]:
        return f"{at} no strategy served every request of any of {plural(total, 'session')}."
    did, rank = ("raised", "least") if row["mean"] < 0 else ("reduced", "most")
    by = f"by {percent(abs(row['mean']))}{within(row['low'], row['high'], row['mean'] < 0)}"
    if row["alone"] and _whole(row):
        return (f"{at} only {row['label']} served every request: it {did} prompt tokens {by}, "
                f"in {plural(total, 'session')}.")
    most = f"{at} {row['label']} {did} prompt tokens {rank} among the strategies that served"
    if _whole(row):
        return f"{most} every request: {by}, in {plural(total, 'session')}."
    return (f"{most} most sessions whole: {by}, in {row['n']} of {plural(total, 'session')}; no "
            "strategy served every request.")


def _scope(runs: pd.DataFrame, about: str) -> str:
    formats = runs.groupby("format")["session"].nunique().to_dict()
    which = ", ".join(f"{count} {name}" for name, count in sorted(formats.items()))
    names = ", ".join(paper.in_order(runs["label"]))
    windows = ", ".join(map(window_name, sorted(set(runs["window"]))))
    one = runs.drop_duplicates("session")
    requests = int(paper.numbers(one["requests"].fillna(0)).sum())
    return (f"{plural(runs['session'].nunique(), 'session')} ({which}) with "
            f"{plural(requests, 'request')} replayed under {names} at a window of {windows} "
            f"({about}).")


def _measured(runs: pd.DataFrame) -> str:
    return f"tokenizer {joined(runs['tokenizer'])}, summariser {paper.writers(runs)}"


def _failures(runs: pd.DataFrame) -> tuple[str, ...]:
    failed = runs[runs["status"] != "ok"]
    counts = failed["status"].value_counts().to_dict()
    what = {"impossible": "the hidden head alone fills the window", "error": "see their reason"}
    return tuple(f"{plural(count, 'run')} {status}: {what.get(str(status), 'see their reason')}."
                 for status, count in sorted(counts.items()))
