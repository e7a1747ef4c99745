"""What a compaction destroyed: tokens that were cached and are paid again because of it."""

from __future__ import annotations

from compactlab.caching.parts import Rule, Served
from compactlab.caching.prefixes import Prefixes

NOTHING = Served(0, 0, 0, 0)


class Buster:
    """The latest request of a run: its prompt, how it was served and when.

    `ttl`: seconds that the client's marks live, infinite where nothing expires.
    """

    def __init__(self, prefixes: Prefixes, ttl: float) -> None:
        self.prefixes, self.ttl = prefixes, ttl
        self.tail, self.last, self.t = -1, NOTHING, 0.0

    def served(self, tail: int, served: Served, t: float) -> None:
        """The request that the next one is compared with."""
        self.tail, self.last, self.t = tail, served, t

    def bust(self, rule: Rule, tail: int, served: Served, t: float) -> int:
        """Tokens of this prompt that the cache held before the compaction and that were not read.

        The shared prefix that is out of reach, and the messages that stand unchanged behind what
        was replaced. Nothing where the cache would have expired anyway.
        """
        if self.tail < 0:
            return 0
        tree = self.prefixes.tree
        cached = rule.cached(self.last, tree.tokens[self.tail])
        if not cached or t - self.t >= rule.lifetime(self.ttl):
            return 0
        shared = tree.common(tail, self.tail)
        kept = tree.tokens[shared]
        lost = max(rule.cached(self.last, kept) - served.read, 0)
        room = cached - kept  # what was cached behind the shared prefix
        if room <= 0 or shared == self.tail:
            return lost
        pair = (self.tail, tail)  # the same for every layout, lifetime and price
        again = self.prefixes.again.get(pair)
        if again is None:
            again = self.prefixes.again[pair] = self._again(tail, shared)
        return lost + max(min(again, room, tree.tokens[tail] - max(kept, served.read)), 0)

    def _again(self, tail: int, shared: int) -> int:
        """Tokens of the blocks that both prompts have behind what they share."""
        tree = self.prefixes.tree
        key, size, parent = tree.key, tree.size, tree.parent
        left: dict[object, int] = {}
        node = self.tail
        while node != shared:
            left[key[node]] = left.get(key[node], 0) + 1
            node = parent[node]
        again, node = 0, tail
        while node != shared:
            if left.get(key[node]):
                left[key[node]] -= 1
                again += size[node]
            node = parent[node]
        return again
