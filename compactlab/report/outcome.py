"""What one strategy did at one window, in figures and in words: tokens, money, what is lost."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from compactlab.charts import paper
from compactlab.statistics import NOT_SEPARABLE, compare, estimate
from compactlab.strategies.presets import PRESETS, find
from compactlab.words import dollars, percent, plural

if TYPE_CHECKING:
    import pandas as pd

    from compactlab.setting import Setting

THRESHOLD = "threshold"  # the setting that says from where on a strategy compacts
CENTS = 0.1  # USD; amounts below it need four digits


@dataclass(frozen=True)
class Outcome:
    """A strategy over `sessions` sessions that it served whole; None where nothing is known.

    `reduction` and `frr`, `bound` are means over sessions, `cost` and `cost_raw` (USD) sums over
    the `priced` ones; `scored` of the sessions have `cuts` cuts that count, `by_session` is the
    FRR of each.
    """

    label: str
    name: str
    sessions: int
    reduction: float
    low: float
    high: float
    cost: float | None
    cost_raw: float | None
    priced: int
    frr: float | None
    bound: float | None
    scored: int
    cuts: int
    by_session: Mapping[str, float]


def outcome(rows: pd.DataFrame) -> Outcome:
    """The outcome of the rows of one label at one window, all of them served whole.

    `rows` are of the table `runs`, with `label`, and `columns.KEPT` where quality was measured.
    """
    reduction = estimate(paper.numbers(rows["token_reduction"]).tolist())
    money = rows[rows["cost"].notna() & rows["cost_raw"].notna()] if "cost" in rows else rows[:0]
    kept = rows[rows["frr"].notna()] if "frr" in rows else rows[:0]
    one = rows.iloc[0]
    return Outcome(
        label=str(one["label"]), name=named(one), sessions=len(rows),
        reduction=reduction.value, low=reduction.low, high=reduction.high,
        cost=_sum(money, "cost"), cost_raw=_sum(money, "cost_raw"), priced=len(money),
        frr=_mean(kept, "frr"), bound=_mean(kept, "bound_frr"), scored=len(kept),
        cuts=int(_sum(kept, "cuts") or 0),
        by_session=dict(zip(kept["session"].astype(str), paper.numbers(kept["frr"]).tolist(),
                            strict=True)) if len(kept) else {})


def _sum(rows: pd.DataFrame, name: str) -> float | None:
    return float(paper.numbers(rows[name]).sum()) if len(rows) else None


def _mean(rows: pd.DataFrame, name: str) -> float | None:
    values = paper.numbers(rows[name]) if len(rows) else None
    known = [] if values is None else values[values == values].tolist()
    return sum(known) / len(known) if known else None


def separable(first: Outcome, second: Outcome) -> bool:
    """Whether the interval of the difference of their losses, paired by session, holds no 0."""
    (found,) = compare({"first": first.by_session, "second": second.by_session})
    return found.verdict != NOT_SEPARABLE


# -- in words --------------------------------------------------------------------------------------


def named(row: Any) -> str:
    """A strategy of a row of `runs` with its settings in words, its own threshold among them."""
    strategy, text = str(row["strategy"]), str(row["settings"] or "")
    given: dict[str, Any] = json.loads(text) if text.startswith("{") else {}
    preset = PRESETS.get(strategy)
    declared = {s.name: s for s in preset.settings()} if preset else {}
    known = dict(given)
    if preset and THRESHOLD in declared and THRESHOLD not in given:
        known |= {THRESHOLD: next(getattr(member, THRESHOLD) for member in find(strategy)
                                  if hasattr(member, THRESHOLD))}
    said = [_setting(name, value, declared.get(name)) for name, value in known.items()]
    more = f", summaries by {row['summariser']}" if str(row["label"]).endswith("]") else ""
    return f"{strategy} ({', '.join(said) or 'default settings'}{more})"


def _setting(name: str, value: Any, declared: Setting | None) -> str:
    unit = declared.unit if declared else ""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return f"{name} {value}"
    if unit.startswith("share of "):
        return f"{name} {100 * value:g} % {unit.removeprefix('share ')}"
    return f"{name} {value:,} {unit}".rstrip()


def tokens(found: Outcome, *, bounds: bool = False) -> str:
    """`cuts prompt tokens by 41 %`."""
    share = percent(abs(found.reduction))
    if share == "0 %":
        return f"leaves prompt tokens {'nearly ' if found.reduction else ''}as they are"
    text = f"{'cuts' if found.reduction > 0 else 'raises'} prompt tokens by {share}"
    return text + within(found.low, found.high, found.reduction <= 0) if bounds else text


def within(low: float, high: float, turned: bool) -> str:
    """` (95 % interval 38 to 47)`, `turned` for what is raised; empty where there is none."""
    if low != low:
        return ""
    ends = sorted(-100 * end if turned else 100 * end for end in (low, high))
    return " (95 % interval {:.0f} to {:.0f})".format(*ends)


def money(found: Outcome, *, short: bool = False) -> str:
    """`costs $1.20 where nothing compacted costs $1.45 (17 % less)`; empty where none is known."""
    if found.cost is None or found.cost_raw is None:
        return ""
    most = digits(found.cost, found.cost_raw)
    cost, raw = dollars(found.cost, most), dollars(found.cost_raw, most)
    change = _change(found.cost, found.cost_raw)
    partly = "" if found.priced == found.sessions else (
        f" in the {found.priced} of them that have a price")
    against = "" if short else f" where nothing compacted costs {raw}"
    return f"costs {cost}{against} ({change}){partly}"


def digits(*amounts: float) -> int:
    """As many as the smallest of these amounts in USD needs."""
    return 4 if any(0 < amount < CENTS for amount in amounts) else 2


def _change(cost: float, raw: float) -> str:
    if not raw:
        return "no share of nothing"
    share = percent(abs(1 - cost / raw))
    if share == "0 %":
        return "as much" if cost == raw else "nearly as much"
    return f"{share} {'less' if cost < raw else 'more'}"


def loss(found: Outcome, *, short: bool = False) -> str:
    """`loses at least 23 % of what the agent needed later (FRR 0.77, …)`; empty without a cut."""
    if found.frr is None:
        return ""
    frr = round(found.frr, 2)
    lost = f"at least {percent(1 - frr)}" if frr < 1 else (
        "nothing" if found.frr == 1 else "hardly anything")
    figures = f"FRR {frr:.2f}" + ("" if found.bound is None else f", bound {found.bound:.2f}")
    if short:
        return f"loses {lost} ({figures})"
    sessions, cuts = plural(found.scored, "session"), plural(found.cuts, "cut")
    of = " of what the agent needed later"
    return f"loses {lost}{of} ({figures}; n = {sessions}, {cuts})"


def sentence(parts: list[str]) -> str:
    """`a`, `a and b`, or `a, b and c`, without what is empty."""
    said = [part for part in parts if part]
    return said[0] if len(said) == 1 else f"{', '.join(said[:-1])} and {said[-1]}"
