"""Phase 1 of the compressor: what is shortened in the middle before anything is summarised."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from compactlab.history import History
from compactlab.pieces.actions import main_argument, one_line
from compactlab.pieces.prune import placeholder, result_chars
from compactlab.session import Message, ToolCall, compact_json, pairs

CLEARED = "[Old tool output cleared to save context space]"
INFORMED = "[Old output of {what} cleared: {lines} lines, {chars} characters]"
REPEATED = "[Old output of {what} cleared: the same as a later one]"
SHORTENED = "{start}[... {n} characters cleared]"
ARGUMENT_CHARS = 80  # of the main argument that an informative placeholder names


class Pruned(NamedTuple):
    """The middle with its shorter copies, and how many results became placeholders."""

    messages: list[Message]
    cleared: int


def prune(history: History, middle: Sequence[Message], later: Sequence[Message], chars: int, *,
          informative: bool = False, argument_chars: int = 0) -> Pruned:
    """Tool results with more than `chars` characters of text become one-line placeholders.

    `informative` names the call and the size, and says when the same output stands once more
    further down (in the middle or in `later`). `argument_chars` > 0 shortens longer text in the
    arguments of calls, inside the parsed JSON; arguments that are no JSON are left alone.
    """
    whats = _what(middle) if informative else {}
    again = _repeated(middle, later) if informative else frozenset[int]()
    kept, cleared = [], 0
    for index, message in enumerate(middle):
        if (message.role == "tool" and message.kind != "placeholder"
                and (size := result_chars(message)) > chars):
            text = CLEARED if not informative else _line(
                message, whats.get(index, "a tool"), size, index in again)
            message = history.once(
                message, text, lambda m, t=text: placeholder(m, t))  # type: ignore[misc]
            cleared += 1
        elif argument_chars and message.role == "assistant":
            message = history.once(
                message, ("arguments", argument_chars), lambda m: _shorter(m, argument_chars))
        kept.append(message)
    return Pruned(kept, cleared)


def _line(message: Message, what: str, size: int, repeated: bool) -> str:
    if repeated:
        return REPEATED.format(what=what)
    return INFORMED.format(what=what, lines=message.text.count("\n") + 1, chars=size)


def _what(middle: Sequence[Message]) -> dict[int, str]:
    """Tool and main argument of the call behind each result, by the result's index."""
    found, paired = {}, pairs(middle)
    for index, caller in paired.caller.items():
        call = middle[caller].calls[paired.number[index]]
        argument = one_line(main_argument(call), ARGUMENT_CHARS)
        found[index] = f"{call.name} {argument}".strip()
    return found


def _repeated(middle: Sequence[Message], later: Sequence[Message]) -> frozenset[int]:
    """Indexes of results whose text stands once more behind them."""
    seen = {m.text for m in later if m.role == "tool"}
    found = set()
    for index in range(len(middle) - 1, -1, -1):
        if middle[index].role == "tool":
            text = middle[index].text
            if text in seen:
                found.add(index)
            seen.add(text)
    return frozenset(found)


def _shorter(message: Message, chars: int) -> Message:
    """The message with long text in its calls' arguments shortened; itself where none is long."""
    blocks = tuple(_shorter_call(b, chars) if isinstance(b, ToolCall) else b
                   for b in message.blocks)
    if blocks == message.blocks:
        return message
    return msgspec.structs.replace(message, blocks=blocks, kind="cut", source=message.original)


def _shorter_call(call: ToolCall, chars: int) -> ToolCall:
    parsed = call.parsed()
    if len(call.arguments) <= chars or not isinstance(parsed, dict | list):
        return call
    shorter = _shorter_value(parsed, chars)
    return call if shorter == parsed else ToolCall(call.id, call.name, compact_json(shorter))


def _shorter_value(value: Any, chars: int) -> Any:
    if isinstance(value, str) and len(value) > chars:
        return SHORTENED.format(start=value[:chars], n=len(value) - chars)
    if isinstance(value, dict):
        return {key: _shorter_value(item, chars) for key, item in value.items()}
    if isinstance(value, list):
        return [_shorter_value(item, chars) for item in value]
    return value
