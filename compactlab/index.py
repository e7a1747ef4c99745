"""A session made ready for replays: every message counted once, its head, its requests in order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Literal, NamedTuple

from compactlab.calibrate import (
    ESTIMATE,
    Calibration,
    Texts,
    calibrate,
    recorded_weight,
    scaled,
    tokenizer_of,
)
from compactlab.calibrate import NAME as CALIBRATED
from compactlab.history import Store
from compactlab.session import Message, Session, pairs
from compactlab.tokens import AUTO, counter

HeadKind = Literal["in_log", "unknown", "inferred"]
COMPACT_TOOL = "compact"  # the tool by which a model asks for a compaction


class Head(NamedTuple):
    """Tokens of system prompt and tools that the log does not hold, and how they are known."""

    tokens: int
    kind: HeadKind


def hidden_head(first_total: int | None, counted: int, system_in_log: bool) -> Head:
    """First request's prompt - what was counted of it, never below 0; the first kind that fits."""
    if system_in_log:
        return Head(0, "in_log")
    if first_total is None:
        return Head(0, "unknown")
    return Head(max(first_total - counted, 0), "inferred")


class Place(NamedTuple):
    """What the loop must know of one recorded message.

    `request`: number of the request that it answers, -1 for any other message; `starts_turn`;
    `calls_compact`; `late_calls`: how many of its calls are answered only after other messages;
    `late_caller`: index of the message whose call such a late result answers, -1 for any other.
    """

    message: Message
    number: int
    request: int
    starts_turn: bool
    calls_compact: bool
    late_calls: int
    late_caller: int


class Index(Store):
    """The store of one session: all its messages counted, shared by every replay of it.

    `raw[i]` = tokens of the first i messages; `fixed` = hidden head + tool schemas.
    """

    def __init__(self, session: Session, texts: Texts, tokenizer: str,
                 weigh: Callable[[Message], int | None] | None = None,
                 calibration: Calibration | None = None) -> None:
        super().__init__(texts, weigh)
        self.calibration = calibration
        self.session = session
        self.tokenizer = tokenizer
        self.intern(session.messages)
        tokens = [self.tokens(m) for m in session.messages]
        self.raw = [0, *accumulate(tokens)]
        schemas = sum(self._texts(session.tools)) if session.tools else 0
        self.head = self._head(schemas)
        self.fixed = self.head.tokens + schemas
        self.places = self._places()

    def _head(self, schemas: int) -> Head:
        first = next((r for r in self.session.requests if r.usage is not None), None)
        if first is None or first.usage is None:
            return hidden_head(None, 0, self.session.system_in_log)
        counted = self.raw[first.message] + schemas
        return hidden_head(first.usage.prompt, counted, self.session.system_in_log)

    def _places(self) -> list[Place]:
        session = self.session
        requests = {request.message: k for k, request in enumerate(session.requests)}
        late = _late_results(session.messages)
        late_calls = Counter(late.values())
        found = []
        for at, message in enumerate(session.messages):
            compacts = message.role == "assistant" and any(
                call.name == COMPACT_TOOL for call in message.calls)
            number = self.number(message)
            found.append(Place(
                self._messages[number], number, requests.get(at, -1), message.starts_turn,
                compacts, late_calls[at], late.get(at, -1)))
        return found


def _late_results(messages: Sequence[Message]) -> dict[int, int]:
    """Index of each result that other messages part from its call -> index of that call."""
    late: dict[int, int] = {}
    last = -1  # the latest message that is no result
    caller = pairs(messages).caller
    for at, message in enumerate(messages):
        if message.role != "tool":
            last = at
        elif caller.get(at, last) != last:
            late[at] = caller[at]
    return late


def index(session: Session, tokenizer: str = AUTO) -> Index:
    """Count a session once; pass it as `store` to every replay of that session.

    `auto`: calibrated on the session's recorded usage; with too little of it an estimate by the
    model's family, or o200k_base where that is the model's own or nothing is known.
    """
    count = counter(tokenizer)
    fitted = calibrate(session, count.texts) if tokenizer == AUTO else None
    if fitted is None:
        known = tokenizer_of(session.model) if tokenizer == AUTO else None
        if known is None:
            return Index(session, count.texts, count.name)
        return Index(session, scaled(count.texts, known.factor), ESTIMATE)
    weigh = recorded_weight(fitted.weights(session), session.messages)
    return Index(session, fitted.texts(count.texts), CALIBRATED, weigh, fitted)
