"""DeepSeek: whole prefix units on disk, writes free; before 2026 blocks of 64 tokens.

Source: api-docs.deepseek.com/guides/kv_cache (2026-08-13): units end at the end of the user's input
and of the model's output of each request, and where two requests were found to part; units at
fixed intervals are mentioned without a figure (`interval`). Kept for hours to days, best effort.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Literal

from compactlab.caching.parts import Sending, Served
from compactlab.caching.seen import Seen, causes
from compactlab.caching.tree import ROOT, Tree

SOURCE = "api-docs.deepseek.com/guides/kv_cache"
DATE = "2026-08-13"


@dataclass(frozen=True)
class DeepSeekSettings:
    """`rule` units or blocks (of `block` tokens); `idle_ttl` None = nothing expires."""

    rule: Literal["units", "blocks"] = "units"
    block: int = 64
    min_tokens: int = 0
    interval: int | None = None
    idle_ttl: float | None = 86400.0


class DeepSeek:
    """The cache of one account and model; see `parts.Rule`."""

    outputs = True

    def __init__(self, tree: Tree, settings: DeepSeekSettings | None = None) -> None:
        self.tree, self.settings = tree, settings or DeepSeekSettings()
        self.seen = Seen(tree)
        self.units: dict[int, float] = {}  # node -> last use

    def step(self, sending: Sending) -> Served:
        """Read the longest whole unit (or whole blocks) of an earlier request; writes are free."""
        tokens, t, tail = self.tree.tokens, sending.t, sending.tail
        shared, live = self.seen.match(tail, t, self.settings.idle_ttl)
        if self.settings.rule == "blocks":
            read = tokens[live] // self.settings.block * self.settings.block
        else:
            unit = self._unit(tail, live, t)
            read = tokens[unit]
            if (every := self.settings.interval):
                read = max(read, tokens[live] // every * every)
            self._keep(tail, shared, sending.output, t)
        if read < self.settings.min_tokens:
            read = 0
        missed, at = causes(self.tree, self.seen, tail, read, live, shared,
                            self.settings.min_tokens)
        self.seen.add(sending.output or tail, t)
        return Served(read, 0, 0, tokens[tail] - read, missed, at)

    def cached(self, served: Served, tokens: int) -> int:
        """The whole prompt, under the older rule in whole blocks."""
        found = min(tokens, served.total)
        return found if self.settings.rule == "units" else (
            found // self.settings.block * self.settings.block)

    def lifetime(self, ttl: float) -> float:
        """The provider's own, whatever a mark says."""
        return inf if self.settings.idle_ttl is None else self.settings.idle_ttl

    def _unit(self, tail: int, live: int, t: float) -> int:
        """The longest live unit at or before the part that was seen."""
        node = live
        ttl = self.settings.idle_ttl
        while node != ROOT:
            used = self.units.get(node)
            if used is not None and (ttl is None or t - used <= ttl):
                self.units[node] = t
                return node
            node = self.tree.parent[node]
        return node

    def _keep(self, tail: int, shared: int, output: int, t: float) -> None:
        self.units[tail] = t
        if output:
            self.units[output] = t
        if shared not in (ROOT, tail, self.seen.tail):  # two requests parted here
            self.units[shared] = t

    def warm(self, node: int, t: float) -> None:
        """Somebody else's request has just used this prefix."""
        self.units[node] = t
        self.seen.used[node] = t

    def forget(self, keep: int) -> None:
        """An event: units of more than `keep` tokens are gone."""
        self.units = {n: t for n, t in self.units.items() if self.tree.tokens[n] <= keep}
