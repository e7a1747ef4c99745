"""Who is ahead of whom: contestants paired by session, by format, with intervals and p-values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from math import isnan
from typing import TYPE_CHECKING, Any, NamedTuple

from compactlab.columns import Column, frame
from compactlab.quality.table import session_means
from compactlab.statistics import SEED, Comparison, compare, holm

if TYPE_CHECKING:
    from pandas import DataFrame

METRICS = ("frr", "bound_frr")
SMALLEST_P = 0.001  # that is written out
PAIRS = (
    Column("format", "string", "", "format; `all` = all formats together"),
    Column("metric", "string", "", "see profile.MEASURES"),
    Column("window", "int", "tokens", "window of the replays; missing where a budget is given"),
    Column("budget", "float", "share", "share of Z's tokens given; missing = their own size"),
    Column("first", "string", "", "a strategy, summariser or control"),
    Column("second", "string", "", "another one"),
    Column("difference", "float", "", "mean over sessions of first - second, at the same cuts"),
    Column("low", "float", "", "lower bound (95 %, paired bootstrap over sessions)"),
    Column("high", "float", "", "upper bound"),
    Column("sessions", "int", "sessions", "that both have a value in"),
    Column("p", "float", "", "Wilcoxon's signed-rank test, Holm-corrected over the pairs of the "
           "same format, metric, window and budget; missing under 8 sessions"),
    Column("verdict", "string", "", "who is higher; not separable when the interval holds 0"),
)


def pairs(table: DataFrame, *, metrics: Sequence[str] = METRICS, seed: int = SEED) -> DataFrame:
    """Every pair of contestants of the view `cut` that stood at the same cuts; see `PAIRS`.

    `table` as `quality_table` gives it. Strategies are compared at their own size under the same
    window, summarisers and controls at the same budget. By format, then over all of them.
    """
    formats = sorted(set(table["format"].dropna()))
    groups = [(name, table[table["format"] == name]) for name in formats]
    if len(formats) > 1:
        groups.append(("all", table))
    rows = [row for name, part in groups for metric in metrics
            for row in _rows(name, part, metric, seed)]
    return frame(PAIRS, rows)


def in_words(row: Mapping[str, Any]) -> str:
    """A row of `pairs`: difference, interval, sessions, p where it is given, verdict."""
    from pandas import isna

    text = f"{float(row['difference']):+.2f}"
    if not isna(row["low"]):
        text += f" [{float(row['low']):+.2f}, {float(row['high']):+.2f}]"
    text += f" n={int(row['sessions'])}"
    if not isna(row["p"]):
        p = float(row["p"])
        text += f" p={p:.3f}" if p >= SMALLEST_P else f" p<{SMALLEST_P}"
    return f"{text} {row['verdict']}"


class Line(NamedTuple):
    """One pair at a window or a budget, and what is said of it by metric."""

    format: str
    pair: str
    window: int | None
    budget: float | None
    said: dict[str, str]


def lines(table: DataFrame, budget: float) -> list[Line]:
    """The rows of `pairs` at the pairs' own sizes and at one budget, a line a pair."""
    from pandas import isna

    found: dict[tuple[Any, ...], Line] = {}
    for row in table[table["budget"].isna() | (table["budget"] == budget)].to_dict("records"):
        at = (str(row["format"]), f"{row['first']} - {row['second']}",
              None if isna(row["window"]) else int(row["window"]),
              None if isna(row["budget"]) else float(row["budget"]))
        said = found.setdefault(at, Line(*at, {})).said
        said[str(row["metric"])] = in_words({str(name): value for name, value in row.items()})
    return list(found.values())


def _places(cut: DataFrame) -> Iterator[tuple[tuple[int | None, float | None], DataFrame]]:
    """((window, budget), rows): each window at its own sizes, no window too, then each budget."""
    own = cut[cut["budget"].isna()]
    for window in sorted(set(own["window"].dropna())):
        yield (int(window), None), own[own["window"] == window]
    if own["window"].isna().any():
        yield (None, None), own[own["window"].isna()]
    for budget in sorted(set(cut["budget"].dropna())):
        yield (None, float(budget)), cut[cut["budget"] == budget]


def _rows(form: str, table: DataFrame, metric: str, seed: int) -> Iterator[tuple[object, ...]]:
    cut = table[(table["view"] == "cut") & (table["metric"] == metric)]
    for (window, budget), here in _places(cut):
        names = list(dict.fromkeys(here["strategy"]))
        found: list[Comparison] = []
        for two in combinations(names, 2):  # at the cuts that these two share
            means = session_means(here[here["strategy"].isin(two)], metric, window=window,
                                  budget=budget)
            if means.keys() == set(two):  # else they share no cut
                found += compare({name: means[name] for name in two}, seed=seed)
        for one, p in zip(found, holm([one.p for one in found]), strict=True):
            known = [None if isnan(x) else x for x in one.difference[:3]]
            yield (form, metric, window, budget, one.first, one.second, *known,
                   one.difference.sessions, p, one.verdict)
