"""The prompt of a summary call: the text blocks of one user message."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, partial
from pathlib import Path

from compactlab.history import Store
from compactlab.pieces.serialise import defused, serialise
from compactlab.session import Message, ToolCall
from compactlab.strategy import SummaryRequest

FOLDER = Path(__file__).parent / "prompts"


def summary_call(store: Store, messages: Sequence[Message], *, previous: str = "", limit: int,
                 focus: str = "") -> SummaryRequest:
    """The call of a summariser for these messages; see `summary_parts`."""
    parts = summary_parts(store, messages, previous=previous, limit=limit, focus=focus)
    return SummaryRequest(tuple(messages), parts, limit, store, previous, focus)


def summary_parts(store: Store, messages: Sequence[Message], *, previous: str = "", limit: int,
                  focus: str = "") -> tuple[str, ...]:
    """Instructions, earlier summary, one block per message, closing line; none of them is blank.

    `limit` is the answer limit in tokens and is named in the prompt. With `previous` the model is
    told to update it. Each message is serialised once in its life, so its tokens are counted once
    too. Template: VibeOS documentation, "Context compression", phase 3; the wording is our own.
    """
    task = template("update" if previous.strip() else "create")
    parts = [
        f"{task}\n\n{template('rules').replace('{limit}', str(limit))}\n\n{template('headings')}",
    ]
    if previous.strip():
        parts.append(f"<previous-summary>\n{defused(previous)}\n</previous-summary>")
    parts.extend(_serialised(store, messages))
    closing = template("closing")
    if focus.strip():
        closing = template("focus").replace("{focus}", defused(focus)) + "\n\n" + closing
    return (*parts, closing)


@cache
def template(name: str) -> str:
    """A prompt text of the folder `prompts`, read once."""
    return (FOLDER / f"{name}.txt").read_text(encoding="utf-8").strip()


def _serialised(store: Store, messages: Sequence[Message]) -> Iterator[str]:
    """The messages as text, the results labelled by the tools that gave them."""
    for message, tool in zip(messages, tool_names(messages), strict=True):
        text = store.once(message, ("serialised", tool), partial(serialise, tool=tool))
        if text:
            yield text


def tool_names(messages: Sequence[Message]) -> list[str]:
    """For each message the name of the tool whose result it is; empty where there is none.

    Pairs by open calls in order: ids repeat in real recordings.
    """
    waiting: dict[str, list[str]] = {}
    names = []
    for message in messages:
        name = ""
        if message.role == "tool":
            result = message.result
            queue = waiting.get(result.call_id) if result is not None else None
            name = queue.pop(0) if queue else ""
        else:
            for block in message.blocks:
                if isinstance(block, ToolCall):
                    waiting.setdefault(block.id, []).append(block.name)
        names.append(name)
    return names
