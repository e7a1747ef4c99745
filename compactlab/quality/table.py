"""Quality of strategies over sessions: long rows, and the summary by format with intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import fsum, isnan
from typing import TYPE_CHECKING, NamedTuple

from compactlab import statistics
from compactlab.columns import KEY, QUALITY, Column, frame
from compactlab.errors import SummaryFailed, UnknownName
from compactlab.index import Index, index
from compactlab.quality.controls import CONTROLS
from compactlab.quality.cuts import BUDGETS, CUTS, Cut
from compactlab.quality.profile import MEASURES, Row, contestant
from compactlab.quality.replayed import CUT, figures, replayed, spans_of
from compactlab.quality.survives import HORIZON, Span
from compactlab.replay import replay
from compactlab.session import Session
from compactlab.strategies.presets import StrategyLike
from compactlab.summarise import DEFAULT_SUMMARISER
from compactlab.summarise import find as find_summariser
from compactlab.tokens import AUTO

if TYPE_CHECKING:
    from pandas import DataFrame

WINDOWS: tuple[int | None, ...] = (64_000,)
SUMMARISERS = ("extractive", "fallback")

_KNOWN = {column.name: column for column in (*KEY, *QUALITY)}
COLUMNS = (
    _KNOWN["session"],
    _KNOWN["format"],
    Column("strategy", "string", "", "strategy, summariser or control"),
    _KNOWN["view"],
    Column("window", "int", "tokens", "window of the replay; missing for summarisers, controls"),
    Column("budget", "float", "share", "share of Z's tokens given; missing = its own size"),
    *(_KNOWN[name] for name in ("request", "headline", "flag", "metric", "value", "n")),
)

SUMMARY = (
    Column("format", "string", "", "format; `all` = all formats together"),
    Column("view", "string", "", "as in the rows"),
    Column("strategy", "string", "", "as in the rows"),
    Column("window", "int", "tokens", "as in the rows"),
    Column("budget", "float", "share", "as in the rows"),
    Column("metric", "string", "", "as in the rows"),
    Column("value", "float", "", "mean over cuts within a session, then over sessions"),
    Column("low", "float", "", "lower bound of the interval (95 %, bootstrap over sessions)"),
    Column("high", "float", "", "upper bound"),
    Column("sessions", "int", "sessions", "that have a value"),
    Column("cuts", "int", "cuts", "that have a value"),
    Column("left_out", "int", "cuts", "that stay out of the headline, with their flags"),
)


class Key(NamedTuple):
    """Whose figure it is, where it was taken."""

    strategy: str
    view: str
    window: int | None
    budget: float | None
    request: int


def quality_table(
    sessions: Sequence[Session],
    strategies: Sequence[StrategyLike],
    *,
    windows: Sequence[int | None] = WINDOWS,
    budgets: Sequence[float] = BUDGETS,
    summarisers: Sequence[str] = SUMMARISERS,
    controls: Sequence[str] = tuple(CONTROLS),
    count: int = CUTS,
    horizon: int = HORIZON,
    summariser: str = DEFAULT_SUMMARISER,
    tokenizer: str = AUTO,
    only: Sequence[str] = (),
    stores: Sequence[Index] | None = None,
    on_done: Callable[[], object] | None = None,
) -> DataFrame:
    """A row a session, contestant, place and metric; see `COLUMNS`. `on_done`: after each session.

    View `cut`: at each cut the same Z (everything before it) and the same needs for all: what a
    strategy had sent at that request (its own size), what summarisers and controls make of the
    budget. View `compaction`: each compaction of a replay for itself; silent ones are left out,
    since each removes next to nothing: their sum stands in the view `cut`. `only`: these metrics.
    `stores`: the indexes of the sessions, where others share them.
    """
    for name in controls:
        if name not in CONTROLS:
            raise UnknownName("control", name, CONTROLS)
    rows: list[tuple[object, ...]] = []
    for number, session in enumerate(sessions):
        store = index(session, tokenizer) if stores is None else stores[number]
        for key, row in _rows(session, store, strategies, windows, budgets, summarisers, controls,
                              count, horizon, summariser, tuple(only)):
            rows += _long(session, key, row)
        if on_done is not None:
            on_done()
    return frame(COLUMNS, rows)


def _rows(session: Session, store: Index, strategies: Sequence[StrategyLike],
          windows: Sequence[int | None], budgets: Sequence[float], summarisers: Sequence[str],
          chosen: Sequence[str], count: int, horizon: int, summariser: str,
          only: tuple[str, ...]) -> Iterator[tuple[Key, Row]]:
    spans = spans_of(session, store, count, horizon)
    for strategy in strategies:
        for window in windows:
            done = replay(session, strategy, window=window, store=store, summariser=summariser)
            for place, row in replayed(done, spans, horizon, only, silent=False):
                yield Key(done.strategy, place.view, done.window, None, place.request), row
    for cut, span in spans.items():
        yield from _matched(cut, span, budgets, summarisers, chosen, only)


def _without_newest(only: tuple[str, ...]) -> tuple[str, ...]:
    """At a given budget the newest lines are a contestant of their own."""
    return tuple(name for name in only or (m.name for m in MEASURES)
                 if not name.endswith("_newest"))


def _matched(cut: Cut, span: Span, budgets: Sequence[float], summarisers: Sequence[str],
             chosen: Sequence[str], only: tuple[str, ...]) -> Iterator[tuple[Key, Row]]:
    only = _without_newest(only)
    for share in budgets:
        limit = int(share * span.removed_tokens)
        for name in chosen:
            text = CONTROLS[name](span.removed, limit, span.store)
            yield (Key(name, CUT, None, share, cut.request),
                   contestant(span, text, share, cut.flag, only))
        for name in summarisers:
            try:
                row = contestant(span, find_summariser(name)[1], share, cut.flag, only)
            except SummaryFailed:  # no room for a word: an empty summary
                row = contestant(span, "", share, cut.flag, only)
            yield Key(name, CUT, None, share, cut.request), row


def _long(session: Session, key: Key, row: Row) -> Iterator[tuple[object, ...]]:
    start = (session.id, session.format, key.strategy, key.view, key.window, key.budget,
             key.request)
    return ((*start, *figure) for figure in figures(row))


def summary(table: DataFrame, *, metrics: Sequence[str] = (), headline: bool = True,
            pool: bool = True, seed: int = statistics.SEED) -> DataFrame:
    """Contestants × metrics by format, then over all formats; see `SUMMARY`.

    `metrics`: those alone. With `headline` only rows that count for it; `left_out` says how many
    do not: a strategy whose requests were refused has figures of those that were served alone. A
    format of one session has no interval.
    """
    found: list[tuple[object, ...]] = []
    if metrics:
        table = table[table["metric"].isin(list(metrics))]
    groups = list(_groups(table, ["format"]))
    if pool and table["format"].nunique() > 1:
        groups += list(_groups(table, []))
    for name, part in groups:
        counted = part[part["headline"]] if headline else part
        values = counted.dropna(subset=["value"])
        means = values.groupby("session", sort=True)["value"].mean().astype(float).tolist()
        mean = statistics.estimate(means, seed=seed)
        bounds = [None if isnan(x) else x for x in mean[:3]]
        found.append((*name, *bounds, mean.sessions, len(values),
                      len(part) - len(part[part["headline"]])))
    return frame(SUMMARY, found)


def _groups(table: DataFrame, by: list[str]) -> Iterator[tuple[tuple[object, ...], DataFrame]]:
    names = ["view", "strategy", "window", "budget", "metric"]
    for key, part in table.groupby([*by, *names], sort=False, dropna=False):
        values = tuple(None if str(value) in ("<NA>", "nan") else value for value in key)
        yield (values if by else ("all", *values)), part


def session_means(table: DataFrame, metric: str, *, view: str = "cut", budget: float | None = None,
                  window: int | None = None, common: bool = True) -> dict[str, dict[str, float]]:
    """contestant -> session -> mean over its headline rows: what `statistics.compare` takes.

    `budget` None = at their own size, in which case `window` says of which replay. `common`: only
    cuts at which every contestant has a figure, so that nobody gains by a refused request.
    """
    rows = table[(table["metric"] == metric) & (table["view"] == view) & table["headline"]]
    for name, value in (("budget", budget), ("window", window)):
        rows = rows[rows[name].isna()] if value is None else rows[rows[name] == value]
    rows = rows.dropna(subset=["value"])
    if common:
        places = rows.groupby(["session", "request"])["strategy"].transform("nunique")
        rows = rows[places == rows["strategy"].nunique()]
    found: dict[str, dict[str, list[float]]] = {}
    for strategy, session, value in zip(
            rows["strategy"], rows["session"], rows["value"].astype(float), strict=True):
        found.setdefault(str(strategy), {}).setdefault(str(session), []).append(float(value))
    return {strategy: {session: fsum(values) / len(values)
                       for session, values in by_session.items()}
            for strategy, by_session in found.items()}
