"""Replay a recorded session under a strategy, and compact a history once: names in, tables out.

A replay is open-loop: the agent's recorded behaviour is held fixed. Before each request the
pipeline runs, the request is counted, then the recorded answer is appended whatever the history
was. It measures size, cost and loss, never task success.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, get_args

from compactlab.columns import COMPACTIONS, REQUESTS, RUNS, frame
from compactlab.errors import BadSetting, UnknownName
from compactlab.history import History, Store
from compactlab.index import Head, Index, index
from compactlab.session import Message, Session
from compactlab.strategies.presets import StrategyLike, find
from compactlab.strategy import Compaction, Pipeline, Situation, Summariser, check
from compactlab.summarise import DEFAULT_SUMMARISER
from compactlab.summarise import find as find_summariser
from compactlab.tokens import AUTO, counter
from compactlab.walk import Made, OnStop, Sent, Stop, Walk

if TYPE_CHECKING:
    from pandas import DataFrame

MOST_WINDOW = 10**12
SAME_WINDOW = -1  # the summariser's window is the main window
__all__ = ["Head", "Index", "Made", "Replay", "Stop", "compact", "index", "replay"]


@dataclass(frozen=True)
class Replay:
    """What happened: `sent` and `made` in order, the tables made of them, the last history."""

    session: Session
    strategy: str
    pipeline: Pipeline
    settings: str
    window: int | None
    summariser: str
    tokenizer: str
    head: Head
    store: Index
    history: History
    sent: tuple[Sent, ...]
    nodes: tuple[int, ...]
    made: tuple[Made, ...]
    stops: tuple[Stop, ...]
    orphaned: int
    invariants_broken: frozenset[int]

    @property
    def status(self) -> str:
        """`impossible` when the hidden head fills the window, else `ok`."""
        full = self.window is not None and self.head.tokens >= self.window
        return "impossible" if full else "ok"

    @property
    def request_rows(self) -> list[tuple[Any, ...]]:
        """One tuple a request, in the order of `columns.REQUESTS`."""
        return [tuple(row) for row in self.sent]

    def prompt(self, request: int) -> History | None:
        """The history that was sent with a request; None where it was never sent."""
        if self.sent[request].tokens is None:
            return None
        return History(self.store, self.nodes[request])

    @cached_property
    def compaction_rows(self) -> list[tuple[Any, ...]]:
        """One tuple a compaction, silent ones and no-ops too, in the order of `COMPACTIONS`."""
        return [_compaction_row(made, self.store) for made in self.made]

    @cached_property
    def run_row(self) -> tuple[Any, ...]:
        """The run in one tuple, in the order of `columns.RUNS`."""
        values = _run_values(self)
        return tuple(values[column.name] for column in RUNS)

    @property
    def requests(self) -> DataFrame:
        """A row a request; see `columns.REQUESTS`."""
        return frame(REQUESTS, self.sent)

    @property
    def compactions(self) -> DataFrame:
        """A row a compaction; see `columns.COMPACTIONS`."""
        return frame(COMPACTIONS, self.compaction_rows)

    @property
    def summary(self) -> dict[str, Any]:
        """The run by column name; see `columns.RUNS`."""
        return dict(zip((c.name for c in RUNS), self.run_row, strict=True))


def replay(
    session: Session,
    strategy: StrategyLike,
    *,
    window: int | None,
    summariser: str | Summariser = DEFAULT_SUMMARISER,
    tokenizer: str = AUTO,
    store: Index | None = None,
    on_stop: OnStop = "next_turn",
    manual_at: Collection[int] = (),
    reserve_output: int = 0,
    summariser_window: int | None = SAME_WINDOW,
    model: str = "",
    provider: str = "",
    **settings: Any,
) -> Replay:
    """Replay a session: sizes in tokens, `window` None = no window.

    `store` is `index(session)` where several replays share it. `manual_at` are request numbers
    before which the user asks for a compaction. `reserve_output` tokens are kept free for the
    answer. `summariser_window`: -1 = the main window, None = no limit. Raises UnknownName and
    BadSetting with the valid choices, BadStrategy for a strategy of your own that does not keep to
    its contract.
    """
    _check_window(window)
    _check_options(reserve_output, manual_at, summariser_window, model, provider)
    if on_stop not in get_args(OnStop):
        raise UnknownName("on_stop", on_stop, get_args(OnStop))
    pipeline = find(strategy, **settings)
    name, summarise = find_summariser(summariser)
    if store is not None and store.session is not session:
        raise BadSetting("store is the index of another session: pass index(session)")
    known = store if store is not None else index(session, tokenizer)
    walk = Walk(
        known, pipeline, summarise, window=window, reserve_output=reserve_output,
        summariser_window=window if summariser_window == SAME_WINDOW else summariser_window,
        on_stop=on_stop, manual_at=manual_at, model=model or session.model,
        provider=provider or session.provider)
    walk.run()
    return Replay(
        session, pipeline.name, pipeline, json.dumps(settings, sort_keys=True) if settings else "",
        window, name, known.tokenizer, known.head, known, walk.cursor.history, tuple(walk.sent),
        tuple(walk.nodes), tuple(walk.made), tuple(walk.stops), walk.orphaned,
        frozenset(walk.broken))


def compact(
    history: History | Sequence[Message] | Session,
    strategy: StrategyLike,
    *,
    window: int | None = None,
    level: int = 0,
    budget: int = 0,
    summariser: str | Summariser = DEFAULT_SUMMARISER,
    tokenizer: str = AUTO,
    summariser_window: int | None = SAME_WINDOW,
    focus: str = "",
    **settings: Any,
) -> tuple[Compaction, ...]:
    """Compact a history once, as the user's `/compact` does (trigger `manual`).

    Gives one Compaction for each member that answers; the last one holds the new history.
    """
    _check_window(window)
    pipeline = find(strategy, **settings)
    _, summarise = find_summariser(summariser)
    if isinstance(history, Session):
        history = history.messages
    now = history if isinstance(history, History) else (
        Store(counter(tokenizer).texts).history(history))
    done: list[Compaction] = []
    for member in pipeline.answering("manual"):
        made = member(now, Situation(
            "manual", summarise, window=window, level=level, budget=budget, past=done, focus=focus,
            summariser_window=window if summariser_window == SAME_WINDOW else summariser_window))
        if made is not None:
            check(made, member, now)
            done.append(made)
            now = made.history
    return tuple(done)


def _check_window(window: int | None) -> None:
    if window is None:
        return
    whole = hasattr(window, "__index__") and not isinstance(window, bool)
    if not whole or not 0 < window <= MOST_WINDOW:
        raise BadSetting(f"window = {window!r}: needs a whole number of tokens above 0, at most "
                         f"{MOST_WINDOW:,}")


def _check_options(reserve_output: Any, manual_at: Any, summariser_window: Any, model: Any,
                   provider: Any) -> None:
    """What callers without a type checker may pass."""
    if type(reserve_output) is not int or reserve_output < 0:
        raise BadSetting(f"reserve_output = {reserve_output!r}: needs a number of tokens from 0")
    if not isinstance(manual_at, Collection) or not all(
            type(at) is int and at >= 0 for at in manual_at):
        raise BadSetting(f"manual_at = {manual_at!r}: needs numbers of requests from 0")
    if summariser_window not in (None, SAME_WINDOW) and (
            type(summariser_window) is not int or summariser_window <= 0):
        raise BadSetting(f"summariser_window = {summariser_window!r}: needs a number of tokens "
                         "above 0, or None for no limit")
    for name, value in (("model", model), ("provider", provider)):
        if not isinstance(value, str):
            raise BadSetting(f"{name} = {value!r}: needs a name")


def _compaction_row(made: Made, store: Store) -> tuple[Any, ...]:
    c, before = made.compaction, made.before
    summary = store.count(c.summary) if c.summary is not None else None
    writer = None if c.summary is None else "fallback" if c.fallback else "summariser"
    return (made.request, made.turn, made.trigger, c.strategy, c.level, c.before, c.after,
            c.reduction, c.effective, summary, len(before) - before.lead,
            len(c.history) - c.history.lead, c.cleared, c.truncated, c.reason, c.silent, c.changed,
            writer)


def _run_values(run: Replay) -> dict[str, Any]:
    cal = run.store.calibration
    loud = [m.compaction for m in run.made if not m.compaction.silent]
    served = [s for s in run.sent if s.served]
    requests = len(run.session.requests)
    levels = [c.level for c in loud if c.level is not None]
    raw, tokens = sum(s.raw_tokens for s in served), sum(s.tokens or 0 for s in served)
    return {
        "session": run.session.id, "format": run.session.format, "strategy": run.strategy,
        "settings": run.settings, "window": run.window, "summariser": run.summariser,
        "tokenizer": run.tokenizer, "requests": requests, "turns": run.session.turns,
        "compactions": sum(c.changed for c in loud), "noops": sum(not c.changed for c in loud),
        "silent": sum(m.compaction.silent and m.compaction.changed for m in run.made),
        "effective_rate": sum(c.effective for c in loud) / len(loud) if loud else None,
        "summaries": sum(c.summary is not None for c in loud),
        "fallbacks": sum(c.fallback for c in loud),
        "max_level": max(levels, default=None), "stops": len({s.turn for s in run.stops}),
        "hard_stops": len({s.turn for s in run.stops if s.reason == "exhausted"}),
        "stop_reason": run.stops[0].reason if run.stops else None,
        "requests_unserved": requests - len(served),
        "served_share": len(served) / requests if requests else None,
        "peak_tokens": max((s.tokens or 0 for s in served), default=None),
        "raw_tokens": raw, "tokens": tokens,
        "token_reduction": 1 - tokens / raw if raw else None,
        "head": run.head.tokens, "head_kind": run.head.kind, "orphaned": run.orphaned,
        "counter_factor": cal.factor if cal else None,
        "counter_constant": cal.constant if cal and cal.answers else None,
        "counter_error": cal.error if cal else None, "counter_n": cal.n if cal else None,
        "time": "recorded" if _timed(run.session) else "assumed", "status": run.status,
        "reason": "hidden head >= window" if run.status == "impossible" else None,
        "invariants_broken": " ".join(map(str, sorted(run.invariants_broken))),
    }


def _timed(session: Session) -> bool:
    return any(r.time is not None for r in session.requests)
