"""What survives in one replay: in each of its compactions, and at the session's cuts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isnan, nan
from typing import NamedTuple

from compactlab.history import Store
from compactlab.quality.cuts import CUTS, Cut, cuts, span_at
from compactlab.quality.profile import MEASURES, Row, contestant, profile
from compactlab.quality.survives import HORIZON, Span
from compactlab.replay import Replay
from compactlab.session import Message, Session

CUT, COMPACTION = "cut", "compaction"
UNSERVED, SILENT = "unserved", "silent"


class Place(NamedTuple):
    """Where a row was taken: see `columns.QUALITY`."""

    view: str
    request: int
    compaction: int | None = None


class Figure(NamedTuple):
    """One metric of a row; the value is None where it is taken over nothing."""

    headline: bool
    flag: str
    metric: str
    value: float | None
    n: object


def described() -> dict[str, int]:
    """What `quality_rows` takes: cuts a session, and the horizon in answers of the agent."""
    return {"cuts": CUTS, "horizon": HORIZON}


def quality_rows(done: Replay) -> list[tuple[object, ...]]:
    """The figures of a replay, in the order of `columns.QUALITY`.

    Cuts first, then every compaction that changed something, in their order. The spans of the
    cuts are made once for an index, whatever the number of replays.
    """
    spans = done.store.remember("quality at cuts",
                                lambda: spans_of(done.session, done.store))
    return [(*place, *figure) for place, row in replayed(done, spans)
            for figure in figures(row)]


def spans_of(session: Session, store: Store, count: int = CUTS,
             horizon: int = HORIZON) -> dict[Cut, Span]:
    """The cuts of a session with what stands at each, the same for all that is compared."""
    return {cut: span_at(session, cut.at, store, horizon) for cut in cuts(session, count, horizon)}


def replayed(done: Replay, spans: Mapping[Cut, Span], horizon: int = HORIZON,
             only: tuple[str, ...] = (), *, silent: bool = True) -> Iterator[tuple[Place, Row]]:
    """Rows of what a replay had sent at the cuts, and of each compaction that changed something.

    `only`: these metrics. Silent compactions are flagged as such, or left out: each of them
    removes next to nothing, their sum stands at the cuts.
    """
    for cut, span in spans.items():
        sent = sent_at(done, cut.request)
        row = _unserved(cut, only) if sent is None else contestant(span, sent, None, cut.flag, only)
        yield Place(CUT, cut.request), row
    for number, made in enumerate(done.made):
        if made.compaction.changed and (silent or not made.compaction.silent):
            row = profile(done, made, horizon, only)
            if made.compaction.silent:
                row["flag"] = SILENT
            yield Place(COMPACTION, made.request, number), row


def sent_at(done: Replay, request: int) -> tuple[Message, ...] | None:
    """What was sent with a request, without the leading system prompt; None if it was refused."""
    if request >= len(done.sent) or not done.sent[request].served:
        return None
    history = done.prompt(request)
    return None if history is None else tuple(history.since(history.lead))


def _unserved(cut: Cut, only: tuple[str, ...]) -> Row:
    """A request that the strategy never got served: no figure, and it is said."""
    row: Row = {"flag": cut.flag or UNSERVED}
    for measure in MEASURES:
        if not only or measure.name in only:
            row[measure.name], row[f"{measure.name}_n"] = nan, 0
    return row


def figures(row: Row) -> Iterator[Figure]:
    """The metrics of a row, one by one; `sound` is the structure gate, 0 or 1."""
    flag = str(row["flag"])
    if "sound" in row:
        yield Figure(not flag, flag, "sound", float(bool(row["sound"])), 1)
    for measure in MEASURES:
        value = row.get(measure.name)
        if isinstance(value, int | float):
            yield Figure(not flag, flag, measure.name, None if isnan(value) else float(value),
                         row[f"{measure.name}_n"])
