"""What a replay's requests would have been served: columns a request, totals, what was busted."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from compactlab.columns import CACHE_REQUESTS, CACHE_RUNS, CAUSES, Column, frame

if TYPE_CHECKING:
    from pandas import DataFrame


class CachedRequest(NamedTuple):
    """One served request; the first eight fields behind `request` are `CACHE_REQUESTS`."""

    request: int
    cache_read: int
    cache_write_5m: int
    cache_write_1h: int
    uncached: int
    hit: float
    cause: str
    missed: int
    bust: int
    causes: tuple[tuple[str, int], ...] = ()
    output: int = 0
    error: str = ""

    @property
    def total(self) -> int:
        """Tokens of the prompt."""
        return self.cache_read + self.cache_write_5m + self.cache_write_1h + self.uncached


class SummaryCall(NamedTuple):
    """One request of the summariser, made before request `request`; tokens by class."""

    request: int
    cache_read: int
    cache_write_5m: int
    cache_write_1h: int
    uncached: int
    output: int


@dataclass(frozen=True)
class CacheRun:
    """A replay under one cache. `time`: recorded, or assumed (no times: nothing expires).

    `clock_back`: how often the recorded clock went back. `settings`: what differs from the rule's
    defaults. `tool_runs`: whether a prompt may hold tool uses or results one behind the other.
    Refused and unserved requests are not in it.
    """

    session: str
    provider: str
    rule: str
    model: str
    layout: str
    ttl: str
    time: str
    clock_back: int
    summariser_calls: str
    settings: tuple[tuple[str, object], ...]
    source: str
    requests: tuple[CachedRequest, ...]
    calls: tuple[SummaryCall, ...]
    tool_runs: bool = True

    @cached_property
    def totals(self) -> dict[str, Any]:
        """The run's columns by name; see `CACHE_RUNS`."""
        rows = self.requests
        sums: dict[str, Any] = {
            name: sum(getattr(row, name) for row in rows)
            for name in ("cache_read", "cache_write_5m", "cache_write_1h", "uncached")}
        prompt = sum(sums.values())
        causes: Counter[str] = Counter()
        for row in rows:
            causes.update(dict(row.causes))
        return {"cache_rule": self.rule, "cache_layout": self.layout,
                "cache_ttl": self.ttl or None, "clock_back": self.clock_back, **sums,
                "hit_rate": sums["cache_read"] / prompt if prompt else None,
                "bust_tokens": sum(row.bust for row in rows),
                **{f"miss_{cause}": causes[cause] for cause in CAUSES}}

    @property
    def row(self) -> tuple[Any, ...]:
        """`totals` in the order of `CACHE_RUNS`."""
        return tuple(self.totals[column.name] for column in CACHE_RUNS)

    @property
    def request_rows(self) -> list[tuple[Any, ...]]:
        """One tuple a served request, in the order of `CACHE_REQUESTS`."""
        return [row[1: 1 + len(CACHE_REQUESTS)] for row in self.requests]

    @property
    def table(self) -> DataFrame:
        """A row a served request: its number, then `CACHE_REQUESTS`."""
        number = Column("request", "int", "", "number of the request, from 0")
        return frame((number, *CACHE_REQUESTS),
                     [row[: 1 + len(CACHE_REQUESTS)] for row in self.requests])
