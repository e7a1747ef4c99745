"""Prompt prefixes as nodes of one trie: a node stands for exactly one sequence of blocks."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

ROOT = 0
FEW = 8  # blocks that a request brings, as a rule
RUNS = frozenset({"tool_use", "tool_result"})  # kinds whose runs are one position of the look-back


class Tree:
    """The trie, as columns by node number; node 0 is the empty prompt.

    `tokens`: of the whole prefix. `depth`: its blocks. `key`, `size`: of its last one. `position`:
    the end of the previous look-back position, a run of tool uses or of tool results being one
    (source: Anthropic's prompt-caching page, wording of September 2026). A key that repeats
    under a node must repeat its tokens, kind and level: the first ones stand.
    """

    __slots__ = ("_common", "children", "depth", "key", "kind", "level", "parent",
                 "position", "runs", "size", "tokens")

    def __init__(self) -> None:
        self.children: dict[tuple[int, Hashable], int] = {}
        self.parent, self.position = [ROOT], [ROOT]
        self.tokens, self.depth, self.size = [0], [0], [0]
        self.kind, self.level = [""], [""]
        self.key: list[Hashable] = [None]
        self._common: dict[tuple[int, int], int] = {}
        self.runs = False  # whether any prompt holds a run

    def child(self, node: int, key: Hashable, tokens: int, kind: str = "text",
              level: str = "messages") -> int:
        """The prefix `node` and one block more."""
        at = (node, key)
        found = self.children.get(at)
        if found is None:
            found = self.children[at] = len(self.parent)
            run = kind in RUNS and kind == self.kind[node]
            self.runs = self.runs or run
            self.parent.append(node)
            self.position.append(self.position[node] if run else node)
            self.size.append(tokens)
            self.tokens.append(self.tokens[node] + tokens)
            self.depth.append(self.depth[node] + 1)
            self.key.append(key)
            self.kind.append(kind)
            self.level.append(level)
        return found

    def common(self, one: int, other: int) -> int:
        """The longest prefix of both; the walk is as long as what they do not share."""
        pair = (one, other)
        found = self._common.get(pair)  # asked twice a request, and by every run again
        if found is not None:
            return found
        parent, node = self.parent, one
        for _ in range(min(self.depth[one] - self.depth[other], FEW)):
            node = parent[node]
        if node == other:  # as a rule `one` is `other` with a few blocks behind it
            return node
        found = self._common[pair] = self._parted(one, other)
        return found

    def _parted(self, one: int, other: int) -> int:
        parent, depth = self.parent, self.depth
        while depth[one] > depth[other]:
            one = parent[one]
        while depth[other] > depth[one]:
            other = parent[other]
        while one != other:
            one, other = parent[one], parent[other]
        return one

    def leads(self, one: int, other: int) -> bool:
        """Whether the first prefix is one of the other's; as long as what the other has more."""
        least = self.depth[one]
        while self.depth[other] > least:
            other = self.parent[other]
        return one == other

    def up_to(self, node: int, tokens: int) -> int:
        """The longest prefix of `node` with at most so many tokens."""
        while self.tokens[node] > tokens:
            node = self.parent[node]
        return node

    def chain(self, node: int) -> list[int]:
        """All non-empty prefixes of a node, shortest first."""
        found = []
        while node != ROOT:
            found.append(node)
            node = self.parent[node]
        return found[::-1]

    def extend(self, node: int, blocks: Iterable[tuple[Hashable, int, str, str]]) -> int:
        """The prefix `node` and these blocks (key, tokens, kind, level) behind it."""
        for key, tokens, kind, level in blocks:
            node = self.child(node, key, tokens, kind, level)
        return node
