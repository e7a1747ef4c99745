"""Controls that every summary must beat: the newest lines, random lines, a bag of anchors."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from zlib import crc32

from compactlab.history import Store
from compactlab.quality.anchors import found_in, lexicon, texts
from compactlab.session import Message
from compactlab.statistics import SEED

Control = Callable[[Sequence[Message], int, Store], str]
"""(messages of Z, budget in tokens, store) -> a text of at most so many tokens."""


def lines(store: Store, message: Message) -> tuple[str, ...]:
    """The lines of a message that are not blank, each with what it says and nothing else."""
    return store.once(message, "lines", lambda m: tuple(
        line.rstrip() for text in texts(m) for line in text.splitlines() if line.strip()))


def keep_newest(messages: Sequence[Message], budget: int, store: Store) -> str:
    """The newest lines, in their order; nested: a larger budget holds all of a smaller one."""
    chosen = _fill((line for message in reversed(messages)
                    for line in reversed(lines(store, message))), budget, store)
    return _fit(chosen[::-1], budget, store)


def random_lines(messages: Sequence[Message], budget: int, store: Store,
                 seed: int = SEED) -> str:
    """Lines drawn at random, in their order; the seed and the number of lines decide the draw.

    Nested like `keep_newest`.
    """
    every = [line for message in messages for line in lines(store, message)]
    order = list(range(len(every)))
    random.Random(f"{seed}:{len(every)}").shuffle(order)
    chosen = order[: len(_fill((every[at] for at in order), budget, store))]
    return _fit([every[at] for at in sorted(chosen)], budget, store)


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


def _fill(lines: Iterator[str], budget: int, store: Store) -> list[str]:
    """The first lines that fit into the budget together, up to the first that does not."""
    found, total = list[str](), 0
    known = store.remember("line tokens", dict[str, int])
    for line in lines:
        tokens = known.get(line)
        if tokens is None:
            tokens = known[line] = store.count(line + "\n")
        total += tokens
        if total > budget:
            break
        found.append(line)
    return found


def _fit(chosen: list[str], budget: int, store: Store) -> str:
    """The lines as one text; where joined they cost more than one by one, the first go."""
    text = "\n".join(chosen)
    while chosen and store.count(text) > budget:
        chosen = chosen[1:]
        text = "\n".join(chosen)
    return text
