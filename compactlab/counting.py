"""What a message weighs: 4 tokens + its texts + images by their size + opaque blobs."""

from __future__ import annotations

from typing import NamedTuple

from compactlab.session import Block, Image, Message, Opaque, Text, ToolCall, ToolResult

MESSAGE_OVERHEAD = 4  # tokens that each message costs beside its blocks
UNKNOWN_IMAGE = 1500  # tokens of an image whose size the recording does not say
PIXELS_PER_TOKEN = 750
OPAQUE_CHARS_PER_TOKEN = 4
CHARS_PER_TOKEN = 4  # the rough estimate, where nothing is counted


class Weight(NamedTuple):
    """A message without its texts' tokens: its texts, the tokens beside them, the rough sizes.

    `beside`: 4 + images + opaque blobs. `chars` and `images` (tokens) are what the rough estimate
    adds up.
    """

    texts: list[str]
    beside: int
    chars: int
    images: int


def texts_of(message: Message) -> list[str]:
    """The texts of a message that a tokenizer counts, in their order."""
    return weight(message).texts


def weight(message: Message) -> Weight:
    """What a message weighs, and the texts that are still to be counted."""
    texts: list[str] = []
    others: list[Block] = []
    for block in message.blocks:
        kind = type(block)
        if kind is ToolCall:
            texts += (block.name, block.arguments)  # type: ignore[union-attr]  # by its kind
        elif kind is ToolResult:
            for part in block.content:  # type: ignore[union-attr]
                if type(part) is Text:
                    texts.append(part.text)
                else:
                    others.append(part)
        elif kind is Image or kind is Opaque:
            others.append(block)
        else:
            texts.append(block.text)  # type: ignore[union-attr]
    chars = sum(map(len, texts))
    if not others:
        return Weight(texts, MESSAGE_OVERHEAD, chars, 0)
    images = sum(image_tokens(part) for part in others if isinstance(part, Image))
    blobs = [len(part.data) for part in others if isinstance(part, Opaque)]
    beside = MESSAGE_OVERHEAD + images + sum(n // OPAQUE_CHARS_PER_TOKEN for n in blobs)
    return Weight(texts, beside, chars + sum(blobs), images)


def image_tokens(image: Image) -> int:
    """width * height / 750, fractions cut off; 1,500 where the size is unknown."""
    pixels = image.width * image.height
    return pixels // PIXELS_PER_TOKEN if pixels > 0 else UNKNOWN_IMAGE
