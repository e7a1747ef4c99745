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
NOTHING = ("", "~", "null")  # what YAML calls null
SHOWN = 40  # characters of a wrong value
_DAY = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})([T ].*)?")
_TOKENS = re.compile(r"[1-9][0-9_]{0,15}")
DATED = re.compile(r"[-@]\d{4}-?\d{2}-?\d{2}$")


def own_row(path: Path, model: str, moment: datetime) -> PriceRow | None:
    """The row of a model in a file, the newest one that holds at the moment; None without one.

    The file: `models: {name: {input: 1.25, cache_read: 0.125, output: 10, from: 2026-01-01,
    tiers: [{above: 200000, input: 2.5, ...}]}}`; a list of such rows gives prices that change.
    BadPrices names file, model and key of what cannot be read.
    """
    entry = _entry(_models(path), model)
    fitting = {day: row for day, row in _dated(path, model, entry) if day <= moment}
    return _priced(path, model, fitting[max(fitting)], moment) if fitting else None


def _entry(models: dict[str, Any], model: str) -> Any:
    """What a table says of a model: by its name, without its maker, without a date behind it."""
    known = {name.casefold(): entry for name, entry in models.items()}
    bare = model.casefold().rpartition("/")[2]
    for name in (model.casefold(), bare, DATED.sub("", bare)):
        if name in known:
            return known[name]
    version = family(model)  # a router's name of a Claude model, or a cloud's
    return next((entry for name, entry in known.items() if version and _is_plain(name, version)),
                None)


def _is_plain(name: str, version: str) -> bool:
    """Whether a name says this Claude model and nothing more, in either order."""
    return sorted(name.replace(".", "-").split("-")) == sorted(("claude", *version.split("-")))


def check_table(path: Path) -> None:
    """Read every row of a file. Raises BadPrices for the first that cannot be read."""
    for model, entry in _models(path).items():
        for day, row in _dated(path, model, entry):
            _priced(path, model, row, day)


def _dated(path: Path, model: str, entry: Any) -> list[tuple[datetime, dict[str, Any]]]:
    """The rows of a model: none, one, or one for each date, with the day from which they hold."""
    if _is_nothing(entry):
        return []
    rows = entry if isinstance(entry, list) else [entry]
    found = [(_since(path, model, row), row) for row in rows]
    days = [day for day, _ in found]
    if twice := next((day for n, day in enumerate(days) if day in days[:n]), None):
        since = "without a date" if twice.year == date.min.year else f"from {twice.date()}"
        raise BadPrices(f"{path}: {model}: two rows {since}")
    return found


def _is_nothing(value: Any) -> bool:
    return value is None or (isinstance(value, str) and value.lower() in NOTHING)


def _shown(value: Any) -> str:
    """A wrong value for a message: short, and without looking into what is nested."""
    return repr(value[:SHOWN]) if isinstance(value, str) else f"a {type(value).__name__}"


def _priced(path: Path, model: str, row: dict[str, Any], moment: datetime) -> PriceRow:
    estimated: dict[str, None] = {}
    tiers = [(0, _prices(path, model, row, {}, estimated))]
    for tier in _tiers(path, model, row):
        above = tier.get("above") if isinstance(tier, dict) else None
        if not isinstance(above, str) or not _TOKENS.fullmatch(above):
            raise BadPrices(f"{path}: {model}: a tier needs `above`, a whole number of tokens over "
                            "0")
        start = int(above)
        if start in [other for other, _ in tiers]:
            raise BadPrices(f"{path}: {model}: two tiers above {start:,} tokens")
        prices = {k: v for k, v in tier.items() if k != "above"}
        if wrong := sorted(set(OTHERS) & prices.keys()):
            raise BadPrices(f"{path}: {model}: {wrong[0]!r} does not belong into a tier")
        tiers.append((start, _prices(path, model, prices, row, estimated)))
    return PriceRow(model, tuple(sorted(tiers)), moment.date().isoformat(),
                    f"{USER_TABLE} {path.name}", tuple(estimated))


