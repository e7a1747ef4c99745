"""Where a request gets its cache breakpoints: real request dicts in, a marked copy out."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

from compactlab.caching.carriers import (
    MARKER,
    MOST_MARKS,
    WHOLE,
    Place,
    drop_refused,
    last_block,
    literal_place,
    literal_system,
    message_place,
    own_marks,
    places_with_marks,
    put,
)
from compactlab.errors import BadHistory, BadSetting, UnknownName

Json = dict[str, Any]
TTL_NAMES = ("5m", "1h")
NATIVE = frozenset({"anthropic", "claude"})
LAST_MESSAGES = {"system_and_3": 3, "system_and_3_fixed": 3, "tools_system_2": 2, "single": 1,
                 "automatic": 1}


def apply_cache_control(messages: list[Json], layout: str = "system_and_3", ttl: str = "5m",
                        provider: str = "anthropic") -> list[Json]:
    """A deep copy of the messages with breakpoints; the input is never changed.

    `layout` is a name of `LAYOUTS`, `ttl` "5m" or "1h". Marks that are there count: at most 4
    stay, the oldest ones of messages go first. Raises UnknownName, BadSetting, and BadHistory
    where marks that were there stand in an order that the API refuses.
    """
    marked = mark_request({"messages": messages}, layout, ttl, provider, top_level=False)
    found: list[Json] = marked["messages"]
    return found


def is_native(provider: str) -> bool:
    """Whether a mark on a whole message reaches the API: Anthropic's own, no router's."""
    return provider.lower() in NATIVE


def mark_request(request: Json, layout: str = "tools_system_2", ttl: str = "5m",
                 provider: str = "anthropic", *, top_level: bool = True) -> Json:
    """A marked deep copy of a whole request: `tools`, `system` and `messages`.

    `top_level`: `automatic` sets the API's own top-level `cache_control` instead of a block's.
    """
    place = LAYOUTS.get(layout)
    if place is None:
        raise UnknownName("cache layout", layout, LAYOUTS)
    if ttl not in TTL_NAMES:
        raise BadSetting(f"cache_ttl = {ttl!r}: choose one of {', '.join(TTL_NAMES)}")
    marked = deepcopy(request)
    messages = marked.get("messages")
    if not isinstance(messages, list) or not all(isinstance(m, dict) for m in messages):
        raise BadHistory("a request to mark needs a list of messages, each one a JSON object")
    tools = marked.get("tools")
    objects = isinstance(tools, list) and all(isinstance(tool, dict) for tool in tools)
    if tools is not None and not objects:
        raise BadHistory("the tools of a request to mark are a list of JSON objects")
    if place is not _system_and_3:  # the published table keeps what the API refuses
        drop_refused(marked)
    there = set(places_with_marks(marked))
    if layout == "automatic" and top_level:
        if not own_marks({MARKER: marked.get(MARKER)}):
            room = len(there) - len(_movable(marked)) < MOST_MARKS
            _thin(marked, MOST_MARKS - 1 if room else MOST_MARKS, there)
            end = _at_the_end(marked, ttl)
            if room:
                marked[MARKER] = _marker(end)
        return marked
    for target in place(marked, provider):
        put(marked, target, _marker(ttl))
    _thin(marked, MOST_MARKS, there)
    _order(marked, there, ttl)
    return marked


def _marker(ttl: str) -> Json:
    return {"type": "ephemeral", "ttl": "1h"} if ttl == "1h" else {"type": "ephemeral"}


# -- the layouts: where the marks go ---------------------------------------------------------------
def _none(request: Json, provider: str) -> list[Place]:
    return []


def _system_and_3(request: Json, provider: str) -> list[Place]:
    """The published table to the letter: a mark may land where it does nothing or is refused."""
    messages = request["messages"]
    system = [0] if messages and messages[0].get("role") == "system" else []
    others = [i for i, m in enumerate(messages) if m.get("role") != "system"]
    native = is_native(provider)
    found = [literal_place(messages, i, native) for i in (*system, *others[-3:])]
    if request.get("system"):  # the system prompt of a request in the API's own form
        found.insert(0, literal_system(request["system"]))
    return [place for place in found if place is not None]


def _system(request: Json) -> list[Place]:
    """The last block of the system prompt that can carry a mark, wherever it stands."""
    if request.get("system"):
        found = last_block(request["system"])
        return [Place("system", 0, found)] if found is not None else []
    leading = 0
    messages = request["messages"]
    while leading < len(messages) and messages[leading].get("role") == "system":
        leading += 1
    for index in reversed(range(leading)):
        place = message_place(messages, index)
        if place is not None:
            return [place]
    return []


def _last(request: Json, count: int) -> list[Place]:
    """The last messages that can carry a mark, the system prompt left out, oldest first."""
    found: list[Place] = []
    messages = request["messages"]
    for index in reversed(range(len(messages))):
        if len(found) == count:
            break
        if messages[index].get("role") != "system":
            place = message_place(messages, index)
            if place is not None:
                found.append(place)
    return found[::-1]


def _system_and_3_fixed(request: Json, provider: str) -> list[Place]:
    return _system(request) + _last(request, LAST_MESSAGES["system_and_3_fixed"])


def _tools_system_2(request: Json, provider: str) -> list[Place]:
    tools = request.get("tools")
    first = [Place("tools", len(tools) - 1, -1)] if tools else []
    return first + _system(request) + _last(request, LAST_MESSAGES["tools_system_2"])


def _single(request: Json, provider: str) -> list[Place]:
    return _last(request, 1) or _system(request)


LAYOUTS: dict[str, Callable[[Json, str], list[Place]]] = {
    "none": _none,
    "automatic": _single,  # the API walks back to the nearest block that can carry it
    "tools_system_2": _tools_system_2,
    "single": _single,
    "system_and_3": _system_and_3,
    "system_and_3_fixed": _system_and_3_fixed,
}


# -- four marks, an hour before five minutes
def _thin(request: Json, most: int, there: set[Place]) -> None:
    """Drop marks until no more than `most` are there: of messages, the oldest first, then new ones.

    BadHistory where those that were there before are too many already.
    """
    marks = places_with_marks(request)
    spare = _movable(request)
    added = [p for p in reversed(marks) if p not in there and p not in spare]
    for place in (*spare, *added)[: max(len(marks) - most, 0)]:
        put(request, place, None)
    left = len(places_with_marks(request))
    if left > most:
        raise BadHistory(f"{left} cache marks on tools and system prompt: at most {most} fit")


def _movable(request: Json) -> list[Place]:
    """The marks on messages behind the system prompt, oldest first."""
    return [p for p in places_with_marks(request) if p.section == "messages"
            and request["messages"][p.item].get("role") != "system"]


def _order(request: Json, there: set[Place], ttl: str) -> None:
    """Marks that were set here take the lifetime that those which were there allow."""
    marks = own_marks(request)
    for position, (place, _) in enumerate(marks):
        if place not in there:
            later = any(m.get("ttl") == "1h" for p, m in marks[position + 1:] if p in there)
            put(request, place, _marker(_fitting_at(marks[:position], there, ttl, later)),
                replace=True)
    _refuse_disorder(request)


def _fitting_at(earlier: list[tuple[Place, Json]], there: set[Place], ttl: str, later: bool) -> str:
    if any(m.get("ttl") != "1h" for p, m in earlier if p in there):
        return "5m"
    return "1h" if later else ttl


def _at_the_end(request: Json, ttl: str) -> str:
    """The lifetime of a mark behind all others: that of a mark on the very block, if there is one.
    """
    _refuse_disorder(request)
    end = _end(request)
    on_it = next((m for p, m in own_marks(request) if end is not None
                  and p[:2] == end[:2] and p.block in (end.block, WHOLE)), None)
    if on_it is not None:
        return "1h" if on_it.get("ttl") == "1h" else "5m"
    return "5m" if any(m.get("ttl") != "1h" for _, m in own_marks(request)) else ttl


def _end(request: Json) -> Place | None:
    """The last block that can carry a mark, whoever speaks: where the API puts its own."""
    messages = request["messages"]
    found = (message_place(messages, index) for index in reversed(range(len(messages))))
    return next((place for place in found if place is not None), None)


def _refuse_disorder(request: Json) -> None:
    short: Place | None = None
    for place, marker in own_marks(request):
        if marker.get("ttl") != "1h":
            short = short or place
        elif short is not None:
            raise BadHistory(
                f"a mark of 1h at {place.section}[{place.item}] comes after one of 5m at "
                f"{short.section}[{short.item}]: the API refuses that (400)")
