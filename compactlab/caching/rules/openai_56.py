"""OpenAI from GPT-5.6: entries at breakpoints, written at 1.25 times the input price, 30 minutes.

Source: platform.openai.com/docs/guides/prompt-caching (clip of 2026-09-20). An implicit breakpoint
stands at the end of the latest eligible message, up to 3 explicit ones beside it; excess ones are
dropped, the oldest first, without an error. Looked up are the first 2 and latest 50 explicit
boundaries, the implicit one, and up to 20 earlier message endings. The API reference says instead
"up to the latest 80 breakpoints, no block look-back": `lookup` chooses.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from math import inf
from typing import Literal

from compactlab.caching.parts import Sending, Served
from compactlab.caching.seen import Seen, causes
from compactlab.caching.tree import ROOT, Tree

SOURCE = "platform.openai.com/docs/guides/prompt-caching"
DATE = "2026-09-20"
FIRST_EXPLICIT, LATEST_EXPLICIT, LATEST_REFERENCE = 2, 50, 80


@dataclass(frozen=True)
class Openai56Settings:
    """`mode` explicit: without marks nothing is cached; `idle_ttl`: seconds after the last use."""

    min_tokens: int = 1024
    mode: Literal["implicit", "explicit"] = "implicit"
    most_marks: int = 4
    endings: int = 20
    lookup: Literal["guide", "reference"] = "guide"
    idle_ttl: float | None = 1800.0


class OpenAI56:
    """The cache of one scope and model; see `parts.Rule`."""

    outputs = False

    def __init__(self, tree: Tree, settings: Openai56Settings | None = None) -> None:
        self.tree, self.settings = tree, settings or Openai56Settings()
        self.entries: dict[int, float] = {}  # node -> last write or use
        self.available: dict[int, float] = {}
        self.seen = Seen(tree)
        self.explicit: list[int] = []  # explicit boundaries, oldest first

    def step(self, sending: Sending) -> Served:
        """Read up to the longest live entry, write from there to the last mark."""
        s, tokens, t, tail = self.settings, self.tree.tokens, sending.t, sending.tail
        explicit = [node for node, _ in sending.marks]
        implicit = [tail] if s.mode == "implicit" and tail not in explicit else []
        room = s.most_marks - len(implicit)
        latest = explicit[max(len(explicit) - room, 0):]
        marks = [n for n in latest + implicit if tokens[n] >= s.min_tokens]
        hit = self._find(tail, marks, t)
        read = tokens[hit]
        last = max([read, *(tokens[n] for n in marks)])
        shared, _ = self.seen.match(tail, t, None)
        live = hit if hit and tokens[hit] >= s.min_tokens else (
            ROOT if self.entries else shared)
        missed, at = causes(self.tree, self.seen, tail, read, live, shared, s.min_tokens)
        if hit:
            self.entries[hit] = t
        for node in marks:
            self.entries[node] = t
            self.available.setdefault(node, t + sending.ttft)
        self.explicit += [n for n in explicit if n not in self.explicit[-LATEST_REFERENCE:]]
        self.seen.add(tail, t)
        return Served(read, last - read, 0, tokens[tail] - last, missed, at)

    def cached(self, served: Served, tokens: int) -> int:
        """What was read and what was written."""
        return min(tokens, served.read + served.write_5m)

    def lifetime(self, ttl: float) -> float:
        """The provider's own, whatever a mark says."""
        return inf if self.settings.idle_ttl is None else self.settings.idle_ttl

    def _find(self, tail: int, marks: list[int], t: float) -> int:
        if not marks:
            return ROOT
        own, found = self._boundaries(tail)
        tokens, shared = self.tree.tokens, self.tree.common(tail, max(self.seen.tail, ROOT))
        # the longest first: what stands in this prompt is then found after few steps back
        for node in sorted({*marks, *own, *found}, key=tokens.__getitem__, reverse=True):
            if node and self._live(node, t) and (
                    node in marks or node in own or self.tree.leads(node, shared)):
                return node
        return ROOT

    def _live(self, node: int, t: float) -> bool:
        used = self.entries.get(node)
        if used is None or self.available.get(node, t) > t:
            return False
        return self.settings.idle_ttl is None or t - used < self.settings.idle_ttl

    def _boundaries(self, tail: int) -> tuple[list[int], list[int]]:
        """Earlier boundaries that stand in this prompt, and those that may."""
        tree, found = self.tree, list[int]()
        if self.settings.lookup == "guide" and self.settings.mode == "implicit":
            node = tree.position[tail]
            for _ in range(self.settings.endings):
                found.append(node)
                node = tree.position[node]
        known = self.explicit
        chosen = (known[-LATEST_REFERENCE:] if self.settings.lookup == "reference"
                  else [*known[:FIRST_EXPLICIT], *known[-LATEST_EXPLICIT:]])
        if self.settings.lookup == "reference":
            chosen = [*chosen, *islice(reversed(self.entries), LATEST_REFERENCE)]
        return found, chosen

    def warm(self, node: int, t: float) -> None:
        """Somebody else's request has just used this prefix."""
        self.entries[node] = t

    def forget(self, keep: int) -> None:
        """An event: entries of more than `keep` tokens are gone."""
        self.entries = {n: t for n, t in self.entries.items() if self.tree.tokens[n] <= keep}