def _tiers(path: Path, model: str, row: dict[str, Any]) -> list[Any]:
    found = row.get("tiers")
    if _is_nothing(found):
        return []
    if not isinstance(found, list):
        raise BadPrices(f"{path}: {model}: tiers = {_shown(found)}: needs a list")
    return found


def _models(path: Path) -> dict[str, Any]:
    """The models of a file; every value is text, so that what is wrong is said with its key."""
    import yaml

    try:
        text = path.read_text("utf-8")
        _refuse_repeated(path, yaml.compose(text, yaml.BaseLoader))
        found = yaml.load(text, yaml.BaseLoader)  # makes texts, lists and mappings
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        raise BadPrices(f"{path}: no table of prices ({error})") from error
    models = found.get("models") if isinstance(found, dict) else None
    if not isinstance(models, dict):
        raise BadPrices(f"{path}: a table of prices begins with `models:` and a name for each row")
    return models


def _refuse_repeated(path: Path, node: Any) -> None:
    """YAML takes the last of two equal keys without a word; names of models know no case."""
    waiting: list[tuple[tuple[str, ...], Any]] = [((), node)]
    seen = set[int]()
    while waiting:
        place, found = waiting.pop()
        if found is None or isinstance(found.value, str) or id(found) in seen:
            continue
        seen.add(id(found))  # an alias is the same node again
        pairs = [pair for pair in found.value if isinstance(pair, tuple)]
        names = [str(key.value) for key, _ in pairs]
        keys = [name.casefold() for name in names] if place == ("models",) else names
        twice = [name for n, name in enumerate(names) if keys[n] in keys[:n]]
        if twice:
            where = ": ".join((str(path), *place))
            raise BadPrices(f"{where}: the key {_shown(twice[0])} stands twice")
        waiting += [((*place, name), value) for name, (_, value) in zip(names, pairs, strict=True)]
        waiting += [(place, item) for item in found.value if not isinstance(item, tuple)]


def _since(path: Path, model: str, row: Any) -> datetime:
    """The day from which a row holds; the first of all where it names none."""
    if not isinstance(row, dict):
        raise BadPrices(f"{path}: {model}: prices are a mapping, not {_shown(row)}")
    value = row.get("from", date.min.isoformat())
    day = _DAY.fullmatch(value) if isinstance(value, str) else None
    wrong = f"{path}: {model}: from = {_shown(value)}: needs a date such as 2026-01-31"
    if day is None:
        raise BadPrices(wrong)
    try:
        return datetime.fromisoformat(day[1]).replace(tzinfo=UTC)
    except ValueError as error:
        raise BadPrices(wrong) from error


def _prices(path: Path, model: str, row: dict[str, Any], base: dict[str, Any],
            estimated: dict[str, None]) -> Prices:
    """Prices of a row; a tier takes what it does not name from its base."""
    unknown = row.keys() - NAMES.keys() - set(OTHERS)
    if unknown:
        raise BadPrices(f"{path}: {model}: unknown key {_shown(min(unknown))}: "
                      f"choose one of {', '.join((*NAMES, *OTHERS))}")
    values = {name: _price(path, model, key, row.get(key, base.get(key)))
              for key, name in NAMES.items()}
    try:
        return filled(values, bool(family(model)), estimated)
    except NoPrice as error:
        raise BadPrices(f"{path}: {model}: needs an input price") from error


def _price(path: Path, model: str, key: str, value: Any) -> Decimal | None:
    if _is_nothing(value):
        return None
    try:
        price = Decimal(value) if isinstance(value, str) else Decimal("NaN")
    except InvalidOperation as error:
        raise BadPrices(f"{path}: {model}: {key} = {_shown(value)} is no price") from error
    if not (price.is_finite() and 0 <= price <= MOST_PRICE):
        raise BadPrices(f"{path}: {model}: {key} = {_shown(value)}: a price is 0 or more, in USD "
                        f"per million tokens, at most {MOST_PRICE:,}")
    return price
