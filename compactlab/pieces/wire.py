"""Messages as the Anthropic Messages API takes them, and how long they are as JSON."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from weakref import ReferenceType, ref

import msgspec

from compactlab.counting import CHARS_PER_TOKEN
from compactlab.fold import Fold
from compactlab.history import History, Store
from compactlab.session import (
    Block,
    Image,
    Message,
    Opaque,
    Summary,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    compact_json,
)

IMAGE_TOKENS = 1500  # of every image, whatever its size: the layered system's own estimate
REDACTED = "redacted_thinking"
URL_SCHEMES = ("https://", "http://")
FILE_SCHEME = "file:"  # data of an image that stands in the provider's file store

Json = dict[str, Any]


def wire_messages(messages: Iterable[Message], *, full: bool = False) -> list[Json]:
    """The messages as values of the Anthropic Messages API.

    System messages are left out. Neighbours of one role are joined (`tool` counts as `user`), so
    that the results of one answer share a message; in a joined user message the results come
    first, since the API wants them directly behind their calls. A lone text block becomes a
    string; blank text and messages without content, which the API refuses, are not written. An
    input that is no JSON stands as its text. `full` adds what a request needs and an estimate of
    its length leaves out: signatures and the data of images.
    """
    joined: list[tuple[str, list[Block]]] = []
    for message in messages:
        blocks = _written(message)
        if not blocks:
            continue
        role = _role(message)
        if joined and joined[-1][0] == role:
            joined[-1][1].extend(blocks)
        else:
            joined.append((role, blocks))
    return [{"role": role, "content": _content(blocks, full)} for role, blocks in joined]


def wire_estimate(history: History) -> int:
    """Tokens by the layered system's estimate: characters of the JSON // 4, and 1,500 an image.

    The characters are those of `compact_json(wire_messages(history))`; only messages that were
    never measured in this place are visited.
    """
    chars, images, _, _ = history.fold(wire_fold(history.store))
    return chars // CHARS_PER_TOKEN + images * IMAGE_TOKENS


def wire_characters(history: History) -> int:
    """Characters of `compact_json(wire_messages(history))`, without writing it.

    Exact but for numbers such as 1e-05 in the arguments of one call when another message holds
    what only the slower writer takes (lone surrogates, whole numbers over 64 bits): it would
    then spell those numbers differently in all of them.
    """
    return history.fold(wire_fold(history.store))[0]


# -- values --------------------------------------------------------------------------------------


def _role(message: Message) -> str:
    return "assistant" if message.role == "assistant" else "user"


def _written(message: Message) -> list[Block]:
    """The blocks that are written: none of a system message, and no blank text."""
    if message.role == "system":
        return []
    return [b for b in message.blocks if not _is_blank(b)]


def _is_blank(block: Block) -> bool:
    return isinstance(block, Text | Summary) and (not block.text or block.text.isspace())


def _parts(result: ToolResult) -> tuple[Text | Image | Opaque, ...]:
    """What is written of a result: of several parts no blank text."""
    parts = result.content
    return parts if len(parts) < 2 else tuple(p for p in parts if not _is_blank(p))


def _content(blocks: list[Block], full: bool) -> str | list[Json]:
    if len(blocks) == 1 and isinstance(blocks[0], Text | Summary):
        return blocks[0].text
    results_first = sorted(blocks, key=lambda block: not isinstance(block, ToolResult))
    return [_value(block, full) for block in results_first]


def _value(block: Block, full: bool) -> Json:
    if isinstance(block, Text | Summary):
        return {"type": "text", "text": block.text}
    if isinstance(block, ToolCall):
        return {"type": "tool_use", "id": block.id, "name": block.name, "input": block.parsed()}
    if isinstance(block, ToolResult):
        return _result(block, full)
    if isinstance(block, Thinking):
        value = {"type": "thinking", "thinking": block.text}
        return {**value, "signature": block.signature} if full and block.signature else value
    return _opaque(block) if isinstance(block, Opaque) else _image(block, full)


def _opaque(block: Opaque) -> Json:
    """Redacted thinking; of another form, the block that its data holds as JSON, if it does."""
    if block.form and block.form != REDACTED:
        try:
            value = msgspec.json.decode(block.data)
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            value = None
        if isinstance(value, dict) and value.get("type") == block.form:
            return value
    return {"type": block.form or REDACTED, "data": block.data}


def _result(result: ToolResult, full: bool) -> Json:
    parts = _parts(result)
    value: Json = {"type": "tool_result", "tool_use_id": result.call_id}
    if len(parts) == 1 and isinstance(parts[0], Text):
        value["content"] = parts[0].text
    else:
        value["content"] = [_value(part, full) for part in parts]
    if result.is_error:
        value["is_error"] = True
    return value


def _image(image: Image, full: bool) -> Json:
    value: Json = {"type": "image"}
    if full and image.data.startswith(URL_SCHEMES):
        value["source"] = {"type": "url", "url": image.data}
    elif full and image.data.startswith(FILE_SCHEME):
        value["source"] = {"type": "file", "file_id": image.data.removeprefix(FILE_SCHEME)}
    elif full:
        value["source"] = {"type": "base64", "media_type": image.media_type, "data": image.data}
    return value


# -- lengths -------------------------------------------------------------------------------------

Measure = tuple[int, bool, int]  # characters of the blocks joined by commas, lone text?, images
State = tuple[int, int, str, bool]  # characters, images, role of the last message, lone text?

START: State = (len("[]"), 0, "", False)
_AROUND_TEXT = len('{"type":"text","text":}')
_AROUND_CALL = len('{"type":"tool_use","id":,"name":,"input":}')
_AROUND_RESULT = len('{"type":"tool_result","tool_use_id":,"content":}')
_AROUND_THINKING = len('{"type":"thinking","thinking":}')
_AROUND_MESSAGE = {role: len(f'{{"role":"{role}","content":}}') for role in ("user", "assistant")}
_IS_ERROR = len(',"is_error":true')
_IMAGE = len('{"type":"image"}')
_BRACKETS = len("[]")
_KEY = "wire"


class _Step(msgspec.Struct, frozen=True):
    """The fold's step for one store, whose memo keeps the measure of each message.

    The reference is weak, since the store keeps the fold: a finished session goes at once.
    """

    store: ReferenceType[Store]

    def __call__(self, state: State, message: Message, index: int) -> State:
        store = self.store()
        size, lone, more = (
            _measure(message) if store is None else store.once(message, _KEY, _measure))
        if not size:
            return state
        chars, images, last, was_lone = state
        role = _role(message)
        if role == last:
            chars += size + 1  # a comma before it
            if was_lone:  # the string before it becomes a block in a list
                chars += _AROUND_TEXT + _BRACKETS
            return chars, images + more, role, False
        chars += _AROUND_MESSAGE[role] + (1 if last else 0)
        chars += size - _AROUND_TEXT if lone else size + _BRACKETS
        return chars, images + more, role, lone


def wire_fold(store: Store) -> Fold[State]:
    """The running length for the histories of a store: (characters, images, ...); one a store."""
    return store.remember(_KEY, lambda: Fold(_KEY, START, _Step(ref(store))))


def _measure(message: Message) -> Measure:
    blocks = _written(message)
    size, images = len(blocks) - 1, 0
    for block in blocks:
        chars, more = _size(block)
        size += chars
        images += more
    lone = len(blocks) == 1 and isinstance(blocks[0], Text | Summary)
    return max(size, 0), lone, images


def _size(block: Block) -> tuple[int, int]:
    """(characters, images) of a block's JSON."""
    if isinstance(block, Text | Summary):
        return _AROUND_TEXT + _text_size(block.text), 0
    if isinstance(block, ToolCall):
        return (_AROUND_CALL + _text_size(block.id) + _text_size(block.name)
                + len(compact_json(block.parsed()))), 0
    if isinstance(block, ToolResult):
        return _result_size(block)
    if isinstance(block, Thinking):
        return _AROUND_THINKING + _text_size(block.text), 0
    if isinstance(block, Opaque):
        return len(compact_json(_opaque(block))), 0
    return _IMAGE, 1


def _result_size(result: ToolResult) -> tuple[int, int]:
    parts = _parts(result)
    size = _AROUND_RESULT + _text_size(result.call_id) + (_IS_ERROR if result.is_error else 0)
    if len(parts) == 1 and isinstance(parts[0], Text):
        return size + _text_size(parts[0].text), 0
    sizes = [_size(part) for part in parts]
    commas = max(len(parts) - 1, 0)
    return (size + _BRACKETS + commas + sum(chars for chars, _ in sizes),
            sum(images for _, images in sizes))


def _text_size(text: str) -> int:
    """Characters of the text as a JSON string, quotes included, non-ASCII unescaped."""
    try:
        encoded = msgspec.json.encode(text)
    except UnicodeEncodeError:  # lone surrogates
        return len(compact_json(text))
    return len(encoded) if text.isascii() else len(encoded.decode())
