"""What a replay costs: its requests, its summary calls, what its compactions destroyed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

from compactlab.caching.bridge import simulate
from compactlab.caching.clock import clock
from compactlab.caching.models import AUTO
from compactlab.caching.money import MILLION, Prices, cost
from compactlab.caching.run import CachedRequest, CacheRun, SummaryCall
from compactlab.pricing.by_request import PriceList
from compactlab.pricing.latency import Assumptions, Seconds, latency
from compactlab.pricing.table import PriceRow, price_row
from compactlab.replay import Replay, replay


class Bill(NamedTuple):
    """Exact USD; `cost_raw` None where no raw run was given. See `MONEY_RUNS`."""

    cost: Decimal
    cost_raw: Decimal | None
    summariser_cost: Decimal
    bust_cost: Decimal
    prices_as_of: str
    seconds: Seconds

    @property
    def cost_saving(self) -> float | None:
        """Share of the raw cost that is saved; negative where the strategy costs more."""
        return float(1 - self.cost / self.cost_raw) if self.cost_raw else None

    @property
    def row(self) -> tuple[Any, ...]:
        """In the order of `MONEY_RUNS`, as floats."""
        raw = float(self.cost_raw) if self.cost_raw is not None else None
        return (float(self.cost), raw, self.cost_saving, float(self.summariser_cost),
                float(self.bust_cost), self.prices_as_of, *self.seconds[:2])


def request_cost(row: PriceList, request: CachedRequest | SummaryCall, output: int | None = None
                 ) -> Decimal:
    """USD of one request with its answer; the tier goes by the whole prompt."""
    read, five, hour, uncached = (request.cache_read, request.cache_write_5m,
                                  request.cache_write_1h, request.uncached)
    prices = row.at(read + five + hour + uncached, request.request)
    return cost(prices, read=read, write_5m=five, write_1h=hour,
                uncached=uncached, output=request.output if output is None else output)


def total_cost(row: PriceList, requests: Iterable[CachedRequest | SummaryCall]) -> Decimal:
    """USD of many requests, exactly: tokens are added up by tier first."""
    sums: dict[Prices, Counter[str]] = {}
    for r in requests:
        if isinstance(r, CachedRequest) and r.error:
            continue  # refused: not billed
        prices = row.at(r.cache_read + r.cache_write_5m + r.cache_write_1h + r.uncached, r.request)
        found = sums.get(prices)
        if found is None:
            found = sums[prices] = Counter()
        found["read"] += r.cache_read
        found["write_5m"] += r.cache_write_5m
        found["write_1h"] += r.cache_write_1h
        found["uncached"] += r.uncached
        found["output"] += r.output
    return sum((cost(prices, **tokens) for prices, tokens in sums.items()), Decimal(0))


def bill(run: CacheRun, row: PriceList, *, raw: CacheRun | None = None,
         summariser_row: PriceList | None = None, assumptions: Assumptions | None = None) -> Bill:
    """What a cache run costs by these prices; `raw` is the same session with nothing compacted.

    `summariser_row` are the prices of a summariser's own model, else the session's. Only the
    requests that the run served are compared.
    """
    summaries = total_cost(summariser_row or row, run.calls)
    served = {r.request for r in run.requests}
    before = None
    if raw is not None:
        before = total_cost(row, (r for r in raw.requests if r.request in served))
    return Bill(total_cost(row, run.requests) + summaries, before, summaries,
                _bust_cost(run, row), row.prices_as_of, latency(run, assumptions))


def _bust_cost(run: CacheRun, row: PriceList) -> Decimal:
    return sum((bust_cost(row, r) for r in run.requests if r.bust), Decimal(0))


def bust_cost(row: PriceList, r: CachedRequest) -> Decimal:
    """USD of the busted tokens at what they were paid with (written first), less a read's price.

    Never negative: where a read costs more than that, nothing was lost.
    """
    prices = row.at(r.total, r.request)
    hour = min(r.bust, r.cache_write_1h)
    five = min(r.bust - hour, r.cache_write_5m)
    plain = r.bust - hour - five
    paid = hour * prices.write_1h + five * prices.write_5m + plain * prices.input
    return max(paid - r.bust * prices.read, Decimal(0)) / MILLION


def raw_run(walk: Replay, **settings: Any) -> CacheRun:
    """The same session with nothing compacted and no window, through the same cache.

    Made once for these settings (those of `simulate`) and shared by all replays of the index.
    """
    key = ("raw cache run", tuple(sorted((k, repr(v)) for k, v in settings.items())))
    return walk.store.remember(key, lambda: simulate(
        replay(walk.session, "raw", window=None, store=walk.store), **settings))


def priced(walk: Replay, *, table: Path | str | None = None, prices: PriceRow | None = None,
           summariser_model: str = "", assumptions: Assumptions | None = None, **settings: Any
           ) -> tuple[CacheRun, Bill]:
    """Simulate a replay and its raw twin, and price both; `settings` are those of `simulate`.

    The recorded time of the first request is the date of the prices. NoPrice where a model has
    none.
    """
    run = simulate(walk, **settings)
    start = clock(walk.session)
    moment = start.starts[0] if start.recorded else None
    provider = str(settings.get("provider", AUTO))
    row = prices or price_row(run.model, _seller(provider), moment, table)
    own = price_row(summariser_model, "", moment, table) if summariser_model else None
    plain = {k: v for k, v in settings.items() if k != "summariser_calls"}
    return run, bill(run, row, raw=raw_run(walk, **plain), summariser_row=own,
                     assumptions=assumptions)


def _seller(provider: str) -> str:
    """Whose price list: a rule's name says no seller."""
    return provider if provider in ("anthropic", "openrouter", "openai", "google") else ""
