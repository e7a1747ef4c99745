"""Controls that every summary must beat: the newest lines, random lines, a bag of anchors."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from zlib import crc32

from compactlab.history import Store
from compactlab.quality.anchors import found_in, lexicon, texts
from compactlab.session import Message
from compactlab.statistics import SEED

LEAST_PART = 8  # tokens: less of a line is not worth a cut
CAUTION = 0.9  # of a line's share, since tokens do not lie evenly in it
Control = Callable[[Sequence[Message], int, Store], str]
"""(messages of Z, budget in tokens, store) -> a text of at most so many tokens."""


def lines(store: Store, message: Message) -> tuple[str, ...]:
    """The lines of a message that are not blank, each with what it says and nothing else."""
    return store.once(message, "lines", lambda m: tuple(
        line.rstrip() for text in texts(m) for line in text.splitlines() if line.strip()))


def keep_newest(messages: Sequence[Message], budget: int, store: Store) -> str:
    """The newest lines, in their order; nested: a larger budget holds all of a smaller one."""
    chosen = _fill((line for message in reversed(messages)
                    for line in reversed(lines(store, message))), budget, store, _end)
    return _fit(chosen[::-1], budget, store)


def random_lines(messages: Sequence[Message], budget: int, store: Store,
                 seed: int = SEED) -> str:
    """Lines drawn at random, in their order; the seed and the number of lines decide the draw.

    Nested like `keep_newest`.
    """
    every = [line for message in messages for line in lines(store, message)]
    order = list(range(len(every)))
    random.Random(f"{seed}:{len(every)}").shuffle(order)
    chosen = _fill((every[at] for at in order), budget, store, _start)
    drawn = list(zip(order, chosen, strict=False))
    if drawn and store.count("\n".join(line for _, line in sorted(drawn))) > budget:
        drawn = drawn[:-1]  # the one that was cut goes first
    return _fit([line for _, line in sorted(drawn)], budget, store)


def anchor_dump(messages: Sequence[Message], budget: int, store: Store) -> str:
    """A bag of the newest anchors and nothing else, in an order without meaning."""
    known, named, found = lexicon(store), 0, list[str]()
    for message in reversed(messages):
        new = found_in(store, message).named & ~named
        named |= new
        found += (known.keys[anchor] for anchor in known.bits(new))
    chosen = _fill(iter(found), budget, store)
    return _fit(sorted(chosen, key=lambda key: (crc32(key.encode("utf-8", "replace")), key)),
                budget, store)


CONTROLS: dict[str, Control] = {
    "keep_newest": keep_newest, "random_lines": random_lines, "anchor_dump": anchor_dump,
}


def _fill(lines: Iterator[str], budget: int, store: Store,
          part: Callable[[str, float], str] | None = None) -> list[str]:
    """The first lines that fit into the budget together, up to the first that does not.

    Of that one comes what still fits (`part`), so that a long line leaves no budget unused.
    """
    found, total = list[str](), 0
    known = store.remember("line tokens", dict[str, int])
    for line in lines:
        tokens = known.get(line)
        if tokens is None:
            tokens = known[line] = store.count(line + "\n")
        if total + tokens > budget:
            room = budget - total
            if part is not None and room >= LEAST_PART:
                piece = part(line, CAUTION * room / tokens)
                found += [piece] if store.count(piece + "\n") <= room else []
            break
        total += tokens
        found.append(line)
    return found


def _end(line: str, share: float) -> str:
    return line[len(line) - int(share * len(line)):]


def _start(line: str, share: float) -> str:
    return line[: int(share * len(line))]


def _fit(chosen: list[str], budget: int, store: Store) -> str:
    """The lines as one text; where joined they cost more than one by one, the first go."""
    text = "\n".join(chosen)
    while chosen and store.count(text) > budget:
        chosen = chosen[1:]
        text = "\n".join(chosen)
    return text
