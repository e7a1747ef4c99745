"""A provider without a prompt cache: every token is plain input."""

from __future__ import annotations

from compactlab.caching.parts import Sending, Served
from compactlab.caching.tree import Tree

SOURCE = "no cache"
DATE = ""


class NoCache:
    """Serves everything anew; see `parts.Rule`."""

    outputs = False

    def __init__(self, tree: Tree, settings: None = None) -> None:
        self.tree = tree

    def step(self, sending: Sending) -> Served:
        """All of the prompt is uncached, and nothing is missed."""
        return Served(0, 0, 0, self.tree.tokens[sending.tail])

    def cached(self, served: Served, tokens: int) -> int:
        """Nothing."""
        return 0

    def lifetime(self, ttl: float) -> float:
        """Not a moment."""
        return 0.0

    def warm(self, node: int, t: float) -> None:
        """Nothing stays."""

    def forget(self, keep: int) -> None:
        """Nothing was there."""
