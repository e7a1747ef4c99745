"""The simulator against recorded usage: a session replayed unchanged, as its client sent it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from compactlab.caching.clock import first_read, recorded_ttl
from compactlab.caching.models import AUTO, rule_of
from compactlab.caching.parts import TTLS, Sending, Served
from compactlab.caching.recorded import (
    Prompt,
    Recording,
    from_counter,
    from_usage,
    head_levels,
)
from compactlab.caching.rules import rule as make_rule
from compactlab.caching.serve import CacheEvent, Caches, pools, resumes
from compactlab.caching.why import Difference, why
from compactlab.columns import Column, frame
from compactlab.errors import BadSession
from compactlab.index import Index
from compactlab.replay import Replay, replay
from compactlab.session import Session, Usage

if TYPE_CHECKING:
    from pandas import DataFrame

CLOSE = 0.01  # of the prompt: a request whose read is as near as that counts as right
GAPS = ((300.0, "under 5 min"), (3600.0, "5 to 60 min"), (float("inf"), "over an hour"))
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


@dataclass(frozen=True)
class Validation:
    """One session and question. `pairs`: (prompt, recorded usage, simulated) in order."""

    session: Session
    question: str
    pairs: tuple[tuple[Prompt, Usage, Served], ...]
    differences: tuple[Difference, ...]

    @property
    def hit_rate_error(self) -> float:
        """Simulated - recorded hit rate, as a share."""
        read = sum(u.cache_read for _, u, _ in self.pairs)
        mine = sum(m.read for _, _, m in self.pairs)
        return (_share(mine, sum(m.total for _, _, m in self.pairs))
                - _share(read, sum(u.prompt for _, u, _ in self.pairs)))

    @property
    def row(self) -> tuple[Any, ...]:
        """In the order of `VALIDATION`."""
        s = self.session
        read = sum(u.cache_read for _, u, _ in self.pairs)
        write = sum(_written(u) for _, u, _ in self.pairs)
        prompt = sum(u.prompt for _, u, _ in self.pairs)
        mine = sum(m.read for _, _, m in self.pairs)
        wrote = sum(m.write_5m + m.write_1h for _, _, m in self.pairs)
        sizes = sum(abs(m.total - u.prompt) for _, u, m in self.pairs)
        apart: Counter[str] = Counter()
        for difference in self.differences:
            apart[difference.why] += difference.tokens
        differing = sum(apart.values())
        close = sum(abs(m.read - u.cache_read) <= CLOSE * u.prompt for _, u, m in self.pairs)
        return (s.id, s.format, s.model, self.question, len(self.pairs),
                _share(sizes, prompt), read, mine, _share(mine - read, read),
                write, wrote, _share(wrote - write, write),
                self.hit_rate_error, _share(close, len(self.pairs)),
                differing, _share(apart["unexplained"], differing),
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


def by_gap(validations: Iterable[Validation]) -> list[tuple[str, int, int, int]]:
    """(pause before the request, requests, tokens read as recorded, as simulated)."""
    sums = {name: [0, 0, 0] for _, name in GAPS}
    for validation in validations:
        before: float | None = None
        for prompt, usage, served in validation.pairs:
            gap = prompt.t - before if before is not None else 0.0
            before = prompt.t
            found = sums[next(name for bound, name in GAPS if gap < bound)]
            found[0] += 1
            found[1] += usage.cache_read
            found[2] += served.read
    return [(name, *values) for name, values in sums.items()]  # type: ignore[misc]  # 3 values each


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
    rule, own = rule_of(session.model, AUTO)
    shared = tree.up_to(recording.head, first_read(session))
    events = recorded_misses(session) if observed else resumes(session, tree.tokens[shared])
    caches = Caches(lambda: make_rule(rule, tree, **{**own, **settings}),
                    pools=pools(session, rule), shared=shared, events=events)
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

