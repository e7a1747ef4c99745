"""The simulator against recorded usage: a session replayed unchanged, as its client sent it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from compactlab.caching.clock import first_read, recorded_ttl
from compactlab.caching.models import AUTO
from compactlab.caching.parts import TTLS, Sending, Served
from compactlab.caching.recorded import (
    Prompt,
    Recording,
    from_counter,
    from_usage,
    head_levels,
)
from compactlab.caching.serve import CacheEvent, Caches, maker, pools, resumes
from compactlab.caching.why import Difference, why
from compactlab.columns import Column, frame
from compactlab.errors import BadSession
from compactlab.index import Index
from compactlab.replay import Replay, replay
from compactlab.session import Session, Usage

if TYPE_CHECKING:
    from pandas import DataFrame

CLOSE = 0.01  # of the prompt: a request whose read is as near as that counts as right
VALIDATION = (
    Column("session", "string", "", "id of the session"),
    Column("format", "string", "", "format that it was read from"),
    Column("model", "string", "", "its model"),
    Column("question", "string", "", "A: recorded prompt sizes; B: sizes by our own counter"),
    Column("requests", "int", "requests", "with recorded usage"),
    Column("prompt_error", "float", "share", "sum of absolute errors / sum of prompts"),
    Column("read", "int", "tokens", "recorded cache reads"),
    Column("read_simulated", "int", "tokens", "simulated ones"),
    Column("read_error", "float", "share", "(simulated - recorded) / recorded"),
    Column("write", "int", "tokens", "recorded cache writes"),
    Column("write_simulated", "int", "tokens", "simulated ones"),
    Column("write_error", "float", "share", "(simulated - recorded) / recorded"),
    Column("hit_rate_error", "float", "share", "simulated - recorded hit rate"),
    Column("close", "float", "share", "requests whose read is within 1 % of the prompt"),
    Column("differing", "int", "tokens", "sum of the differences of reads"),
    Column("unexplained", "float", "share", "of the differing tokens that no cause explains"),
    Column("causes", "string", "", "causes of the differing tokens, largest first"),
)


class Sums(NamedTuple):
    """Tokens of a validation: billed and simulated; `apart`: sum of the prompts' errors."""

    read: int
    read_simulated: int
    write: int
    write_simulated: int
    prompt: int
    total: int
    apart: int


@dataclass(frozen=True)
class Validation:
    """One session and question. `pairs`: (prompt, recorded usage, simulated) in order."""

    session: Session
    question: str
    pairs: tuple[tuple[Prompt, Usage, Served], ...]
    differences: tuple[Difference, ...]

    @cached_property
    def sums(self) -> Sums:
        """Tokens over all requests."""
        return Sums(
            sum(u.cache_read for _, u, _ in self.pairs),
            sum(m.read for _, _, m in self.pairs),
            sum(_written(u) for _, u, _ in self.pairs),
            sum(m.write_5m + m.write_1h for _, _, m in self.pairs),
            sum(u.prompt for _, u, _ in self.pairs),
            sum(m.total for _, _, m in self.pairs),
            sum(abs(m.total - u.prompt) for _, u, m in self.pairs))

    @property
    def hit_rate_error(self) -> float:
        """Simulated - recorded hit rate, as a share."""
        s = self.sums
        return _share(s.read_simulated, s.total) - _share(s.read, s.prompt)

    @property
    def close(self) -> int:
        """Requests whose read is within 1 % of the prompt."""
        return sum(abs(m.read - u.cache_read) <= CLOSE * u.prompt for _, u, m in self.pairs)

    @property
    def row(self) -> tuple[Any, ...]:
        """In the order of `VALIDATION`."""
        session, s, count = self.session, self.sums, len(self.pairs)
        apart: Counter[str] = Counter()
        for difference in self.differences:
            apart[difference.why] += difference.tokens
        differing = sum(apart.values())
        return (session.id, session.format, session.model, self.question, count,
                _share(s.apart, s.prompt), s.read, s.read_simulated,
                _share(s.read_simulated - s.read, s.read), s.write, s.write_simulated,
                _share(s.write_simulated - s.write, s.write), self.hit_rate_error,
                _share(self.close, count), differing, _share(apart["unexplained"], differing),
                ", ".join(f"{k} {v}" for k, v in apart.most_common()))


def validate(session: Session, *, store: Index | None = None, questions: str = "AB",
             observed: bool = False, **settings: Any) -> list[Validation]:
    """Compare a session's recorded usage with the simulator; one value a question.

    `observed`: recorded misses are pinned as outside events, which validates nothing but the rest.
    `settings` are the rule's. BadSession where no request has usage.
    """
    if not any(r.usage is not None and r.usage.prompt for r in session.requests):
        raise BadSession(f"{session.name or session.id}: no request has recorded usage")
    walk = replay(session, "recorded", window=None, store=store, summariser="fallback")
    found = []
    for question in questions:
        levels = head_levels(session)
        recording = (from_usage if question == "A" else from_counter)(walk, levels)
        pairs = tuple(_simulated(walk, recording, observed, settings))
        found.append(Validation(session, question, pairs, tuple(why(session, pairs))))
    return found


def table(validations: Iterable[Validation]) -> DataFrame:
    """A row a session and question; see `VALIDATION`."""
    return frame(VALIDATION, [v.row for v in validations])


def recorded_misses(session: Session) -> tuple[CacheEvent, ...]:
    """Observed invalidations, for what-ifs: each request that read less than stood in the cache."""
    found: list[CacheEvent] = []
    before: Usage | None = None
    for number, request in enumerate(session.requests):
        usage = request.usage
        if usage is None:
            continue
        if before is not None and usage.cache_read < before.cache_read + _written(before):
            found.append(CacheEvent(number, usage.cache_read, "observed"))
        before = usage
    return tuple(found)


def _simulated(walk: Replay, recording: Recording, observed: bool, settings: dict[str, Any]
               ) -> Iterator[tuple[Prompt, Usage, Served]]:
    session = walk.session
    tree, ttl = recording.tree, TTLS[recorded_ttl(session) or "5m"]
    shared = tree.up_to(recording.head, first_read(session))
    events = recorded_misses(session) if observed else resumes(session, tree.tokens[shared])
    caches = Caches(maker(session.model, AUTO, tree, settings), pools=pools(session),
                    shared=shared, events=events)
    for prompt in recording.prompts:
        marks = tuple((n, ttl) for n in (*_levels(recording), prompt.end))
        cache = caches.at(prompt.request, prompt.t)
        served = cache.step(Sending(prompt.t, prompt.tail, marks))
        usage = session.requests[prompt.request].usage
        if usage is not None:
            yield prompt, usage, served


def _levels(recording: Recording) -> list[int]:
    return recording.tree.chain(recording.head)


def _written(usage: Usage) -> int:
    return usage.cache_write_5m + usage.cache_write_1h


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0

