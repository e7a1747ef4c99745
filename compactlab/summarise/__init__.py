"""Summarisers: whatever writes the summary of a compaction, one file each; the folder lists them.

A summariser's file has its own name in `NAME`, a line on what it is for in `ABOUT`, and
`summarise(request) -> str`. Optionally `variant(text)` gives the summariser of `name:text`.
Files that begin with `_` are their parts.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

from compactlab.errors import UnknownName
from compactlab.strategy import Summariser

DEFAULT_SUMMARISER = "extractive"


@cache
def names() -> tuple[str, ...]:
    """The names of all summarisers, sorted; nothing is loaded."""
    files = Path(__file__).parent.glob("[!_]*.py")
    return tuple(sorted(file.stem for file in files))


def find(summariser: str | Summariser) -> tuple[str, Summariser]:
    """(name for the column `summariser`, the summariser); a callable is taken as it is.

    `name` or, where the file offers it, `name:variant`, such as `sized:0.10`. Raises UnknownName.
    """
    if not isinstance(summariser, str):
        return str(getattr(summariser, "__name__", type(summariser).__name__)), summariser
    name, colon, variant = summariser.partition(":")
    module = _module(name)
    if not colon:
        found: Summariser = module.summarise
        return name, found
    if not hasattr(module, "variant"):
        raise UnknownName("summariser", summariser, names())
    made: Summariser = module.variant(variant)
    return summariser, made


def about(name: str) -> str:
    """One line that says what a summariser is for. Raises UnknownName."""
    line: str = _module(name.partition(":")[0]).ABOUT
    return line


def _module(name: str) -> ModuleType:
    if name not in names():
        raise UnknownName("summariser", name, names())
    return import_module(f"{__name__}.{name}")
