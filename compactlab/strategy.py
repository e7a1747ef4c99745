"""The contract: what a strategy is told (Situation), what it answers (Compaction)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, Literal, Protocol, get_args, runtime_checkable

import msgspec

from compactlab.counting import MESSAGE_OVERHEAD
from compactlab.errors import BadStrategy, SummaryFailed
from compactlab.history import History, Store
from compactlab.session import Message

Trigger = Literal["turn", "request", "overflow", "tool", "manual"]
Reason = Literal[
    "too_short", "empty_middle", "no_safe_split", "under_budget", "summary_failed", "would_grow",
    "struck_out",
]
EFFECTIVE_SHARE = 0.10  # a compaction is effective from this saving on


class SummaryRequest(msgspec.Struct, frozen=True):
    """One call of a summariser.

    `parts` is the prompt: the text blocks of one user message, the earlier summary and the
    serialised messages among them. `messages` is the same span as values, oldest first, for
    summarisers that need no prompt. `limit` is the answer limit in tokens, `store` counts and
    remembers.
    """

    messages: tuple[Message, ...]
    parts: tuple[str, ...]
    limit: int
    store: Store
    previous: str = ""
    focus: str = ""

    @property
    def prompt_tokens(self) -> int:
        """Tokens of the prompt: 4 + its parts, each text counted once in its life."""
        return MESSAGE_OVERHEAD + self.store.count_all(self.parts)


Summariser = Callable[[SummaryRequest], str]
"""Gives the summary's text; raises SummaryFailed when it cannot."""


class Step(msgspec.Struct, frozen=True):
    """One phase of a compaction, for people: its name, what it did, how many things it touched.

    `history` is what a transcript step would write: the messages before the compaction.
    """

    name: str
    detail: str = ""
    count: int = 0
    history: History | None = None


class Compaction(msgspec.Struct, frozen=True):
    """What a strategy did, as data: `history.replace(keep_n, tail)` gives it again.

    `before` and `after` are tokens of the messages alone (no system prompt, tools, hidden head).
    `fallback`: the summary was not the summariser's, which failed, but made without it.
    With a `reason` and an unchanged history it is a no-op: the condition was met, nothing changed.
    """

    strategy: str
    history: History
    keep_n: int
    before: int
    after: int
    changed: bool
    level: int | None = None
    summary: str | None = None
    reason: Reason | None = None
    silent: bool = False
    truncate_results: bool = False
    fallback: bool = False
    cleared: int = 0
    truncated: int = 0
    steps: tuple[Step, ...] = ()
    calls: tuple[SummaryRequest, ...] = ()

    @property
    def reduction(self) -> float:
        """(before - after) / before; 0 for an empty history."""
        return (self.before - self.after) / self.before if self.before else 0.0

    @property
    def effective(self) -> bool:
        """Whether it saved at least a tenth of the messages' tokens."""
        return self.before > 0 and self.reduction >= EFFECTIVE_SHARE

    @property
    def tail(self) -> tuple[Message, ...]:
        """The messages behind the unchanged prefix."""
        return self.history.since(self.keep_n)


_KINDS: Mapping[str, tuple[type, ...]] = {  # what a value made without a type checker may miss
    "strategy": (str,), "history": (History,), "keep_n": (int,), "before": (int,), "after": (int,),
    "changed": (bool,), "level": (int, type(None)), "summary": (str, type(None)),
    "reason": (str, type(None)), "silent": (bool,), "truncate_results": (bool,),
    "fallback": (bool,), "cleared": (int,), "truncated": (int,), "steps": (tuple,),
    "calls": (tuple,),
}


class Due(msgspec.Struct, frozen=True):
    """A compaction that the recording made here: its summary and the messages that it kept."""

    summary: str
    kept: tuple[Message, ...]


class Situation(msgspec.Struct, frozen=True):
    """What a strategy is told beside the history. Sizes are tokens.

    `reported`: prompt tokens of the last served request, None when there is none or it is older
    than the latest compaction. `fixed`: hidden head + tool schemas, which no strategy can shorten;
    `hidden_head`: the part of it that stands for a system prompt outside the log. `attempt`:
    refusals of this turn so far. `latest`: the newest compaction that was not silent and changed
    something. `level`, `budget`: what a manual call asks for. `summariser_window` None = no limit.
    `shown`: how many messages of the history the last served request held. `strikes`: by member,
    its passes in a row that were not effective; a pass that fires not, a manual one or a new turn
    ends the row. `recorded`: the recording's own compaction where it was made, else None.
    """

    trigger: Trigger
    summarise: Summariser
    window: int | None = None
    reported: int | None = None
    fixed: int = 0
    hidden_head: int = 0
    attempt: int = 0
    level: int = 0
    budget: int = 0
    request: int = 0
    latest: Compaction | None = None
    past: Sequence[Compaction] = ()
    summariser_window: int | None = None
    model: str = ""
    provider: str = ""
    focus: str = ""
    shown: int = 0
    strikes: Mapping[str, int] = {}
    recorded: Due | None = None

    def struck_out(self, strategy: str, limit: int) -> bool:
        """Whether a member rests, since its last `limit` passes were not effective; 0 = never.

        Refusals, the `compact` tool and the user are answered all the same.
        """
        return (0 < limit <= self.strikes.get(strategy, 0)
                and self.trigger in ("turn", "request"))


