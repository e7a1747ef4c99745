"""A message as cache blocks: their keys, their share of its tokens, which ones carry marks."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import accumulate
from typing import NamedTuple

from compactlab.counting import MESSAGE_OVERHEAD, weight
from compactlab.history import Store
from compactlab.session import Block, Image, Message, Opaque, Summary, Text, Thinking, ToolCall
from compactlab.session import ToolResult as Result

THINKING = "thinking"
KINDS: dict[type, str] = {Text: "text", Summary: "text", Thinking: THINKING, Image: "image",
                          Opaque: THINKING, ToolCall: "tool_use", Result: "tool_result"}


class Shape(NamedTuple):
    """`blocks`: (key, tokens, kind); `mark`: index of the last one that can carry a mark, or -1.

    `literal`: the block on which the published table's mark takes effect, -1 where it is lost.
    `turn`: a user's message, behind which some models strip all earlier thinking.
    """

    blocks: tuple[tuple[Hashable, int, str], ...]
    mark: int
    literal: int
    role: str
    turn: bool
    image: bool


def shape(store: Store, message: Message) -> Shape:
    """The blocks of a message; their tokens add up to the message's own."""
    if not message.blocks:
        empty = ((message.role, "empty"), store.tokens(message), "text")
        return Shape((empty,), -1, -1, message.role, message.role == "user", False)
    tokens = _shared_out(store, message)
    blocks = tuple((_key((message.role, i, len(tokens)), block), size, KINDS[type(block)])
                   for i, (block, size) in enumerate(zip(message.blocks, tokens, strict=True)))
    carriers = [i for i, block in enumerate(message.blocks) if _carries(block)]
    said = [i for i, b in enumerate(message.blocks) if isinstance(b, Text | Summary | Image)]
    if message.role == "tool":
        said = carriers
    literal = said[-1] if said and said[-1] in carriers else -1
    return Shape(blocks, carriers[-1] if carriers else -1, literal, message.role,
                 message.starts_turn,
                 any(_has_image(block) for block in message.blocks))


def _shared_out(store: Store, message: Message) -> list[int]:
    """Tokens of each block; a recorded total is shared out in proportion to their counts."""
    total = store.tokens(message)
    if len(message.blocks) == 1:
        return [total]
    sizes = []
    for block in message.blocks:
        found = weight(Message(message.role, (block,)))
        sizes.append(store.count_all(tuple(found.texts)) + found.beside - MESSAGE_OVERHEAD)
    whole = sum(sizes)
    if whole + MESSAGE_OVERHEAD == total:
        return [sizes[0] + MESSAGE_OVERHEAD, *sizes[1:]]
    if whole <= 0:
        return [0] * (len(sizes) - 1) + [total]
    ends = [round(total * part / whole) for part in accumulate(sizes)]
    return [end - start for start, end in zip([0, *ends], ends, strict=False)]


def _key(place: tuple[str, int, int], block: Block) -> Hashable:
    """Place in its message and content alone: no signature, nothing that marks a summary."""
    if isinstance(block, Text | Summary):
        return *place, "text", block.text
    if isinstance(block, Thinking):
        return *place, THINKING, block.text
    return *place, block


def _carries(block: Block) -> bool:
    if isinstance(block, Text | Summary):
        return bool(block.text.strip())
    return not isinstance(block, Thinking | Opaque)


def _has_image(block: Block) -> bool:
    if isinstance(block, Result):
        return any(isinstance(part, Image) for part in block.content)
    return isinstance(block, Image)
