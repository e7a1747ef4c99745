"""The prompt cache and the money of one replay, as the columns that stand behind its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from compactlab.caching.bridge import simulate
from compactlab.caching.clock import clock
from compactlab.caching.readings import readings
from compactlab.caching.run import CacheRun
from compactlab.caching.validate import validate
from compactlab.columns import (
    BAND_RUNS,
    CACHE_REQUESTS,
    CACHE_RUNS,
    MONEY_COMPACTIONS,
    MONEY_REQUESTS,
    MONEY_RUNS,
)
from compactlab.errors import NoPrice
from compactlab.index import Index
from compactlab.pricing import Bill, PriceRow, bill, break_even, price_row, raw_run
from compactlab.pricing.bill import request_cost
from compactlab.replay import Replay

WHAT_IF_MODEL = "claude-sonnet-4-6"  # billed where the recording names no model with a price
WHAT_IF_DAY = 1_793_491_200.0  # 2026-11-01, the day of the prices where there are no times
NO_REQUEST = (None,) * (len(CACHE_REQUESTS) + len(MONEY_REQUESTS))
NO_COMPACTION = (None,) * len(MONEY_COMPACTIONS)
NO_RUN = (None,) * (len(CACHE_RUNS) + len(MONEY_RUNS) + len(BAND_RUNS) + 2)


@dataclass(frozen=True)
class CacheOptions:
    """What the simulated client does: its breakpoints, their lifetime, the model that is billed.

    `ttl` None: what the recording wrote, else 5m; `model` None: what it used, and where that has
    no price a what-if model, as the column `price_model` says. `summariser_calls`: `separate`, or
    `shares_prefix` when they repeat the agent's own prompt.
    """

    layout: str = "automatic"
    ttl: str | None = None
    model: str | None = None
    summariser_calls: str = "separate"

    def described(self) -> dict[str, Any]:
        """As JSON values: they determine a result."""
        return {**asdict(self), "what_if_model": WHAT_IF_MODEL}


class Columns(NamedTuple):
    """What stands behind a replay's own columns, in the order of `columns.TABLES`."""

    run: Sequence[Any]
    requests: list[Sequence[Any]]
    compactions: list[Sequence[Any]]


def columns_of(done: Replay, options: CacheOptions) -> Columns:
    """Cache, money, band, model and error of a replay.

    Sessions that are derived from texts without ids and usage have none of it, requests that were
    not served neither.
    """
    requests: list[Sequence[Any]] = [NO_REQUEST for _ in done.sent]
    compactions: list[Sequence[Any]] = [NO_COMPACTION for _ in done.made]
    if done.session.derived or not done.sent:
        return Columns(NO_RUN, requests, compactions)
    prices = prices_of(done, options)
    client: dict[str, Any] = {"layout": options.layout, "ttl": options.ttl, "model": prices.model,
                              "provider": "auto"}
    found = readings(done, summariser_calls=options.summariser_calls, **client)
    raw = [raw_run(done, **client, **reading.settings) for reading in found]
    run = found[0].run
    paid = bill(run, prices, raw=raw[0])
    for request, row in zip(run.requests, run.request_rows, strict=True):
        requests[request.request] = (*row, float(request_cost(prices, request)))
    for one in break_even(done, run, raw[0], prices):
        compactions[one.number] = one.row
    others = [(r.run, paid if r.run is run else bill(r.run, prices, raw=before))
              for r, before in zip(found, raw, strict=True)]
    return Columns((*run.row, *paid.row, *_band(others), prices.model, hit_rate_error(done.store)),
                   requests, compactions)


def _band(found: Sequence[tuple[CacheRun, Bill]]) -> tuple[Any, ...]:
    """In the order of `BAND_RUNS`."""
    reads = [run.totals["cache_read"] for run, _ in found]
    costs = [float(paid.cost) for _, paid in found]
    savings = [paid.cost_saving for _, paid in found if paid.cost_saving is not None]
    return (len(found), min(reads), max(reads), min(costs), max(costs),
            min(savings, default=None), max(savings, default=None))


def hit_rate_error(store: Index) -> float | None:
    """How far the simulator is from the bill of this recording; None where it says no hits.

    Simulated - recorded hit rate of the session as it was, prompt sizes by our own counter. Made
    once for an index.
    """
    def compared() -> float | None:
        usages = [r.usage for r in store.session.requests if r.usage is not None]
        if not any(u.cache_read or u.cache_write_5m or u.cache_write_1h for u in usages):
            return None
        (found,) = validate(store.session, store=store, questions="B")
        return found.hit_rate_error

    return store.empty().remember("hit rate error", compared)


def check(done: Replay, options: CacheOptions) -> None:
    """Check the options on a replay of nothing. Raises UnknownName, BadSetting, NoPrice."""
    row = prices_of(done, options)
    simulate(done, layout=options.layout, ttl=options.ttl, model=row.model, provider="auto",
             summariser_calls=options.summariser_calls)


def prices_of(done: Replay, options: CacheOptions) -> PriceRow:
    """The prices of the model that is billed, on the day of the recording; once for an index."""
    wanted = options.model or done.session.model

    def resolved() -> PriceRow:
        start = clock(done.session)
        moment = start.starts[0] if start.recorded else WHAT_IF_DAY
        try:
            return price_row(wanted, "", moment)
        except NoPrice:
            if options.model:
                raise
            return price_row(WHAT_IF_MODEL, "", moment)

    return done.store.empty().remember(("prices", wanted), resolved)
