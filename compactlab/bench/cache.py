"""The prompt cache and the money of one replay, as the columns that stand behind its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from compactlab.bench.billed import CacheOptions, billed_by, summariser_prices
from compactlab.caching.bridge import simulate
from compactlab.caching.models import AUTO
from compactlab.caching.money import cost
from compactlab.caching.places import CLIENT
from compactlab.caching.readings import readings
from compactlab.caching.recorded import head_levels
from compactlab.caching.run import CacheRun
from compactlab.columns import (
    BAND_RUNS,
    CACHE_REQUESTS,
    CACHE_RUNS,
    CHECK_RUNS,
    MONEY_COMPACTIONS,
    MONEY_REQUESTS,
    MONEY_RUNS,
)
from compactlab.errors import UnknownName
from compactlab.index import Index
from compactlab.pricing import Bill, bill, break_even, raw_run
from compactlab.pricing.bill import request_cost
from compactlab.pricing.by_request import PriceList
from compactlab.replay import Replay, replay

NO_REQUEST = (None,) * (len(CACHE_REQUESTS) + len(MONEY_REQUESTS))
NO_COMPACTION = (None,) * len(MONEY_COMPACTIONS)
NO_RUN = (None,) * sum(map(len, (CACHE_RUNS, MONEY_RUNS, BAND_RUNS, CHECK_RUNS)))
RECORDED, WHAT_IF = "recorded", "what-if"


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
    by, dear = billed_by(done, options), summariser_prices(done, options)
    client: dict[str, Any] = {"layout": options.layout, "ttl": options.ttl, "model": by.model,
                              "provider": by.provider}
    found = readings(done, summariser_calls=options.summariser_calls, **client)
    raw = [raw_run(done, **client, **reading.settings) for reading in found]
    run = found[0].run
    paid = bill(run, by.prices, raw=raw[0], summariser_row=dear)
    for request, row in zip(run.requests, run.request_rows, strict=True):
        requests[request.request] = (*row, float(request_cost(by.prices, request)))
    for one in break_even(done, run, raw[0], by.prices, dear):
        compactions[one.number] = one.row
    others = [(r.run, paid if r.run is run
               else bill(r.run, by.prices, raw=before, summariser_row=dear))
              for r, before in zip(found, raw, strict=True)]
    own = by.model is None and by.provider == AUTO  # another rule was checked by no recording
    checked = simulator_error(done.store, by.prices) if own else NOT_CHECKED
    basis = WHAT_IF if by.what_if else RECORDED
    return Columns((*run.row, *paid.row, *_band(others), by.prices.model, basis, *checked),
                   requests, compactions)


def _band(found: Sequence[tuple[CacheRun, Bill]]) -> tuple[Any, ...]:
    """In the order of `BAND_RUNS`."""
    reads = [run.totals["cache_read"] for run, _ in found]
    costs = [float(paid.cost) for _, paid in found]
    savings = [paid.cost_saving for _, paid in found if paid.cost_saving is not None]
    return (len(found), min(reads), max(reads), min(costs), max(costs),
            min(savings, default=None), max(savings, default=None))


class Checked(NamedTuple):
    """How far the simulator is from the bill of a recording; None where the bill says no hits.

    `hit_rate`: simulated - recorded, a share. `cost`: simulated input cost / that of the recorded
    usage at the same prices - 1.
    """

    hit_rate: float | None
    cost: float | None


NOT_CHECKED = Checked(None, None)


def simulator_error(store: Index, prices: PriceList | None = None) -> Checked:
    """The error of the what-ifs' own loop on the session as it was recorded; once for an index.

    With the recording client's marks and prompt sizes by our own counter.
    """
    return store.remember(("simulator error", prices), lambda: _error(store, prices))


def _error(store: Index, prices: PriceList | None) -> Checked:
    session = store.session
    usages = {n: r.usage for n, r in enumerate(session.requests) if r.usage is not None}
    if not any(u.cache_read or u.cache_write_5m or u.cache_write_1h for u in usages.values()):
        return NOT_CHECKED
    walk = replay(session, "recorded", window=None, store=store, summariser="fallback")
    try:
        run = simulate(walk, layout=CLIENT, head_levels=head_levels(session))
    except UnknownName:  # nothing says whose cache it was
        return NOT_CHECKED
    mine = [r for r in run.requests if r.request in usages]
    billed = [(r.request, usages[r.request]) for r in mine]
    prompts, sizes = sum(u.prompt for _, u in billed), sum(r.total for r in mine)
    if not prompts or not sizes:
        return NOT_CHECKED
    rate = sum(r.cache_read for r in mine) / sizes - sum(u.cache_read for _, u in billed) / prompts
    if prices is None:
        return Checked(rate, None)
    paid = sum(cost(prices.at(u.prompt, n), read=u.cache_read, write_5m=u.cache_write_5m,
                    write_1h=u.cache_write_1h, uncached=u.input) for n, u in billed)
    made = sum(request_cost(prices, r, output=0) for r in mine)
    return Checked(rate, float(made / paid) - 1 if paid else None)
