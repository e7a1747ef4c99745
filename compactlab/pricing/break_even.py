"""After how many requests a compaction has paid for itself: by a formula and as simulated."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import groupby
from math import ceil
from typing import Any, NamedTuple

from compactlab.caching.money import MILLION
from compactlab.caching.run import CachedRequest, CacheRun
from compactlab.pricing.bill import request_cost
from compactlab.pricing.table import PriceRow
from compactlab.replay import Replay
from compactlab.walk import Made


class BreakEven(NamedTuple):
    """What was compacted before one request. USD and requests; None = it never pays.

    `number`: of the last of these compactions in `Replay.made`. `once`: summary calls, and what
    was written anew above a read's price; `each`: saved by every later request, whose prompt is
    smaller. `simulated` None: not within the session.
    """

    number: int
    request: int
    once: Decimal
    each: Decimal
    closed: int | None
    simulated: int | None

    @property
    def row(self) -> tuple[Any, ...]:
        """In the order of `columns.MONEY_COMPACTIONS`."""
        return float(self.once), float(self.each), self.closed, self.simulated


def break_even(walk: Replay, run: CacheRun, raw: CacheRun, row: PriceRow,
               summariser_row: PriceRow | None = None) -> list[BreakEven]:
    """Break-even of the compactions before each request, silent ones too.

    Closed form: n = ceil(once / each), once = summary calls + bust x (write - read) + summary x
    write, each = removed tokens x read; it supposes that every later request hits. Simulated: the
    first request at which the compacted run, from the compaction on, has cost no more than the raw
    one; what later compactions cost counts with it.
    """
    mine = {r.request: r for r in run.requests}
    other = {r.request: r for r in raw.requests}
    both = sorted(mine.keys() & other.keys())
    dear = summariser_row or row
    calls = _by_request([(s.request, request_cost(dear, s)) for s in run.calls], both)
    apart = [request_cost(row, mine[n]) - request_cost(row, other[n]) + calls.get(n, Decimal(0))
             for n in both]
    paid_back = dict(zip(both, _until_even(apart), strict=True))
    found = []
    for first, numbers in _compacted(walk.made, both):
        made = [walk.made[n] for n in numbers]
        once = _once(walk, made, mine[first], run.ttl, row) + calls.get(first, Decimal(0))
        removed = sum(m.compaction.before - m.compaction.after for m in made)
        each = max(removed, 0) * row.at(mine[first].total).read / MILLION
        closed = ceil(once / each) if each > 0 else None
        found.append(BreakEven(numbers[-1], first, once, each, closed, paid_back[first]))
    return found


def _compacted(made: Sequence[Made], both: Sequence[int]) -> Iterator[tuple[int, list[int]]]:
    """(the first request served behind them, their numbers) of compactions that changed."""
    changed = ((n, m.request) for n, m in enumerate(made) if m.compaction.changed)
    for first, group in groupby(changed, key=lambda pair: _next_served(both, pair[1])):
        if first is not None:
            yield first, [number for number, _ in group]


def _once(walk: Replay, made: Sequence[Made], served: CachedRequest, ttl: str, row: PriceRow
          ) -> Decimal:
    """USD of writing the busted tokens again and the summaries for the first time."""
    prices = row.at(served.total)
    write = prices.write_1h if ttl == "1h" else prices.write_5m
    summary = sum(walk.store.count(m.compaction.summary) for m in made if m.compaction.summary)
    return (served.bust * (write - prices.read) + summary * write) / MILLION


def _by_request(paid: Sequence[tuple[int, Decimal]], both: Sequence[int]) -> dict[int, Decimal]:
    """What was paid before each request that was served; what no such one follows is left out."""
    found = dict[int, Decimal]()
    for request, usd in paid:
        first = _next_served(both, request)
        if first is not None:
            found[first] = found.get(first, Decimal(0)) + usd
    return found


def _next_served(both: Sequence[int], request: int) -> int | None:
    place = bisect_left(both, request)
    return both[place] if place < len(both) else None


def _until_even(apart: Sequence[Decimal]) -> list[int | None]:
    """For each place how many of the differences from there on it takes until their sum is <= 0.

    Running sums that have not been undercut yet wait on a stack, so each is looked at twice.
    """
    found: list[int | None] = [None] * len(apart)
    total, waiting = Decimal(0), list[tuple[Decimal, int]]()
    for place, difference in enumerate(apart):
        waiting.append((total, place))
        total += difference
        while waiting and total <= waiting[-1][0]:
            _, start = waiting.pop()
            found[start] = place + 1 - start
    return found
