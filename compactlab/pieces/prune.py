"""Shorter copies of tool results: placeholders and cuts, always made from the recorded message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from compactlab.history import History
from compactlab.session import Message, Text, ToolResult
from compactlab.strategy import Compaction, changed

CUT_CHARS = "[... {n} characters truncated ...]"
CUT_MARK = "[... {n} lines truncated ...]"


def result_chars(message: Message) -> int:
    """Characters of text in a tool result; 0 for any other message."""
    result = message.result
    if result is None:
        return 0
    return sum(len(part.text) for part in result.content if isinstance(part, Text))


def standing(history: History, places: Sequence[int]) -> dict[int, Message]:
    """The messages at these places (ascending, at least one), by place."""
    first = places[0]
    tail = history.since(first)
    return {place: tail[place - first] for place in places}


def exchanged(history: History, strategy: str, copies: Mapping[int, Message],
              **what: Any) -> Compaction:
    """The compaction that puts copies in the places of messages; `what`: its other fields."""
    first = min(copies)
    tail = [copies.get(at, m) for at, m in enumerate(history.since(first), first)]
    return changed(history, strategy, first, tail, **what)


def placeholder(message: Message, text: str) -> Message:
    """The tool message with `text` in place of its whole content, images included."""
    result = message.result
    call_id = result.call_id if result else ""
    is_error = result.is_error if result else False
    return Message("tool", (ToolResult(call_id, (Text(text),), is_error),), kind="placeholder",
                   id=message.id, time=message.time, source=message.original)


@dataclass(frozen=True)
class Cut:
    """Keep the first `head` and last `tail` lines of each text of a tool result.

    With `chars` > 0 what is still longer keeps so many characters: its first and last half.
    """

    head: int
    tail: int
    chars: int = 0

    def text(self, text: str) -> str:
        """The text with its middle lines replaced by one marker; short texts stay whole.

        Lines end in line feeds; a final one opens no line and is kept.
        """
        kept = self._lines(text)
        if not self.chars or len(kept) <= self.chars:
            return kept
        half = self.chars // 2
        gone = len(kept) - 2 * half
        return f"{kept[:half]}\n{CUT_CHARS.format(n=gone)}\n{kept[len(kept) - half:]}"

    def _lines(self, text: str) -> str:
        if text.count("\n") < self.head + self.tail:
            return text
        body, end = (text[:-1], "\n") if text.endswith("\n") else (text, "")
        lines = body.split("\n")
        gone = len(lines) - self.head - self.tail
        if gone <= 0:
            return text
        kept = [*lines[: self.head], CUT_MARK.format(n=gone), *lines[len(lines) - self.tail :]]
        return "\n".join(kept) + end

    def message(self, message: Message) -> Message:
        """The cut copy of a tool message, or the message itself when nothing is too long."""
        origin = message.original
        result = origin.result
        if result is None:
            return message
        content = tuple(
            Text(self.text(part.text)) if isinstance(part, Text) else part
            for part in result.content
        )
        if content == result.content:
            return message
        cut = ToolResult(result.call_id, content, result.is_error)
        return Message("tool", (cut,), kind="cut", id=origin.id, time=origin.time, source=origin)
