"""A strategy's field declared once: default, range, unit, group, source and fixed value."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from compactlab.errors import BadSetting

Group = Literal["main", "advanced", "fix"]
_KEY = "compactlab"


@dataclass(frozen=True)
class Setting:
    """What is known of one field; `fixed` is its value in the `-fixed` preset, if it has one.

    `binds` names the setting whose default a fixed floor or cap binds: where that one is given
    explicitly, it wins and the fixed value is left out.
    """

    name: str
    default: Any
    help: str
    unit: str = ""
    low: float | None = None
    high: float | None = None
    choices: tuple[Any, ...] = ()
    group: Group = "main"
    source: str = ""
    fixed: Any = None
    clamp: bool = False
    binds: str = ""

    def check(self, value: Any, owner: str) -> Any:
        """The value, clamped where the setting allows it; BadSetting when it does not fit."""
        if self.choices and value not in self.choices:
            valid = ", ".join(map(str, self.choices))
            raise BadSetting(f"{owner}.{self.name} = {value!r}: choose one of {valid}")
        if value is None and self.default is None:
            return value
        wanted = type(self.default)
        if wanted in (int, float, bool) and not _fits(value, wanted):
            raise BadSetting(f"{owner}.{self.name} = {value!r}: needs a value of type "
                             f"{wanted.__name__}{self.range_text()}")
        if isinstance(value, int | float) and not isinstance(value, bool):
            return self._in_range(value, owner)
        return value

    def _in_range(self, value: float, owner: str) -> float:
        low = self.low if self.low is not None else value
        high = self.high if self.high is not None else value
        if low <= value <= high:
            return value
        if not self.clamp:
            raise BadSetting(f"{owner}.{self.name} = {value!r}: out of range{self.range_text()}")
        kept = min(max(value, low), high)
        warnings.warn(f"{owner}.{self.name} = {value!r} is clamped to {kept}", stacklevel=4)
        return kept

    def range_text(self) -> str:
        """The range in words, with the unit; empty where there is none."""
        unit = f" {self.unit}" if self.unit else ""
        if self.low is not None and self.high is not None:
            return f" ({self.low} to {self.high}{unit})"
        if self.low is not None:
            return f" (at least {self.low}{unit})"
        return f" (at most {self.high}{unit})" if self.high is not None else ""


def _fits(value: Any, wanted: type) -> bool:
    if wanted is bool or isinstance(value, bool):
        return wanted is bool and isinstance(value, bool)
    if wanted is float:
        return isinstance(value, int | float) and value == value
    return isinstance(value, int)


def setting(
    default: Any,
    help: str,
    *,
    unit: str = "",
    low: float | None = None,
    high: float | None = None,
    choices: Sequence[Any] = (),
    group: Group = "main",
    source: str = "",
    fixed: Any = None,
    clamp: bool = False,
    binds: str = "",
) -> Any:
    """A dataclass field that carries its declaration; use it as the field's value."""
    declared = Setting("", default, help, unit, low, high, tuple(choices), group, source, fixed,
                       clamp, binds)
    return dataclasses.field(default=default, metadata={_KEY: declared})


def settings_of(strategy: Any) -> tuple[Setting, ...]:
    """The declared settings of a strategy (class or value), in the order of its fields."""
    return _declared(strategy if isinstance(strategy, type) else type(strategy))


@cache
def _declared(strategy: type[Any]) -> tuple[Setting, ...]:
    return tuple(
        dataclasses.replace(field.metadata[_KEY], name=field.name)
        for field in dataclasses.fields(strategy)
        if _KEY in field.metadata
    )


def check_settings(strategy: Any) -> None:
    """Check every setting of a frozen dataclass; call it in `__post_init__`."""
    owner = getattr(strategy, "name", type(strategy).__name__)
    for declared in settings_of(strategy):
        value = getattr(strategy, declared.name)
        kept = declared.check(value, owner)
        if kept is not value:
            object.__setattr__(strategy, declared.name, kept)
