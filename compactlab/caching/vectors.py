"""Worked examples of prompt caching from a JSON file, and how far the simulator differs.

Format "compactlab cache vectors v1": vectors with a provider, prices (USD per million tokens),
settings of the provider's rule (`config`), and variants; a variant has requests with what each
one is expected to read, write, leave uncached, and cost.
"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from compactlab.caching.money import Prices, cost
from compactlab.caching.parts import CacheBlock, CacheMark, CacheRequest, Served
from compactlab.caching.rules import name_of
from compactlab.caching.simulator import Simulator
from compactlab.errors import BadSession, BadSetting, CompactlabError

FORMAT = "compactlab cache vectors v1"
OWN_NAMES = frozenset({"provider", "tree"})  # what a simulator is made of, no settings
PRICES = frozenset({"in", "read", "w5", "w1", "write", "out"})
MOST_USD = 10**15
DEFAULT_WRITE = {"5m": Decimal("1.25"), "1h": Decimal(2)}  # times input, where a vector is silent


class Difference(NamedTuple):
    """One expected figure that did not come out; `request` is -1 for the whole variant."""

    vector: str
    variant: str
    request: int
    field: str
    expected: str
    found: str


class Checked(NamedTuple):
    """The result of a file: how many requests were compared, and every difference."""

    vectors: int
    requests: int
    differences: tuple[Difference, ...]


class _Request(msgspec.Struct):
    t: float
    blocks: list[tuple[str, int, str, str]]
    breakpoints: list[tuple[int, str]] = []
    duration: float = 0.0
    ttft: float = 0.0
    params: dict[str, Any] = {}
    output: list[tuple[str, int, str, str]] = []
    expect: dict[str, Any] = {}
    model: str = ""
    scope: str = ""


class _Variant(msgspec.Struct):
    name: str
    requests: list[_Request]
    config: dict[str, Any] = {}


class _Vector(msgspec.Struct):
    id: str
    provider: str
    variants: list[_Variant]
    prices: dict[str, str] = {}
    config: dict[str, Any] = {}
    title: str = ""


class _File(msgspec.Struct):
    format: str
    vectors: list[_Vector]


def check_file(path: Path | str) -> Checked:
    """Run every vector of a file; BadSession where it is no file of vectors."""
    try:
        text = Path(path).read_bytes()
        found = msgspec.json.decode(text, type=_File)
    except (OSError, msgspec.DecodeError, RecursionError) as error:
        raise BadSession(f"{path}: no file of cache vectors ({error})") from error
    if found.format != FORMAT:
        raise BadSession(f"{path}: format {found.format!r}, expected {FORMAT!r}")
    differences: list[Difference] = []
    requests = 0
    for vector in found.vectors:
        for variant in vector.variants:
            requests += len(variant.requests)
            try:
                differences += _check(vector, variant)
            except CompactlabError as error:
                differences.append(_no_answer(vector, variant, str(error)))
            except (ArithmeticError, LookupError, TypeError, ValueError, RecursionError) as error:
                differences.append(
                    _no_answer(vector, variant, f"{type(error).__name__}: {error}"))
    return Checked(len(found.vectors), requests, tuple(differences))


def _no_answer(vector: _Vector, variant: _Variant, why: str) -> Difference:
    return Difference(vector.id, variant.name, -1, "run", "an answer", why)


def _check(vector: _Vector, variant: _Variant) -> list[Difference]:
    config = {**vector.config, **variant.config}
    if own := OWN_NAMES & config.keys():
        raise BadSetting(f"{vector.provider} has no setting {min(own)!r}")
    simulator = Simulator(vector.provider, **config)
    name_of(vector.provider)
    prices = _prices(vector.prices) if vector.prices else None
    found = []
    for number, request in enumerate(variant.requests):
        served = simulator.send(_request(request))
        for field, expected in request.expect.items():
            value = _value(served, field, prices)
            same = value == (_number(field, expected) if isinstance(value, Decimal) else expected)
            if not same:
                found.append(Difference(vector.id, variant.name, number, field, str(expected),
                                        str(value)))
    return found


def _request(raw: _Request) -> CacheRequest:
    return CacheRequest(
        raw.t, tuple(CacheBlock(*b) for b in raw.blocks),
        tuple(CacheMark(*m) for m in raw.breakpoints), raw.ttft, raw.duration, raw.model, raw.scope,
        raw.params, tuple(CacheBlock(*b) for b in raw.output))


def _value(served: Served, field: str, prices: Prices | None) -> object:
    if field == "write":
        return served.write_5m + served.write_1h
    if field in ("read", "write_5m", "write_1h", "uncached", "cause", "total"):
        return getattr(served, field)
    if field in ("status", "error"):
        return 400 if served.error else 200
    if field == "cost_usd" and prices is not None:
        if served.error:
            return Decimal(0)
        return cost(prices, read=served.read, write_5m=served.write_5m, write_1h=served.write_1h,
                    uncached=served.uncached)
    raise BadSetting(f"a vector expects {field!r}, which no request has")


def _prices(raw: dict[str, str]) -> Prices:
    """Prices by the names of the file: in, read, w5, w1, write, out."""
    if "in" not in raw:
        raise BadSetting("prices need `in`, that of input")
    known = {name: _number(name, value) for name, value in raw.items() if name in PRICES}
    base = known["in"]
    return Prices(base, known.get("read", base),
                  known.get("w5", known.get("write", base * DEFAULT_WRITE["5m"])),
                  known.get("w1", known.get("write", base * DEFAULT_WRITE["1h"])),
                  known.get("out", Decimal(0)))


def _number(name: str, value: object) -> Decimal:
    try:
        found = Decimal(str(value))
    except InvalidOperation:
        found = Decimal("NaN")
    if found.is_nan() or abs(found) > MOST_USD:
        raise BadSetting(f"{name} = {value!r} is no amount in USD")
    return found
