"""What a model costs at a moment: the package genai-prices, or a table of the user's own.

The package is the only source of list prices and is asked offline; its network updater is never
called. A row is resolved once for each replay and holds for all its requests.
"""

from __future__ import annotations

from bisect import bisect_left
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

from compactlab.caching.models import family
from compactlab.caching.money import Prices
from compactlab.errors import NoPrice

PROVIDERS = {"gemini": "google", "vertex": "google", "bedrock": "aws", "chatgpt-oauth": "openai",
             "openai-codex": "openai"}
HOUR_WRITE, SHORT_WRITE = Decimal(2), Decimal("1.25")  # times input: Claude rows that lack writes
USER_TABLE = "your table"


class PriceRow(NamedTuple):
    """Prices of one model: `tiers` are (from so many prompt tokens on, prices), smallest first.

    A tier holds for the whole request, its answer included. `as_of`: the day that the prices are
    of. `estimated`: what the source lacks and was filled in by rule.
    """

    model: str
    tiers: tuple[tuple[int, Prices], ...]
    as_of: str
    source: str
    estimated: tuple[str, ...] = ()

    def at(self, prompt: int, request: int = 0) -> Prices:
        """The prices for a request whose prompt has so many tokens; the same for all requests."""
        if len(self.tiers) == 1:
            return self.tiers[0][1]
        place = bisect_left([start for start, _ in self.tiers], prompt)
        return self.tiers[max(place - 1, 0)][1]

    @property
    def prices_as_of(self) -> str:
        """Day and source, as every report says it, and what the source lacks."""
        guessed = f"; by rule, not listed: {', '.join(self.estimated)}" if self.estimated else ""
        return f"{self.as_of} ({self.source}{guessed})"


def price_row(model: str, provider: str = "", time: float | None = None,
              table: Path | str | None = None) -> PriceRow:
    """The prices of a model at a Unix time (None = now); a user's YAML table comes first.

    NoPrice where neither the table nor the package knows the model, with what was asked; BadPrices
    for a table that cannot be read.
    """
    moment = datetime.now(UTC) if time is None else datetime.fromtimestamp(time, UTC)
    if table is not None:
        from compactlab.pricing.own_table import own_row

        own = own_row(Path(table), model, moment)
        if own is not None:
            return own
    return _listed(model, provider, moment)


def _listed(model: str, provider: str, moment: datetime) -> PriceRow:
    from genai_prices import __version__, data_snapshot

    name = PROVIDERS.get(provider.lower(), provider.lower()) or None
    snapshot = data_snapshot.get_snapshot()
    for ref, where in _asked(model, name):
        try:
            _, found = snapshot.find_provider_model(ref, None, where, None)
        except LookupError:
            continue
        prices = found.get_prices(moment)
        tiers, estimated = _tiers(prices, bool(family(model)))
        return PriceRow(found.id, tiers, moment.date().isoformat(), f"genai-prices {__version__}",
                        estimated)
    raise NoPrice(f"no price for the model {model!r} of the provider {provider or 'unknown'!r}: "
                  "name one that genai-prices knows, or give a table of your own (YAML)")


def _asked(model: str, provider: str | None) -> list[tuple[str, str | None]]:
    """What the package is asked for: as given, then the bare name with its maker."""
    bare = model.rpartition("/")[2]
    found = [(model, provider), (bare, provider), (bare, None)]
    if family(model):
        found.append((bare.replace(".", "-"), "anthropic"))
    return [pair for pair in dict.fromkeys(found) if pair[0]]


def _tiers(prices: Any, claude: bool) -> tuple[tuple[tuple[int, Prices], ...], tuple[str, ...]]:
    """The package's prices as rows for whole requests."""
    fields = {"input": "input_mtok", "read": "cache_read_mtok", "write_5m": "cache_write_mtok",
              "write_1h": "cache_write_1h_mtok", "output": "output_mtok"}
    raw = {name: getattr(prices, field, None) for name, field in fields.items()}
    if raw["write_5m"] is None:
        raw["write_5m"] = getattr(prices, "cache_write_5m_mtok", None)
    starts = sorted({0, *(t.start for v in raw.values() for t in getattr(v, "tiers", ()))})
    estimated: dict[str, None] = {}
    rows = []
    for start in starts:
        values = {name: _value(value, start) for name, value in raw.items()}
        rows.append((start, filled(values, claude, estimated)))
    return tuple(rows), tuple(estimated)


def _value(value: Any, start: int) -> Decimal | None:
    """A price in the tier that begins at `start`."""
    tiers = getattr(value, "tiers", None)
    if tiers is None:
        return None if value is None else Decimal(value)
    price = Decimal(value.base)
    for tier in tiers:
        if tier.start <= start:
            price = Decimal(tier.price)
    return price


def filled(values: dict[str, Decimal | None], claude: bool, estimated: dict[str, None]) -> Prices:
    """Prices without gaps; what is missing is noted.

    A read costs what input costs, a write too, but 1.25 and 2 times input on Claude models.
    """
    base = values.get("input")
    if base is None:
        raise NoPrice("a price row without an input price: give a table of your own (YAML)")
    other = {"read": base, "write_5m": base * SHORT_WRITE if claude else base,
             "write_1h": base * HOUR_WRITE if claude else base, "output": Decimal(0)}
    known = {}
    for name, fallback in other.items():
        value = values.get(name)
        if value is None:
            estimated[name] = None
        known[name] = fallback if value is None else value
    return Prices(base, known["read"], known["write_5m"], known["write_1h"], known["output"])
