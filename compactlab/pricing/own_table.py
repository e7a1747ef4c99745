"""A user's own prices in YAML: models by name, USD per million tokens, optional dates and tiers."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from compactlab.caching.models import family
from compactlab.caching.money import Prices
from compactlab.errors import BadPrices, NoPrice
from compactlab.pricing.table import USER_TABLE, PriceRow, filled

NAMES = {"input": "input", "cache_read": "read", "cache_write_5m": "write_5m",
         "cache_write_1h": "write_1h", "output": "output"}
OTHERS = ("from", "tiers")
MOST_PRICE = 1_000_000
DATED = re.compile(r"[-@]\d{4}-?\d{2}-?\d{2}$")


def own_row(path: Path, model: str, moment: datetime) -> PriceRow | None:
    """The row of a model in a file, the newest one that holds at the moment; None without one.

    The file: `models: {name: {input: 1.25, cache_read: 0.125, output: 10, from: 2026-01-01,
    tiers: [{above: 200000, input: 2.5, ...}]}}`; a list of such rows gives prices that change.
    BadPrices names file, model and key of what cannot be read.
    """
    entry = _entry(_models(path), model)
    fitting = [row for row in _rows(entry) if _since(path, model, row) <= moment]
    if not fitting:
        return None
    return _priced(path, model, max(fitting, key=lambda r: _since(path, model, r)), moment)


def _entry(models: dict[str, Any], model: str) -> Any:
    """What a table says of a model: by its name, without its maker, without a date behind it."""
    known = {str(name).casefold(): entry for name, entry in models.items()}
    bare = model.casefold().rpartition("/")[2]
    for name in (model.casefold(), bare, DATED.sub("", bare)):
        if name in known:
            return known[name]
    return None


def check_table(path: Path) -> None:
    """Read every row of a file. Raises BadPrices for the first that cannot be read."""
    for model, entry in _models(path).items():
        for row in _rows(entry):
            _since(path, str(model), row)
            _priced(path, str(model), row, datetime.now(UTC))


def _rows(entry: Any) -> list[Any]:
    """The rows of a model: none, one, or one for each date."""
    if entry is None:
        return []
    return entry if isinstance(entry, list) else [entry]


def _priced(path: Path, model: str, row: dict[str, Any], moment: datetime) -> PriceRow:
    estimated: dict[str, None] = {}
    tiers = [(0, _prices(path, model, row, {}, estimated))]
    for tier in _tiers(path, model, row):
        if not isinstance(tier, dict) or type(tier.get("above")) is not int or tier["above"] <= 0:
            raise BadPrices(f"{path}: {model}: a tier needs `above`, a whole number of tokens over "
                            "0")
        if tier["above"] in [start for start, _ in tiers]:
            raise BadPrices(f"{path}: {model}: two tiers above {tier['above']:,} tokens")
        prices = {k: v for k, v in tier.items() if k != "above"}
        if wrong := sorted(set(OTHERS) & prices.keys()):
            raise BadPrices(f"{path}: {model}: {wrong[0]!r} does not belong into a tier")
        tiers.append((tier["above"], _prices(path, model, prices, row, estimated)))
    return PriceRow(model, tuple(sorted(tiers)), moment.date().isoformat(),
                    f"{USER_TABLE} {path.name}", tuple(estimated))


def _tiers(path: Path, model: str, row: dict[str, Any]) -> list[Any]:
    found = row.get("tiers") or []
    if not isinstance(found, list):
        raise BadPrices(f"{path}: {model}: tiers are a list, not {type(found).__name__}")
    return found


def _models(path: Path) -> dict[str, Any]:
    import yaml

    try:
        text = path.read_text("utf-8")
        _refuse_repeated(path, yaml.compose(text, yaml.SafeLoader))
        found = yaml.safe_load(text)
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        raise BadPrices(f"{path}: no table of prices ({error})") from error
    models = found.get("models") if isinstance(found, dict) else None
    if not isinstance(models, dict):
        raise BadPrices(f"{path}: a table of prices begins with `models:` and a name for each row")
    return models


def _refuse_repeated(path: Path, node: Any) -> None:
    """YAML takes the last of two equal keys without a word."""
    waiting = [node]
    while waiting:
        found = waiting.pop()
        if found is None or isinstance(found.value, str):
            continue
        pairs = [pair for pair in found.value if isinstance(pair, tuple)]
        keys = [str(key.value) for key, _ in pairs]
        if twice := next((key for n, key in enumerate(keys) if key in keys[:n]), None):
            raise BadPrices(f"{path}: the key {twice!r} stands twice in one place")
        waiting += [value for _, value in pairs] or list(found.value)


def _since(path: Path, model: str, row: Any) -> datetime:
    if not isinstance(row, dict):
        raise BadPrices(f"{path}: {model}: prices are a mapping, not {type(row).__name__}")
    value = row.get("from", date.min)
    if not isinstance(value, date):
        raise BadPrices(f"{path}: {model}: from = {value!r}: needs a date such as 2026-01-31")
    return datetime(value.year, value.month, value.day, tzinfo=UTC)


def _prices(path: Path, model: str, row: dict[str, Any], base: dict[str, Any],
            estimated: dict[str, None]) -> Prices:
    """Prices of a row; a tier takes what it does not name from its base."""
    unknown = row.keys() - NAMES.keys() - set(OTHERS)
    if unknown:
        raise BadPrices(f"{path}: {model}: unknown key {min(map(str, unknown))!r}: "
                      f"choose one of {', '.join((*NAMES, *OTHERS))}")
    values: dict[str, Decimal | None] = {}
    for key, name in NAMES.items():
        value = row.get(key, base.get(key))
        try:
            values[name] = None if value is None else Decimal(str(value))
        except InvalidOperation as error:
            raise BadPrices(f"{path}: {model}: {key} = {value!r} is no price") from error
        price = values[name]
        if price is not None and not (price.is_finite() and 0 <= price <= MOST_PRICE):
            raise BadPrices(f"{path}: {model}: {key} = {value!r}: a price is 0 or more, in USD per "
                            f"million tokens, at most {MOST_PRICE:,}")
    try:
        return filled(values, bool(family(model)), estimated)
    except NoPrice as error:
        raise BadPrices(f"{path}: {model}: needs an input price") from error
