"""The prompt cache and the money of one replay, as the columns that stand behind its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from compactlab.caching.bridge import simulate
from compactlab.caching.clock import clock
from compactlab.caching.places import CLIENT
from compactlab.caching.readings import readings
from compactlab.caching.recorded import head_levels
from compactlab.caching.run import CacheRun
from compactlab.columns import (
    BAND_RUNS,
    CACHE_REQUESTS,
    CACHE_RUNS,
    MONEY_COMPACTIONS,
    MONEY_REQUESTS,
    MONEY_RUNS,
)
from compactlab.errors import BadPrices, NoPrice, UnknownName
from compactlab.index import Index
from compactlab.pricing import Bill, PriceRow, bill, break_even, price_row, raw_run
from compactlab.pricing.bill import request_cost
from compactlab.pricing.latency import Assumptions
from compactlab.pricing.own_table import check_table
from compactlab.replay import Replay, replay

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
    `shares_prefix` when they repeat the agent's own prompt; `summariser_model`: whose prices they
    pay, None = those of the session. `prices`: a YAML file of your own (`pricing.own_table`), which
    comes before the package's list.
    """

    layout: str = "automatic"
    ttl: str | None = None
    model: str | None = None
    summariser_calls: str = "separate"
    summariser_model: str | None = None
    prices: str | None = None

    def described(self) -> dict[str, Any]:
        """As JSON values: they determine a result. A table of prices stands with its content.

        BadPrices where the table cannot be read.
        """
        return {**asdict(self), "prices": self._table(), "what_if_model": WHAT_IF_MODEL,
                "latency_assumptions": Assumptions()._asdict()}

    def _table(self) -> dict[str, str] | None:
        if self.prices is None:
            return None
        path = Path(self.prices)
        try:
            return {"name": path.name, "sha256": sha256(path.read_bytes()).hexdigest()}
        except OSError as error:
            raise BadPrices(f"{path}: no table of prices ({error.strerror or error})") from error


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
    dear = summariser_prices(done, options)
    paid = bill(run, prices, raw=raw[0], summariser_row=dear)
    for request, row in zip(run.requests, run.request_rows, strict=True):
        requests[request.request] = (*row, float(request_cost(prices, request)))
    for one in break_even(done, run, raw[0], prices, dear):
        compactions[one.number] = one.row
    others = [(r.run, paid if r.run is run
               else bill(r.run, prices, raw=before, summariser_row=dear))
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

    Simulated - recorded hit rate of the session as it was, with the recording client's marks and
    prompt sizes by our own counter. Made once for an index.
    """
    return store.empty().remember("hit rate error", lambda: _hit_rate_error(store))


def _hit_rate_error(store: Index) -> float | None:
    session = store.session
    usages = {n: r.usage for n, r in enumerate(session.requests) if r.usage is not None}
    if not any(u.cache_read or u.cache_write_5m or u.cache_write_1h for u in usages.values()):
        return None
    walk = replay(session, "recorded", window=None, store=store, summariser="fallback")
    try:
        run = simulate(walk, layout=CLIENT, head_levels=head_levels(session))
    except UnknownName:  # nothing says whose cache it was
        return None
    mine = [r for r in run.requests if r.request in usages]
    billed = [usages[r.request] for r in mine]
    prompts, sizes = sum(u.prompt for u in billed), sum(r.total for r in mine)
    if not prompts or not sizes:
        return None
    return sum(r.cache_read for r in mine) / sizes - sum(u.cache_read for u in billed) / prompts


def check(done: Replay, options: CacheOptions) -> None:
    """Check the options on a replay of nothing.

    Raises UnknownName, BadSetting, NoPrice, BadPrices.
    """
    if options.prices is not None:
        check_table(Path(options.prices))
    row = prices_of(done, options)
    summariser_prices(done, options)
    simulate(done, layout=options.layout, ttl=options.ttl, model=row.model, provider="auto",
             summariser_calls=options.summariser_calls)


def prices_of(done: Replay, options: CacheOptions) -> PriceRow:
    """The prices of the model that is billed, on the day of the recording; once for an index."""
    wanted = options.model or done.session.model

    def resolved() -> PriceRow:
        try:
            return _row(done, wanted, options)
        except NoPrice:
            if options.model:
                raise
            return _row(done, WHAT_IF_MODEL, options)

    return done.store.empty().remember(("prices", wanted, options.prices), resolved)


def summariser_prices(done: Replay, options: CacheOptions) -> PriceRow | None:
    """The prices of the summariser's own model; None where it pays those of the session."""
    wanted = options.summariser_model
    if wanted is None:
        return None
    return done.store.empty().remember(("prices", wanted, options.prices),
                                       lambda: _row(done, wanted, options))


def _row(done: Replay, model: str, options: CacheOptions) -> PriceRow:
    start = clock(done.session)
    return price_row(model, "", start.starts[0] if start.recorded else WHAT_IF_DAY, options.prices)
