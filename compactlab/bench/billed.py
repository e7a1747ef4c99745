"""Whose cache is simulated and at whose prices: what the options say, else the recording."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from compactlab.caching.bridge import SHARES_PREFIX, simulate
from compactlab.caching.clock import clock
from compactlab.caching.models import AUTO, rule_of
from compactlab.errors import BadPrices, BadSetting, NoPrice, UnknownName
from compactlab.pricing import PriceRow, price_row
from compactlab.pricing.by_request import Mixed, PriceList
from compactlab.pricing.latency import Assumptions
from compactlab.pricing.own_table import check_table
from compactlab.replay import Replay

WHAT_IF_MODEL = "claude-sonnet-4-6"  # billed where the recording names no model with a price
WHAT_IF_DAY = 1_793_491_200.0  # 2026-11-01, the day of the prices where there are no times
NO_RULE = "none"  # the rule of a model whose provider's rule is not known


@dataclass(frozen=True)
class CacheOptions:
    """What the simulated client does: its breakpoints, their lifetime, the model that is billed.

    `ttl` None: what the recording wrote, else 5m; `model` None: what it used, and where that has
    no price a what-if model, as the column `price_basis` says; `provider`: whose cache rules, auto
    = the model's. `summariser_calls`: `separate`, or `shares_prefix` when they repeat the agent's
    own prompt; `summariser_model`: whose prices they pay, None = those of the session. `prices`: a
    YAML file of your own (`pricing.own_table`), which comes before the package's list.
    """

    layout: str = "automatic"
    ttl: str | None = None
    model: str | None = None
    provider: str = AUTO
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


class Billed(NamedTuple):
    """Who is billed: prices, the model to simulate (None = the recording's own), its rule.

    `what_if`: the prices are not those of the model that the recording used.
    """

    prices: PriceList
    model: str | None
    provider: str
    what_if: bool


def billed_by(done: Replay, options: CacheOptions) -> Billed:
    """Whose cache and prices a replay is billed by; once for an index.

    Raises NoPrice for a model that the options name and that has no price.
    """
    key = ("billed", options.model, options.provider, options.prices)
    return done.store.remember(key, lambda: _billed_by(done, options))


def _billed_by(done: Replay, options: CacheOptions) -> Billed:
    session = done.session
    named = dict.fromkeys(r.model or session.model for r in session.requests)
    if options.model:
        prices: PriceList = _row(done, options.model, options)
        model, what_if = options.model, options.model not in named
    else:
        try:
            prices, model, what_if = _own_prices(done, options), None, False
        except NoPrice:
            prices, model, what_if = _row(done, WHAT_IF_MODEL, options), WHAT_IF_MODEL, True
    provider = options.provider
    if provider == AUTO:
        try:
            rule_of(session.model if model is None else model, AUTO)
        except UnknownName:
            provider = NO_RULE
    return Billed(prices, model, provider, what_if)


def _own_prices(done: Replay, options: CacheOptions) -> PriceList:
    """The prices of the recording's models: one row, or one for each request."""
    session = done.session
    rows: dict[str, PriceRow] = {}
    for name in dict.fromkeys(r.model or session.model for r in session.requests):
        try:
            rows[name] = _row(done, name, options)
        except NoPrice:
            rows[name] = rows.get(session.model) or _row(done, session.model, options)
    by_request = tuple([rows[r.model or session.model] for r in session.requests])
    if not by_request:
        raise NoPrice("no request names a model")
    return by_request[0] if len(set(by_request)) == 1 else Mixed(by_request)


def summariser_prices(done: Replay, options: CacheOptions) -> PriceRow | None:
    """The prices of the summariser's own model; None where it pays those of the session."""
    wanted = options.summariser_model
    if wanted is None:
        return None
    return done.store.remember(("summariser prices", wanted, options.prices),
                               lambda: _row(done, wanted, options))


def _row(done: Replay, model: str, options: CacheOptions) -> PriceRow:
    start = clock(done.session)
    return price_row(model, "", start.starts[0] if start.recorded else WHAT_IF_DAY, options.prices)


def check(done: Replay, options: CacheOptions) -> None:
    """Check the options on a replay of nothing.

    Raises UnknownName, BadSetting, NoPrice, BadPrices.
    """
    if options.prices is not None:
        check_table(Path(options.prices))
    if options.summariser_model is not None and options.summariser_calls == SHARES_PREFIX:
        raise BadSetting("summariser_calls = shares_prefix: another model has a cache of its own, "
                         "so leave out summariser_model, or take separate calls")
    billed = billed_by(done, options)
    summariser_prices(done, options)
    simulate(done, layout=options.layout, ttl=options.ttl, model=billed.model,
             provider=billed.provider, summariser_calls=options.summariser_calls)
