"""OpenAI before GPT-5.6: automatic, writes free, reads in steps of 128 tokens.

Source: platform.openai.com/docs/guides/prompt-caching, classic wording (1,024 tokens, then steps
of 128) and the clip of 2026-09-20 (breakpoints at model-dependent intervals, 2,048 on gpt-5.5,
counted from the hidden system message). Retention `in_memory`: 5 to 10 minutes idle, at most an
hour, which Azure's page for the same models counts from the last use; `24h`: typically 30 minutes,
at most a day.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from random import Random

from compactlab.caching.parts import Sending, Served
from compactlab.caching.seen import Seen, causes
from compactlab.caching.tree import ROOT, Tree

SOURCE = "platform.openai.com/docs/guides/prompt-caching"
DATE = "2026-09-20"


@dataclass(frozen=True)
class ClassicSettings:
    """`interval` None = any multiple of `granularity`; `hidden`: tokens of the hidden message.

    `idle_ttl` None = nothing expires; `max_ttl`: seconds after which a prefix goes although it is
    used, counted from the request that sent its first block (None = the page's hour is one of
    idleness; 3600 is the other reading); `p_hit`: share of requests that reach the machine with
    the cache, drawn with `seed`.
    """

    min_tokens: int = 1024
    granularity: int = 128
    interval: int | None = None
    hidden: int = 0
    idle_ttl: float | None = 600.0
    max_ttl: float | None = None
    p_hit: float = 1.0
    seed: int = 0
    factor: float = 1.0  # of the floored match that the provider reports


class OpenAIClassic:
    """The cache of one scope and model; see `parts.Rule`."""

    outputs = False

    def __init__(self, tree: Tree, settings: ClassicSettings | None = None) -> None:
        self.tree, self.settings = tree, settings or ClassicSettings()
        self.seen = Seen(tree)
        self._born: dict[int, float] = {}  # when the first block of prefixes was sent
        self._random = Random(self.settings.seed)

    def step(self, sending: Sending) -> Served:
        """Read the longest prefix of an earlier request, in whole steps; nothing is written."""
        t, tail = sending.t, sending.tail
        shared, live = self.seen.match(tail, t, self.settings.idle_ttl)
        old = self._too_old(t, tail)
        if old:
            live = ROOT
        read = self._readable(self.tree.tokens[live])
        if self.settings.p_hit < 1 and self._random.random() >= self.settings.p_hit:
            read = 0
        missed, at = causes(self.tree, self.seen, tail, read, live, shared,
                            self.settings.min_tokens)
        if old:
            self._drop(_first(self.tree, tail))
        self.seen.add(tail, t)
        return Served(read, 0, 0, self.tree.tokens[tail] - read, missed, at)

    def _too_old(self, t: float, tail: int) -> bool:
        """Whether what begins like this prompt has had its time; a new time begins then."""
        most = self.settings.max_ttl
        if most is None or tail == ROOT:
            return False
        first = _first(self.tree, tail)
        old = t - self._born.setdefault(first, t) > most
        if old:
            self._born[first] = t
        return old

    def _drop(self, first: int) -> None:
        """Every prefix that begins with this block is gone."""
        seen, tree = self.seen, self.tree
        seen.used = {n: used for n, used in seen.used.items() if _first(tree, n) != first}
        if seen.tail > ROOT and _first(tree, seen.tail) == first:
            seen.tail = ROOT

    def cached(self, served: Served, tokens: int) -> int:
        """The whole prompt, in the steps in which it is read."""
        return self._readable(min(tokens, served.total))

    def lifetime(self, ttl: float) -> float:
        """The provider's own, whatever a mark says."""
        return inf if self.settings.idle_ttl is None else self.settings.idle_ttl

    def _readable(self, match: int) -> int:
        s = self.settings
        if match < s.min_tokens:
            return 0
        if s.interval:
            match = (match + s.hidden) // s.interval * s.interval - s.hidden
        return max(int(match // s.granularity * s.granularity * s.factor), 0)

    def warm(self, node: int, t: float) -> None:
        """Somebody else's request has just used this prefix."""
        while node != ROOT:
            self.seen.used[node] = t
            node = self.tree.parent[node]

    def forget(self, keep: int) -> None:
        """An event: only prefixes of at most `keep` tokens remain."""
        self.seen = _cut(self.tree, self.seen, keep)


def _first(tree: Tree, node: int) -> int:
    """The prefix of one block that a prompt begins with."""
    while tree.parent[node] != ROOT:
        node = tree.parent[node]
    return node


def _cut(tree: Tree, seen: Seen, keep: int) -> Seen:
    left = Seen(tree)
    left.used = {n: t for n, t in seen.used.items() if tree.tokens[n] <= keep}
    if seen.tail >= 0:
        left.tail, left.t = tree.up_to(seen.tail, keep), seen.t
    return left
