"""The one loop that triggers, escalates and stops; `replay` wraps it in names and tables."""

from __future__ import annotations

import sys
from collections.abc import Collection
from typing import Literal, NamedTuple

from compactlab.cursor import Cursor
from compactlab.history import History
from compactlab.index import Index, Place
from compactlab.pieces.invariants import ALTERNATION, GROWTH, broken
from compactlab.session import Message, RecordedCompaction
from compactlab.strategy import Compaction, Due, Pipeline, Situation, Summariser, Trigger, check

StopReason = Literal["exhausted", "under_budget", "too_short", "no_safe_split", "no_strategy"]
OnStop = Literal["next_turn", "end", "as_if_served"]
NEVER = sys.maxsize
MOST_SENDINGS = 50  # a pipeline that still changes something after so many refusals is stopped
STOP_OF: dict[str, StopReason] = {  # no-op reasons as reasons of a stop; others are `exhausted`
    "under_budget": "under_budget", "too_short": "too_short", "empty_middle": "too_short",
    "no_safe_split": "no_safe_split",
}


class Made(NamedTuple):
    """A compaction with its place: the number of the next request, its turn, its trigger."""

    request: int
    turn: int
    trigger: Trigger
    before: History
    compaction: Compaction


class Stop(NamedTuple):
    """A turn that ended refused: its request and turn, why, and the size that was refused."""

    request: int
    turn: int
    reason: StopReason
    tokens: int


class Sent(NamedTuple):
    """One request, in the order of `columns.REQUESTS`; tokens None = never sent."""

    request: int
    turn: int
    raw_tokens: int
    tokens: int | None
    trigger: str | None
    level: int | None
    served: bool
    after_recorded_compaction: bool


