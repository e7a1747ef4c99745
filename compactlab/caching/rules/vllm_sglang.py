"""vLLM and SGLang: hashes of whole blocks of tokens, the least recently used go first.

Source: docs.vllm.ai, design document "Automatic Prefix Caching" (2026; block of 16 tokens, only
full blocks, at least the last token computed anew), and SGLang's radix cache (`block` = its page
size, 1 by default). Local servers: nothing expires and writes cost nothing.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from math import inf

from compactlab.caching.parts import Sending, Served
from compactlab.caching.seen import Seen, causes
from compactlab.caching.tree import ROOT, Tree

SOURCE = "docs.vllm.ai/en/latest/design/prefix_caching"
DATE = "2026-08"


@dataclass(frozen=True)
class BlockSettings:
    """`block` tokens a block; `capacity_blocks` None = memory without a limit."""

    block: int = 16
    capacity_blocks: int | None = None
    last_recomputed: bool = True


class BlockCache:
    """One server's cache; with a capacity a request costs as much as it has blocks."""

    outputs = True

    def __init__(self, tree: Tree, settings: BlockSettings | None = None) -> None:
        self.tree, self.settings = tree, settings or BlockSettings()
        self.seen = Seen(tree)
        self.held: OrderedDict[tuple[int, int], None] = OrderedDict()  # least recent first

    def step(self, sending: Sending) -> Served:
        """Read whole blocks of the longest prefix that is still held."""
        tail, tokens, size = sending.tail, self.tree.tokens, self.settings.block
        shared, _ = self.seen.match(tail, sending.t, None)
        if self.settings.capacity_blocks is None:
            full = tokens[shared] // size
            live = shared
        else:
            full = self._held(tail)
            live = self.tree.up_to(shared, full * size)
        most = tokens[tail] - 1 if self.settings.last_recomputed else tokens[tail]
        read = max(min(full, most // size), 0) * size
        missed, at = causes(self.tree, self.seen, tail, read, live, shared, size)
        self.seen.add(sending.output or tail, sending.t)
        if self.settings.capacity_blocks is not None:
            self._hold(sending.output or tail, self.settings.capacity_blocks)
        return Served(read, 0, 0, tokens[tail] - read, missed, at)

    def cached(self, served: Served, tokens: int) -> int:
        """The whole prompt, in whole blocks."""
        return min(tokens, served.total) // self.settings.block * self.settings.block

    def lifetime(self, ttl: float) -> float:
        """Nothing expires; what is used least goes first, where there is a capacity."""
        return inf

    def _blocks(self, tail: int) -> list[tuple[int, int]]:
        """Each full block as (prefix that holds its end, its number)."""
        size, found, number = self.settings.block, [], 0
        for node in self.tree.chain(tail):
            while (number + 1) * size <= self.tree.tokens[node]:
                found.append((node, number))
                number += 1
        return found

    def _held(self, tail: int) -> int:
        count = 0
        for block in self._blocks(tail):
            if block not in self.held:
                break
            count += 1
        return count

    def _hold(self, tail: int, capacity: int) -> None:
        """Make the prompt's blocks the youngest, its end older than its beginning."""
        for block in reversed(self._blocks(tail)):
            self.held[block] = None
            self.held.move_to_end(block)
        while len(self.held) > capacity:
            self.held.popitem(last=False)

    def warm(self, node: int, t: float) -> None:
        """Somebody else's request has just used this prefix."""
        if node != ROOT:
            self.seen.used[node] = t
            if self.settings.capacity_blocks is not None:
                self._hold(node, self.settings.capacity_blocks)

    def forget(self, keep: int) -> None:
        """An event: blocks beyond `keep` tokens are gone."""
        size = self.settings.block
        self.held = OrderedDict((b, None) for b in self.held if (b[1] + 1) * size <= keep)
        fresh = Seen(self.tree)
        if self.seen.tail >= 0:
            fresh.tail, fresh.t = self.tree.up_to(self.seen.tail, keep), self.seen.t
        self.seen = fresh
