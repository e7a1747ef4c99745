"""Which blocks of a request can carry a cache mark, which ones do, and how one is set."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

Json = dict[str, Any]
MOST_MARKS = 4  # over tools, system and messages
NEVER = frozenset({"thinking", "redacted_thinking"})  # 400: extra inputs are not permitted
MARKER = "cache_control"
WHOLE = -1  # the item itself, not one of its blocks
TEXT = -2  # a string that becomes one text block


class Place(NamedTuple):
    """A place for a mark: section (tools, system, messages), index in it, block in that.

    Section request: the API's own top-level mark, which takes one of the slots. `block` -1 = on
    the item itself, -2 = its text becomes a block.
    """

    section: str
    item: int
    block: int


def can_carry(block: object) -> bool:
    """Whether the API takes a mark on this block: no thinking, no empty text."""
    kind = block.get("type") if isinstance(block, dict) else None
    if not isinstance(block, dict) or not isinstance(kind, str) or kind in NEVER:
        return False
    if kind == "text":
        return bool(str(block.get("text") or "").strip())
    return bool(kind)


def last_block(content: object) -> int | None:
    """The last block of a content that can carry a mark; TEXT for a string; None without one."""
    if isinstance(content, str):
        return TEXT if content.strip() else None
    if isinstance(content, list):
        return next((i for i in reversed(range(len(content))) if can_carry(content[i])), None)
    return None


def message_place(messages: list[Json], index: int) -> Place | None:
    """Where a message can carry a mark."""
    found = last_block(messages[index].get("content"))
    return Place("messages", index, found) if found is not None else None


def literal_place(messages: list[Json], index: int, native: bool) -> Place | None:
    """Where the published table puts a message's mark, whether it can carry it or not."""
    message = messages[index]
    content = message.get("content")
    if message.get("role") == "tool":
        return Place("messages", index, WHOLE) if native else None
    if isinstance(content, str) and content:
        return Place("messages", index, TEXT)
    if isinstance(content, list) and content:
        last = len(content) - 1
        return Place("messages", index, last) if isinstance(content[last], dict) else None
    return Place("messages", index, WHOLE)


def literal_system(content: object) -> Place | None:
    """Where it puts the mark of a system prompt that stands in a field of its own."""
    if isinstance(content, str):
        return Place("system", 0, TEXT)
    if isinstance(content, list) and content and isinstance(content[-1], dict):
        return Place("system", 0, len(content) - 1)
    return None


def drop_refused(request: Json) -> None:
    """Take away marks that are there on blocks that the API refuses them on."""
    for place, _ in own_marks(request):
        if place.block >= 0 and not can_carry(_holder(request, place)):
            put(request, place, None)


def put(request: Json, place: Place, marker: Json | None, *, replace: bool = False) -> None:
    """Set a mark, or take it away (None); one that is there stays unless `replace`."""
    holder = _holder(request, place)
    if marker is None:
        holder.pop(MARKER, None)
    elif replace or not isinstance(holder.get(MARKER), dict):
        holder[MARKER] = marker


def _holder(request: Json, place: Place) -> Json:
    """The object on which the mark stands; a text becomes a block for it."""
    if place.section == "request":
        return request
    if place.section == "system":
        key, item = "system", request
    else:
        item = request[place.section][place.item]
        key = "content"
    if place.block == WHOLE:
        return item
    if place.block == TEXT:
        if isinstance(item[key], str):
            item[key] = [{"type": "text", "text": item[key]}]
        holder: Json = item[key][-1]
        return holder
    found: Json = item[key][place.block]
    return found


def own_marks(request: Json) -> list[tuple[Place, Json]]:
    """Every mark of a request with its place: tools, system, messages, the request's own last."""
    return list(_marks(request))


def places_with_marks(request: Json) -> list[Place]:
    """The places of `own_marks`."""
    return [place for place, _ in _marks(request)]


def _marks(request: Json) -> Iterator[tuple[Place, Json]]:
    for index, tool in enumerate(request.get("tools") or ()):
        yield from _of(Place("tools", index, WHOLE), tool)
    yield from _content("system", 0, request.get("system"))
    for index, message in enumerate(request.get("messages") or ()):
        yield from _content("messages", index, message.get("content"))
        yield from _of(Place("messages", index, WHOLE), message)
    yield from _of(Place("request", 0, WHOLE), {MARKER: request.get(MARKER)})


def _content(section: str, index: int, content: object) -> Iterator[tuple[Place, Json]]:
    for number, block in enumerate(content if isinstance(content, list) else ()):
        yield from _of(Place(section, index, number), block)


def _of(place: Place, item: object) -> Iterator[tuple[Place, Json]]:
    if isinstance(item, dict) and isinstance(item.get(MARKER), dict):
        yield place, item[MARKER]