class Walk:
    """The state of one replay; `run()` walks the session, the lists hold what happened."""

    def __init__(self, index: Index, pipeline: Pipeline, summarise: Summariser, *,
                 window: int | None, summariser_window: int | None, reserve_output: int,
                 on_stop: OnStop, manual_at: Collection[int], model: str, provider: str) -> None:
        self.index, self.pipeline = index, pipeline
        self.window, self.reserve, self.on_stop = window, reserve_output, on_stop
        self.manual_left = set(manual_at)
        self.given = (summarise, window, index.fixed, index.head.tokens, summariser_window, model,
                      provider)
        triggers: tuple[Trigger, ...] = ("turn", "request", "overflow", "tool", "manual")
        self.answering = {t: pipeline.answering(t) for t in triggers}
        self.cursor = Cursor(index)
        self.request_members = self.answering["request"]
        self.first_compaction = min((c.at for c in index.session.compactions), default=NEVER)
        self.sent: list[Sent] = []
        self.nodes: list[int] = []  # the history of each request in `sent`, as it was sent
        self.made: list[Made] = []
        self.past: list[Compaction] = []
        self.stops: list[Stop] = []
        self.broken: set[int] = set()
        self.orphaned = 0
        self.latest: Compaction | None = None
        self.reported: int | None = None
        self.turn, self.attempts, self.request = -1, 0, 0
        self.dead = self.ended = self.tool_due = self.just_compacted = False
        self.shown = 0
        self.due: dict[int, list[RecordedCompaction]] = {}
        self.due_now: Due | None = None
        if any(m.name == "recorded" for m in pipeline):
            for compaction in index.session.compactions:
                self.due.setdefault(compaction.at, []).append(compaction)
        self.strikes: dict[str, int] = {}
        self.resets = any(getattr(m, "reset_on_success", False) for m in pipeline)
        self.open: dict[int, int] = {}  # message of calls -> how many still wait for a result
        self.gone: set[int] = set()  # messages whose calls a result can no longer answer
        self.used: tuple[str | None, int | None] = (None, None)

    def run(self) -> None:
        """Walk the whole session; with a head that fills the window nothing is replayed."""
        if self.window is not None and self.index.head.tokens >= self.window:
            return
        last = len(self.index.session.requests) - 1
        for at, place in enumerate(self.index.places):
            if at in self.due and self.request <= last and not self.dead:
                self._recorded(at)
            if place.request >= 0:
                self._answer(at, place)
                continue
            if place.starts_turn:
                self.strikes.clear()
                self.dead = self.ended
                self.turn, self.attempts = self.turn + 1, 0
            if self.request <= last and not self.dead:  # after the last answer nothing triggers
                self._before(place)
            self._append(at, place)

    def _recorded(self, at: int) -> None:
        """Tell the pipeline of the recording's own compaction, where it was made."""
        for compaction in self.due[at]:
            kept = tuple(self.index.places[k].message for k in compaction.kept)
            self.due_now = Due(compaction.summary, kept)
            self._fire("request")
            self.due_now = None

    def _before(self, place: Place) -> None:
        if self.tool_due and place.message.role != "tool":
            self._tool_call()
        if place.starts_turn:
            self._manual()
            if self.answering["turn"]:
                self._fire("turn")

    def _manual(self) -> None:
        if self.request in self.manual_left:
            self.manual_left.discard(self.request)
            self._fire("manual")

    def _tool_call(self) -> None:
        self.tool_due = False
        self._fire("tool")

    def _answer(self, at: int, place: Place) -> None:
        raw = self.index.fixed + self.index.raw[at]
        if self.dead:
            self._record(raw, None, False, at)
        elif self._send(raw, at) or self.on_stop == "as_if_served":
            self._append(at, place)
            self.tool_due = place.calls_compact
        else:
            self.dead = True
            self.ended = self.on_stop == "end"
        if self.dead and place.late_calls:
            self.gone.add(at)
        self.request += 1

    def _send(self, raw: int, at: int) -> bool:
        """Send request by request until it is served (True) or nothing compacts any more."""
        if self.tool_due:
            self._tool_call()
        if self.manual_left:
            self._manual()
        for _ in range(MOST_SENDINGS):
            if self.request_members:
                self._fire("request")
            size = self.index.fixed + self.cursor.prompt_tokens
            if self.window is None or size + self.reserve <= self.window:
                self.reported, self.shown = size, self.cursor.length
                if self.resets:
                    self.attempts = 0
                self._record(raw, size, True, at)
                return True
            self.attempts += 1
            reason = self._overflow()
            if reason is not None:
                break
        else:
            reason = "exhausted"
        self._record(raw, size, False, at)
        self.stops.append(Stop(self.request, self.turn, reason, size))
        return False

    def _overflow(self) -> StopReason | None:
        """Let the pipeline answer a refusal; the reason to stop when nothing was compacted."""
        done = self._fire("overflow") if self.answering["overflow"] else []
        if any(c.changed for c in done):
            return None
        reasons = [STOP_OF.get(c.reason, "exhausted") for c in done if c.reason]
        if reasons:
            return reasons[-1]
        return "exhausted" if self.answering["overflow"] else "no_strategy"

    def _fire(self, trigger: Trigger) -> list[Compaction]:
        done: list[Compaction] = []
        history = self.cursor.history
        situation: Situation | None = None
        for member in self.answering[trigger]:
            if situation is None:
                situation = self._situation(trigger)
            compaction = member(history, situation)
            if compaction is None:
                if self.strikes:
                    self.strikes.pop(member.name, None)
            else:
                check(compaction, member, history)
                self._strike(trigger, compaction)
                self._take(trigger, history, compaction)
                done.append(compaction)
                history = compaction.history
                situation = None  # the next member sees what this one did
        return done

    def _strike(self, trigger: Trigger, compaction: Compaction) -> None:
        if compaction.silent or compaction.reason == "struck_out":
            return
        if compaction.effective or trigger == "manual":
            self.strikes.pop(compaction.strategy, None)
        else:
            self.strikes[compaction.strategy] = self.strikes.get(compaction.strategy, 0) + 1

    def _situation(self, trigger: Trigger) -> Situation:
        summarise, window, fixed, hidden_head, summariser_window, model, provider = self.given
        return Situation(  # by position: one is made before every request
            trigger, summarise, window, self.reported, fixed, hidden_head, self.attempts, 0, 0,
            self.request, self.latest, self.past, summariser_window, model, provider, "",
            self.shown, self.strikes, self.due_now)

    def _take(self, trigger: Trigger, before: History, compaction: Compaction) -> None:
        self.made.append(Made(self.request, self.turn, trigger, before, compaction))
        self.past.append(compaction)
        if not compaction.changed:
            return
        self.cursor.history, self.reported = compaction.history, None
        self.shown = min(self.shown, self.cursor.length)
        level = compaction.level
        if level is None or (self.used[1] is not None and self.used[1] > level):
            level = self.used[1]
        self.used = (trigger, level)
        if self.open and len(compaction.history) != len(before):
            self._lose_open_calls()
        if not compaction.silent:
            self.latest, self.just_compacted = compaction, True
            self.broken |= before.remember(("broken", compaction.history.node),
                                           lambda: broken(before, compaction))
        elif compaction.after > compaction.before:  # a placeholder longer than what it replaced
            self.broken.add(GROWTH)

    def _lose_open_calls(self) -> None:
        """Results of calls that are no longer in the history are dropped when they come."""
        kept = {id(message.original) for message in self.cursor.history}
        places = self.index.places
        lost = [at for at in self.open if id(places[at].message) not in kept]
        self.gone.update(lost)
        for at in lost:
            del self.open[at]

    def _append(self, at: int, place: Place) -> None:
        if place.late_calls or place.late_caller >= 0:
            if not self._late(at, place):
                return
        elif self.dead:
            return
        if self.just_compacted:
            self._check_alternation(at, place.message)
        self.cursor.append(place.number)

    def _late(self, at: int, place: Place) -> bool:
        """Follow calls whose results come later; False when the message must not be appended."""
        if self.dead:
            self.gone.add(at)
            return False
        if place.late_calls:
            self.open[at] = place.late_calls
            return True
        if place.late_caller in self.gone:
            self.orphaned += 1
            return False
        self.open[place.late_caller] -= 1
        if not self.open[place.late_caller]:
            del self.open[place.late_caller]
        return True

    def _check_alternation(self, at: int, message: Message) -> None:
        self.just_compacted = False
        history = self.cursor.history
        last = history[-1] if len(history) else None
        if last is None or not last.role == message.role == "assistant":
            return
        places = self.index.places
        if places[at - 1].message.role == "assistant":
            return
        spoken = at - 1  # a repair may have dropped the results behind it
        while spoken >= 0 and places[spoken].message.role == "tool":
            spoken -= 1
        if spoken < 0 or last.original is not places[spoken].message:
            self.broken.add(ALTERNATION)

    def _record(self, raw: int, size: int | None, served: bool, at: int) -> None:
        self.nodes.append(self.cursor.node)
        self.sent.append(Sent(self.request, self.turn, raw, size, *self.used, served,
                              at >= self.first_compaction))
        self.used = (None, None)
