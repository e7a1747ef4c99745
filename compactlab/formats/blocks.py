"""Content of Anthropic messages, as decoded JSON, into blocks."""

from __future__ import annotations

from collections import Counter
from typing import Any

from compactlab.formats.chat import id_of, text_of
from compactlab.formats.images import picture_in, size_of
from compactlab.pieces.wire import FILE_SCHEME, REDACTED
from compactlab.session import (
    Block,
    Image,
    Opaque,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    compact_json,
)

ODD = "odd_block"  # no object, out of place, or nested beyond reason


def blocks_of(content: Any, skipped: Counter[str]) -> list[Block]:
    """The blocks of a message's `content`, a string or a list; counts what it cannot read."""
    if isinstance(content, str):
        return [Text(content)]
    if content is None:
        return []
    found: list[Block] = []
    for item in content if isinstance(content, list) else [content]:
        block = _block(item, skipped)
        if block is None:
            skipped[ODD] += 1
        else:
            found.append(block)
    return found


def _block(item: Any, skipped: Counter[str]) -> Block | None:
    if isinstance(item, str):
        return Text(item)
    if not isinstance(item, dict):
        return None
    kind = item.get("type")
    if kind == "tool_use":
        arguments = _json(item.get("input", {}), skipped)
        return ToolCall(id_of(item.get("id")), text_of(item, "name"), arguments)
    if kind == "tool_result":
        return _result(item, skipped)
    if kind == "thinking":
        return Thinking(text_of(item, "thinking"), text_of(item, "signature"))
    return _part(item, kind, skipped)


def _result(item: dict[str, Any], skipped: Counter[str]) -> ToolResult:
    content = blocks_of(item.get("content"), skipped)
    parts = tuple(part for part in content if isinstance(part, Text | Image | Opaque))
    if len(parts) < len(content):
        skipped[ODD] += len(content) - len(parts)
    return ToolResult(id_of(item.get("tool_use_id")), parts, item.get("is_error") is True)


def _part(item: dict[str, Any], kind: Any, skipped: Counter[str]) -> Text | Image | Opaque:
    """A block that may also stand in a tool result; what nobody knows is kept as JSON."""
    if kind == "text" and isinstance(item.get("text"), str):
        return Text(item["text"])
    if kind == REDACTED and isinstance(item.get("data"), str):
        return Opaque(item["data"], REDACTED)
    if kind == "image" and isinstance(item.get("source"), dict):
        return _image(item["source"])
    found = picture_in(item)  # of another client
    if found is not None:
        return found
    return Opaque(_json(item, skipped), kind if isinstance(kind, str) else "")


def _image(source: dict[str, Any]) -> Image:
    if source.get("type") == "url":
        return Image(data=text_of(source, "url"))
    if source.get("type") == "file":
        return Image(data=FILE_SCHEME + text_of(source, "file_id"))
    data = text_of(source, "data")
    width, height = size_of(data)
    return Image(width, height, text_of(source, "media_type"), data)


def _json(value: Any, skipped: Counter[str]) -> str:
    """Compact JSON; a value nested so deep that nothing writes it is given up as `{}`."""
    try:
        return compact_json(value)
    except RecursionError:
        skipped[ODD] += 1
        return "{}"
