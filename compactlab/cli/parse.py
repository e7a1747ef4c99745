"""What a user types, as values: windows, lists of names, settings."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from compactlab.errors import BadSetting

if TYPE_CHECKING:
    from compactlab.bench.billed import CacheOptions

_WINDOW = re.compile(r"([0-9]+(?:_[0-9]+)*)(?:\.([0-9]+))?([kKmM]?)")
_PERCENT = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,6})?)\s*%?")
MOST_PERCENT = 100
LONGEST = 40  # characters of a window
_FACTORS = {"": 1, "k": 1_000, "m": 1_000_000}


def names(texts: Iterable[str]) -> list[str]:
    """The names in comma-separated texts, each once, in their order."""
    found = [name.strip() for text in texts for name in text.split(",")]
    return list(dict.fromkeys(name for name in found if name))


def window(text: str) -> int:
    """Tokens of one window: 32000, 32_000, 32K, 1.5K or 1M (K = 1,000). Raises BadSetting."""
    found = _WINDOW.fullmatch(text.strip())
    if found is None or len(text) > LONGEST:
        raise _no_window(text)
    whole, part, factor = found[1].replace("_", ""), found[2] or "", _FACTORS[found[3].lower()]
    scale: int = 10 ** len(part)
    tokens, rest = divmod(int(whole + part) * factor, scale)
    if rest or tokens <= 0:
        raise _no_window(text)
    return tokens


def _no_window(text: str) -> BadSetting:
    return BadSetting(f"window {text.strip()!r}: needs a positive whole number of tokens, "
                      "such as 32000, 32K, 1.5K or 1M")


def windows(texts: Iterable[str]) -> list[int]:
    """The windows in comma-separated texts, each once, in their order."""
    found = [window(name) for name in names(texts)]
    if not found:
        raise BadSetting("no window: give some in tokens, such as 32000,64K,128K")
    return list(dict.fromkeys(found))


def shares(texts: Iterable[str]) -> list[float]:
    """Per cents in comma-separated texts (2, 5%) as shares, smallest first. Raises BadSetting."""
    found = []
    for name in names(texts):
        percent = _PERCENT.fullmatch(name)
        if percent is None or not 0 < float(percent[1]) <= MOST_PERCENT:
            raise BadSetting(f"budget {name!r}: needs a per cent above 0 and up to 100, such as 5")
        found.append(float(percent[1]) / MOST_PERCENT)
    if not found:
        raise BadSetting("no budget: give some in per cent, such as 1,2,5,10")
    return sorted(set(found))


def settings(texts: Iterable[str]) -> dict[str, Any]:
    """`name=value` texts as a dictionary; several values separated by commas become a list."""
    found: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or not all(part.isidentifier() for part in name.split(".")):
            raise BadSetting(f"setting {text!r}: write it as name=value, such as threshold=0.6")
        if name in found:
            raise BadSetting(f"setting {name!r} is given twice: several values are separated by "
                             f"commas, such as {name}=1,2")
        values = [_value(part) for part in value.split(",")]
        found[name] = values if len(values) > 1 else values[0]
    return found


def cache(texts: Iterable[str]) -> CacheOptions:
    """`name=value` texts as the options of the simulated cache. Raises BadSetting."""
    import dataclasses

    from compactlab.bench.billed import CacheOptions

    known = [field.name for field in dataclasses.fields(CacheOptions)]
    given: dict[str, str] = {}
    for text in texts:
        name, _, value = (part.strip() for part in text.partition("="))
        name = name.replace("-", "_")
        if name not in known:
            raise BadSetting(f"the cache has no option {name!r}: choose one of {', '.join(known)}")
        if not value:
            raise BadSetting(f"--cache {text!r}: write it as name=value, such as ttl=1h")
        if name in given:
            raise BadSetting(f"--cache {name} is given twice: a run takes one value")
        given[name] = value
    return CacheOptions(**given)


def _value(text: str) -> Any:
    text = text.strip()
    lowered = text.lower()
    if lowered in ("true", "false", "null", "none"):
        return {"true": True, "false": False}.get(lowered)
    try:
        found = json.loads(text)
    except ValueError:
        return text
    return found if isinstance(found, int | float | str) else text
