"""Figures and names in words, with one spelling for the terminal, tables, charts and the report."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

NONE = "–"  # stands for what is missing
HEAD_NAMES = {"in_log": "system prompt in the log", "inferred": "hidden head inferred",
              "unknown": "hidden head unknown"}  # columns: head_kind


def is_missing(value: Any) -> bool:
    """None, NaN or pandas' NA (which is neither equal nor unequal to itself)."""
    return value is None or type(value).__name__ == "NAType" or bool(value != value)


def number(value: Any) -> str:
    """A whole number with commas: 12,345."""
    return NONE if is_missing(value) else f"{int(value):,}"


def kilo(tokens: float) -> str:
    """Tokens in few letters: 850, 1.5K, 32K, 1.2M."""
    if is_missing(tokens):
        return NONE
    for size, letter in ((1_000_000, "M"), (1_000, "K")):
        if abs(tokens) >= size:
            return f"{tokens / size:.1f}".rstrip("0").rstrip(".") + letter
    return f"{tokens:.0f}"


def window_name(window: int) -> str:
    """A window in few letters; 0 stands for a replay without one."""
    return kilo(window) if window else "none"


def share(value: Any) -> str:
    """A share as a number between 0 and 1: 0.43."""
    return NONE if is_missing(value) else f"{float(value):.2f}"


def percent(value: Any, digits: int = 0, *, sign: bool = False) -> str:
    """A share in per cent: 43 %, with its `sign` +43 %; nothing has no sign."""
    return NONE if is_missing(value) else f"{_hundredths(value, digits, sign)} %"


def points(value: Any, digits: int = 1, *, sign: bool = False) -> str:
    """A difference of shares: 4.3 points."""
    return NONE if is_missing(value) else f"{_hundredths(value, digits, sign)} points"


def _hundredths(value: Any, digits: int, sign: bool = False) -> str:
    text = f"{100 * float(value):{'+' if sign else ''}.{digits}f}"
    return text if text.strip("+-0.") else text.lstrip("+-")  # no -0


def interval(mean: Any, low: float, high: float, digits: int = 0) -> str:
    """A mean share and its interval: 43 % [38, 47]; without one that is unknown or has no width."""
    ends = ""
    if low < high:
        ends = f" [{_hundredths(low, digits)}, {_hundredths(high, digits)}]"
    return percent(mean, digits) + ends


def less(saved: float, digits: int = 1) -> str:
    """A saved share: 12.3 % less; 0.3 % more where it is below 0."""
    return f"{percent(abs(saved), digits)} {'more' if saved < 0 else 'less'}"


def dollars(value: Any, digits: int = 2) -> str:
    """An amount in USD: $1,234.50."""
    return NONE if is_missing(value) else f"${float(value):,.{digits}f}"


def plural(count: int, noun: str) -> str:
    """1 file, 2 files."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def joined(values: Iterable[Any], most: int | None = None) -> str:
    """The distinct values in their order: a, b; behind `most` of them how many more; or none."""
    found = sorted({str(value) for value in values if not is_missing(value)})
    more = len(found) - most if most is not None else 0
    text = ", ".join(found[:most] if more > 0 else found) or "none"
    return f"{text} and {more:,} more" if more > 0 else text


def short(text: str, limit: int) -> str:
    """A text on one line of at most `limit` characters; an ellipsis stands where it is cut."""
    read = text[: 4 * limit]  # enough to fill the line once its white space is joined
    line = " ".join(read.split())
    return line if len(line) <= limit and len(read) == len(text) else line[: limit - 1] + "…"