@runtime_checkable
class Strategy(Protocol):
    """A frozen dataclass of settings; it holds no state between calls.

    None = its condition was not met. It answers to the triggers it names, and no others. It may
    have `reset_on_success` (True: a served request ends the count of refusals of a turn) and
    `derived(window)` (numbers that follow from its settings, by name).
    """

    @property
    def name(self) -> str: ...

    @property
    def triggers(self) -> frozenset[str]: ...

    def __call__(self, history: History, situation: Situation) -> Compaction | None: ...


@dataclass(frozen=True)
class Pipeline:
    """Strategies that all run, in order, at each trigger; a published system is one."""

    members: tuple[Strategy, ...]
    name: str = ""
    source: str = ""

    def __iter__(self) -> Iterator[Strategy]:
        return iter(self.members)

    def answering(self, trigger: Trigger) -> tuple[Strategy, ...]:
        """The members that answer to a trigger."""
        return tuple(m for m in self.members if trigger in m.triggers)


def pipeline(*members: Strategy | Pipeline, name: str = "", source: str = "") -> Pipeline:
    """One pipeline of strategies (and of pipelines, which are opened). Raises BadStrategy."""
    flat: list[Strategy] = []
    for member in members:
        flat.extend(member.members if isinstance(member, Pipeline) else (member,))
    for member in flat:
        check_strategy(member)
    return Pipeline(tuple(flat), name or "+".join(m.name for m in flat), source)


def check_strategy(strategy: Any) -> None:
    """Raise BadStrategy where a value cannot be asked as a strategy is."""
    kind = strategy.__name__ if isinstance(strategy, type) else type(strategy).__name__
    if isinstance(strategy, type):
        raise BadStrategy(f"{kind} is a class: give a strategy that is made of it, {kind}()")
    name = getattr(strategy, "name", None)
    if not isinstance(name, str) or not name:
        raise BadStrategy(f"{kind} is no strategy: its `name` is {name!r}, and needs to be a text")
    triggers, known = getattr(strategy, "triggers", None), get_args(Trigger)
    if not isinstance(triggers, Set) or not triggers <= set(known):
        raise BadStrategy(f"strategy {name!r}: its `triggers` are {triggers!r}, and need to be a "
                          f"frozenset of some of {', '.join(known)}")
    if not callable(strategy):
        raise BadStrategy(f"strategy {name!r}: {kind} cannot be called; it needs "
                          "__call__(history, situation) that gives a Compaction or None")


def check(made: Any, strategy: Strategy, history: History) -> None:
    """Raise BadStrategy where what a strategy made of a history is no compaction of it.

    The package's own strategies are not looked at: tests do that, and this is in the loop.
    """
    if type(strategy).__module__.startswith("compactlab."):
        return
    wrong = _wrong(made, history)
    if wrong:
        raise BadStrategy(f"strategy {strategy.name!r}: {wrong}")


def _wrong(made: Any, history: History) -> str:
    if type(made) is not Compaction:
        return f"it answered {type(made).__name__}, and needs to answer a Compaction or None"
    for name, kinds in _KINDS.items():
        if type(getattr(made, name)) not in kinds:
            needed = " or ".join(kind.__name__.removesuffix("Type") for kind in kinds)
            return f"its compaction has {name} = {getattr(made, name)!r}, and needs {needed}"
    if made.history.store is not history.store:
        return ("its compaction's history was not made of the history that it was given: use "
                "history.replace(keep_n, tail)")
    most = min(len(history), len(made.history))
    if not 0 <= made.keep_n <= most:
        return (f"its compaction has keep_n = {made.keep_n}, and needs the number of messages kept "
                f"at the start: 0 to {most}")
    return ""


def no_op(history: History, strategy: str, reason: Reason, *, level: int | None = None,
          calls: tuple[SummaryRequest, ...] = (), steps: tuple[Step, ...] = ()) -> Compaction:
    """The condition was met but nothing changed; recorded with its reason."""
    size = history.tokens
    return Compaction(strategy, history, len(history), size, size, False, level=level,
                      reason=reason, calls=calls, steps=steps)


def changed(history: History, strategy: str, keep_n: int, tail: Iterable[Message],
            **what: Any) -> Compaction:
    """The first `keep_n` messages and `tail` instead of the rest; `what`: other fields by name."""
    new = history.replace(keep_n, tail)
    return Compaction(strategy, new, keep_n, history.tokens, new.tokens, True, **what)


def ask(request: SummaryRequest, situation: Situation) -> str:
    """The summariser's answer; SummaryFailed when its window is too small or it answers nothing.

    A summary call is a request of its own: prompt + answer limit must fit `summariser_window`.
    """
    window = situation.summariser_window
    if window is not None and not _fits(request, window):
        raise SummaryFailed(
            f"the summary call needs {request.prompt_tokens} + {request.limit} tokens, "
            f"the summariser's window has {window}", "window")
    answer = situation.summarise(request)
    if not isinstance(answer, str):
        raise SummaryFailed(f"the summariser answered {type(answer).__name__}, not text")
    if not answer.strip():
        raise SummaryFailed("the summariser answered nothing", "empty")
    return answer


def _fits(request: SummaryRequest, window: int) -> bool:
    room = window - request.limit
    # No token is shorter than a character of ASCII text, so a short prompt needs no count.
    size = sum(map(len, request.parts)) + MESSAGE_OVERHEAD
    if size <= room and all(map(str.isascii, request.parts)):
        return True
    return request.prompt_tokens <= room
