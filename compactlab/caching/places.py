"""The layouts for replays: which nodes of a prompt get a breakpoint; see `layouts` for requests."""

from __future__ import annotations

from collections.abc import Callable

from compactlab.caching.carriers import MOST_MARKS
from compactlab.caching.layouts import LAST_MESSAGES, LAYOUTS
from compactlab.caching.prefixes import Prefixes
from compactlab.caching.tree import ROOT
from compactlab.errors import UnknownName

Place = Callable[[Prefixes, int, bool], list[int]]
CLIENT = "client"  # what recorded clients do: marks within the head, one at the end
LITERAL = "system_and_3"


def placing(layout: str) -> Place:
    """The function of a layout: (prefixes, tail, native) -> nodes in the order of the prompt."""
    found = _PLACES.get(layout)
    if found is None:
        raise UnknownName("cache layout", layout, _PLACES)
    return found


def _none(prefixes: Prefixes, tail: int, native: bool) -> list[int]:
    return []


def _end(prefixes: Prefixes, tail: int, native: bool) -> list[int]:
    """The last block that can carry a mark."""
    where = prefixes.where
    here = where[tail]
    while not here.mark and here.before != ROOT:
        here = where[here.before]
    return [here.mark] if here.mark else []


def _client(prefixes: Prefixes, tail: int, native: bool) -> list[int]:
    return _joined(prefixes.head_marks[-(MOST_MARKS - 1):], _end(prefixes, tail, native))


def _joined(first: list[int], last: list[int]) -> list[int]:
    return [*first, *(node for node in last if node not in first)]


def _last(prefixes: Prefixes, tail: int, count: int) -> list[int]:
    found: list[int] = []
    node = tail
    while len(found) < count and node != prefixes.head and node != ROOT:
        here = prefixes.where[node]
        if here.mark and here.role != "system":
            found.append(here.mark)
        node = here.before
    return found[::-1]


def _system(prefixes: Prefixes, tail: int) -> list[int]:
    system = prefixes.where[tail].system
    return [system] if system else []


def _fixed(prefixes: Prefixes, tail: int, native: bool) -> list[int]:
    return _system(prefixes, tail) + _last(prefixes, tail, LAST_MESSAGES["system_and_3_fixed"])


def _tools_system_2(prefixes: Prefixes, tail: int, native: bool) -> list[int]:
    tools = [prefixes.tools] if prefixes.tools else []
    return _joined(_joined(tools, _system(prefixes, tail)),
                   _last(prefixes, tail, LAST_MESSAGES["tools_system_2"]))


def _literal(prefixes: Prefixes, tail: int, native: bool) -> list[int]:
    """The published table: a mark that lands on the message alone does nothing."""
    found: list[int] = []
    node = tail
    seen = 0
    while seen < LAST_MESSAGES[LITERAL] and node != prefixes.head and node != ROOT:
        here = prefixes.where[node]
        if here.role != "system":
            seen += 1
            if here.literal and (native or here.role != "tool"):
                found.append(here.literal)
        node = here.before
    first = prefixes.where[tail].first
    return ([first] if first else _system(prefixes, tail)) + found[::-1]


_PLACES: dict[str, Place] = {
    "none": _none, "automatic": _end, "single": _end, "tools_system_2": _tools_system_2,
    LITERAL: _literal, "system_and_3_fixed": _fixed, CLIENT: _client,
}
NAMES = (*LAYOUTS, CLIENT)
