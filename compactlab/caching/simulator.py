"""What a provider's cache would have served for abstract requests, one after the other.

A request costs no more than its new blocks and a bounded number of look-ups, whatever stands
before them: prefixes are nodes of a trie and are compared as numbers.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

from compactlab.caching.parts import LEVELS, TTLS, CacheBlock, CacheRequest, Rule, Sending, Served
from compactlab.caching.rules import rule
from compactlab.caching.salts import salts
from compactlab.caching.tree import ROOT, Tree
from compactlab.errors import BadSetting

MOST_TOKENS = 10_000_000  # of one block: a cache of blocks of tokens walks them


class Simulator:
    """The caches of one provider, one for each scope and model; `send` requests in order of time.

    `settings` are the rule's (see `rules`); `ahead`: thinking and effort stand before the system
    prompt on this model. Raises BadSetting for a clock that goes back, a negative size, a mark
    that stands on no block.
    """

    def __init__(self, provider: str = "anthropic", *, ahead: bool = False,
                 **settings: Any) -> None:
        self.tree = Tree()
        self._provider, self._settings, self._ahead = provider, settings, ahead
        self._trails: dict[tuple[str, str], _Trail] = {}

    def send(self, request: CacheRequest) -> Served:
        """Serve one request."""
        at = (request.scope, request.model)
        trail = self._trails.get(at)
        if trail is None:
            made = rule(self._provider, self.tree, **self._settings)
            trail = self._trails[at] = _Trail(self.tree, made, self._ahead)
        return trail.send(request)

    def forget(self, keep: int) -> None:
        """An event: every entry of more than `keep` tokens is gone."""
        for trail in self._trails.values():
            trail.rule.forget(keep)


class _Trail:
    """One cache and the blocks of its latest request, as nodes."""

    def __init__(self, tree: Tree, made: Rule, ahead: bool) -> None:
        self.tree, self.rule, self.ahead = tree, made, ahead
        self._marks_last = made.lifetime(TTLS["5m"]) == TTLS["5m"]  # as long as they say
        self.nodes: list[int] = []
        self.blocks: list[CacheBlock] = []
        self.salts: dict[str, Hashable] = {}
        self.t = float("-inf")

    def send(self, request: CacheRequest) -> Served:
        if not request.t >= self.t:
            raise BadSetting(f"a request at {request.t} s comes after one at {self.t} s: "
                             "sort the requests by time")
        if not 0 <= request.keep <= len(self.blocks):
            raise BadSetting(f"keep = {request.keep}: the request before has "
                             f"{len(self.blocks)} blocks")
        self.t = request.t
        self._move(request)
        tail = self.nodes[-1] if self.nodes else ROOT
        marks = tuple((self._marked(m.block), self._seconds(m.ttl)) for m in sorted(request.marks))
        output = self._extended(tail, request.output) if request.output else ROOT
        return self.rule.step(Sending(request.t, tail, marks, request.ttft, output))

    def _move(self, request: CacheRequest) -> None:
        """Stand at the end of the request's prompt; only what changed is walked."""
        keep = request.keep
        fresh = salts(request.params, ahead=self.ahead) if request.params or self.salts else {}
        if fresh != self.salts:
            other = [level for level in LEVELS if fresh.get(level) != self.salts.get(level)]
            same = next((i for i, b in enumerate(self.blocks) if b.level in other), keep)
            blocks = (*self.blocks[same:keep], *request.blocks)
            keep, self.salts = min(keep, same), fresh
        else:
            blocks = request.blocks
        del self.nodes[keep:], self.blocks[keep:]
        node = self.nodes[-1] if self.nodes else ROOT
        for block in blocks:
            node = self._child(node, block)
            self.nodes.append(node)
            self.blocks.append(block)

    def _child(self, node: int, block: CacheBlock) -> int:
        key, tokens, kind, level = block
        if not 0 <= tokens <= MOST_TOKENS or level not in LEVELS:
            raise BadSetting(f"block {key!r}: {tokens} tokens at level {level!r}; tokens are 0 to "
                             f"{MOST_TOKENS:,}, levels are {', '.join(LEVELS)}")
        salt = self.salts.get(level) if self.salts else None
        return self.tree.child(node, key if salt is None else (salt, key), tokens, kind, level)

    def _extended(self, node: int, blocks: Iterable[CacheBlock]) -> int:
        for block in blocks:
            node = self._child(node, block)
        return node

    def _marked(self, block: int) -> int:
        if not 0 <= block < len(self.nodes):
            raise BadSetting(f"a breakpoint on block {block}: the prompt has {len(self.nodes)}")
        return self.nodes[block]

    def _seconds(self, ttl: str) -> float:
        found = TTLS.get(ttl)
        if found is None and not self._marks_last:  # another provider's lifetime, such as 30m
            minutes = ttl.removesuffix("m")
            found = 60.0 * int(minutes) if minutes.isascii() and minutes.isdigit() else None
        if found is None:
            raise BadSetting(f"ttl = {ttl!r}: choose one of {', '.join(TTLS)}")
        return found


def simulate_requests(requests: Iterable[CacheRequest], provider: str = "anthropic",
                      **settings: Any) -> list[Served]:
    """What each request would have been served, in order; see `Simulator`."""
    simulator = Simulator(provider, **settings)
    return [simulator.send(request) for request in requests]
