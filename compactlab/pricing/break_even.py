"""After how many requests a compaction has paid for itself: by a formula and as simulated."""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import groupby, pairwise
from math import ceil
from typing import Any, NamedTuple

from compactlab.caching.money import MILLION
from compactlab.caching.run import CachedRequest, CacheRun
from compactlab.pricing.bill import bust_cost, request_cost
from compactlab.pricing.by_request import PriceList
from compactlab.replay import Replay
from compactlab.walk import Made

ZERO = Decimal(0)


class BreakEven(NamedTuple):
    """What was compacted before one request. USD and requests; None = it never pays.

    `number`: of the last of these compactions in `Replay.made`. `once`: summary calls, and what
    was written anew above a read's price; `each`: saved by every later request, whose prompt is
    smaller. `simulated` None: not before the next compaction or the end of the session.
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


def break_even(walk: Replay, run: CacheRun, raw: CacheRun, row: PriceList,
               summariser_row: PriceList | None = None) -> list[BreakEven]:
    """Break-even of the compactions before each request, silent ones too.

    Closed form: n = ceil(once / each), once = summary calls + bust x (what was paid - read) +
    summary x write, each = removed tokens x read; it supposes that every later request hits.
    Simulated: the first request by which all since the compaction has cost no more than without
    it. Without it, the requests are those of the raw run less what earlier compactions had
    removed. The next compaction ends the count: it would have removed the same.
    """
    mine = {r.request: r for r in run.requests}
    other = {r.request: r for r in raw.requests}
    both = sorted(mine.keys() & other.keys())
    calls = _by_request([(s.request, request_cost(summariser_row or row, s)) for s in run.calls],
                        both)
    head = _head_tokens(walk)
    found = []
    for (first, numbers), (end, _) in pairwise((*_compacted(walk.made, both), (sys.maxsize, ()))):
        compactions = [walk.made[n] for n in numbers]
        removed = sum(m.compaction.before - m.compaction.after for m in compactions)
        spent = calls.get(first, ZERO)
        once = spent + _written(walk, compactions, mine[first], row)
        each = max(removed, 0) * row.at(mine[first].total, first).read / MILLION
        earlier = other[first].total - mine[first].total - removed
        apart = (request_cost(row, mine[n]) - request_cost(row, _without(other[n], earlier, head))
                 for n in both[bisect_left(both, first): bisect_left(both, end)])
        found.append(BreakEven(
            numbers[-1], first, once, each, ceil(once / each) if each > 0 else None,
            _even_after(spent, apart)))
    return found


def _compacted(made: Sequence[Made], both: Sequence[int]) -> Iterator[tuple[int, list[int]]]:
    """(the first request served behind them, their numbers) of compactions that changed."""
    changed = ((n, m.request) for n, m in enumerate(made) if m.compaction.changed)
    for first, group in groupby(changed, key=lambda pair: _next_served(both, pair[1])):
        if first is not None:
            yield first, [number for number, _ in group]


def _written(walk: Replay, made: Sequence[Made], served: CachedRequest, row: PriceList) -> Decimal:
    """USD of paying the busted tokens again and the summaries for the first time."""
    prices = row.at(served.total, served.request)
    price = (prices.write_1h if served.cache_write_1h else
             prices.write_5m if served.cache_write_5m else prices.input)
    summary = sum(walk.store.count(m.compaction.summary) for m in made if m.compaction.summary)
    return bust_cost(row, served) + summary * price / MILLION


def _without(raw: CachedRequest, removed: int, head: int) -> CachedRequest:
    """A raw request less `removed` tokens of messages that earlier compactions had taken out.

    They stood early in the prompt: in what was read, or where only the head was, in the rest.
    """
    left, parts = removed, []
    for tokens, least in ((raw.cache_read, head), (raw.cache_write_5m, 0), (raw.cache_write_1h, 0),
                          (raw.uncached, 0)):
        taken = min(left, max(tokens - least, 0)) if left > 0 else 0
        left -= taken
        parts.append(tokens - taken)
    read, five, hour, uncached = parts
    return raw._replace(cache_read=read, cache_write_5m=five, cache_write_1h=hour,
                        uncached=uncached)


def _head_tokens(walk: Replay) -> int:
    """Tokens in front of the messages that strategies may remove: head, schemas, system prompt."""
    sent = (walk.prompt(n) for n in range(len(walk.sent)))
    first = next((history for history in sent if history is not None), None)
    return walk.store.fixed + (first.system_tokens if first is not None else 0)


def _even_after(spent: Decimal, apart: Iterator[Decimal]) -> int | None:
    """How many requests it takes until what was paid more has come back."""
    for count, difference in enumerate(apart, 1):
        spent += difference
        if spent <= 0:
            return count
    return None


def _by_request(paid: Sequence[tuple[int, Decimal]], both: Sequence[int]) -> dict[int, Decimal]:
    """What was paid before each request that was served; what no such one follows is left out."""
    found = dict[int, Decimal]()
    for request, usd in paid:
        first = _next_served(both, request)
        if first is not None:
            found[first] = found.get(first, ZERO) + usd
    return found


def _next_served(both: Sequence[int], request: int) -> int | None:
    place = bisect_left(both, request)
    return both[place] if place < len(both) else None
