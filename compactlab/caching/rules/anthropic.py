"""Anthropic: entries only at breakpoints, a look-back of 20 positions, lifetimes of 5 m and 1 h.

Source: platform.claude.com/docs, "Prompt caching" (read September 2026; the rule that runs of tool
blocks are one position came between 2026-08-21 and 2026-09-23). Points that the page leaves open
are settings: `refresh`, `tie_lives`, `inside_runs`, `upgrade`.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import msgspec

from compactlab.caching.parts import TTLS, Cause, Sending, Served, refused
from compactlab.caching.tree import ROOT, Tree
from compactlab.errors import BadSetting

SOURCE = "platform.claude.com/docs/en/build-with-claude/prompt-caching"
DATE = "2026-09-23"
MOST_MARKS = 4
FIVE_MINUTES = TTLS["5m"]
REFRESH = ("hit_only", "marked", "prefix")
TOO_MANY = "400: a maximum of 4 blocks with cache_control may be provided, found {n}"
ORDER = "400: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block"


@dataclass(frozen=True)
class AnthropicSettings:
    """`min_tokens`: shortest prefix that is stored; `lookback`: positions, the mark included.

    `collapse_runs`: a run of tool uses or results is one position. `refresh`: which live entries
    a read makes younger. `tie_lives`: an entry lives at its very last moment. `inside_runs`: the
    look-back sees entries that end inside a run. `upgrade`: a 1 h mark on a live 5 m entry makes
    it live an hour.
    """

    min_tokens: int = 512
    lookback: int = 20
    collapse_runs: bool = True
    refresh: Literal["hit_only", "marked", "prefix"] = "marked"
    tie_lives: bool = False
    inside_runs: bool = False
    upgrade: bool = False

    def __post_init__(self) -> None:
        if self.refresh not in REFRESH:
            raise BadSetting(f"refresh = {self.refresh!r}: choose one of {', '.join(REFRESH)}")
        if self.lookback < 1 or self.min_tokens < 0:
            raise BadSetting("lookback needs at least 1 position, min_tokens at least 0")


class Entry(msgspec.Struct, gc=False):
    """A stored prefix: until when, its lifetime in seconds, from when it can be read."""

    expiry: float
    ttl: float
    available: float


class Anthropic:
    """The cache of one scope and model; see `parts.Rule`."""

    outputs = False

    def __init__(self, tree: Tree, settings: AnthropicSettings | None = None) -> None:
        self.tree = tree
        self.settings = settings or AnthropicSettings()
        self.entries: dict[int, Entry] = {}
        self.gone: set[int] = set()  # entries that an event took
        self.below: dict[int, int] = {}  # prefix ever stored -> the next shorter one
        own = self.settings
        self._back = tree.position if own.collapse_runs else tree.parent
        self._positions = range(own.lookback)
        self._plain = not own.tie_lives and not (own.inside_runs and own.collapse_runs)
        self.tail = self.deepest = -1  # of the previous request; deepest = its longest stored
        self.short = 0  # the longest mark of the previous request that was below the minimum

    def step(self, sending: Sending) -> Served:
        """Serve a request: read A, write B - A for an hour, C - B for five minutes."""
        tokens = self.tree.tokens
        t, tail, marks, ttft, _ = sending
        total = tokens[tail]
        if len(marks) > 1 and (error := _error(marks)):
            return refused(total, error)
        good = marks
        if marks and tokens[marks[0][0]] < self.settings.min_tokens:
            good = tuple([mark for mark in marks if tokens[mark[0]] >= self.settings.min_tokens])
        hit = self._find(good, t)
        read = hour = last = tokens[hit]
        missed, at, stored = self._missed(t, tail, read, marks, good)
        if hit:
            self._refresh(good, hit, t)
        for node, ttl in good:
            size = tokens[node]
            if size > last:
                last = size
            if ttl > FIVE_MINUTES and size > hour:
                hour = size
            stored = self._write(node, ttl, t, t + ttft, stored)
        self.tail, self.deepest = tail, stored
        self.short = tokens[marks[-1][0]] if marks and not good else 0
        return Served(read, last - hour, hour - read, total - last, missed, at)

    def cached(self, served: Served, tokens: int) -> int:
        """What was read and what was written."""
        return min(tokens, served.read + served.write_5m + served.write_1h)

    def lifetime(self, ttl: float) -> float:
        """As the marks say."""
        return ttl

    def _find(self, good: tuple[tuple[int, float], ...], t: float) -> int:
        """The node of the longest entry that a look-back from a mark finds; 0 if none does."""
        if not self._plain:
            return self._find_otherwise(good, t)
        entries, back, positions = self.entries, self._back, self._positions
        for node, _ in reversed(good):
            for _ in positions:  # the loop that every replay is spent in; the root leads to itself
                if node in entries and entries[node].available <= t < entries[node].expiry:
                    return node
                node = back[node]
        return ROOT

    def _find_otherwise(self, good: tuple[tuple[int, float], ...], t: float) -> int:
        """The same under the readings `tie_lives` and `inside_runs`."""
        back, settings = self._back, self.settings
        for node, _ in reversed(good):
            for _ in range(settings.lookback):
                entry = self.entries.get(node)
                if entry is not None and entry.available <= t and self._lives(entry, t):
                    return node
                if settings.inside_runs and (found := self._inside(node, back[node], t)):
                    return found
                node = back[node]
                if node == ROOT:
                    break
        return ROOT

    def _inside(self, node: int, end: int, t: float) -> int:
        """An entry that ends inside the run between two positions."""
        node = self.tree.parent[node]
        while node != end and node != ROOT:
            entry = self.entries.get(node)
            if entry is not None and entry.available <= t and self._lives(entry, t):
                return node
            node = self.tree.parent[node]
        return ROOT

    def _refresh(self, good: tuple[tuple[int, float], ...], hit: int, t: float) -> None:
        mode, tokens = self.settings.refresh, self.tree.tokens
        if len(good) == 1 and mode != "prefix":  # the one mark is the hit, or longer
            only = self.entries[hit]
            only.expiry = max(only.expiry, t + only.ttl)
            return
        nodes = [hit]
        if mode == "marked":
            nodes += [node for node, _ in good if tokens[node] < tokens[hit]]
        elif mode == "prefix":
            node = self.below.get(hit, ROOT)
            while node != ROOT:
                nodes.append(node)
                node = self.below.get(node, ROOT)
        for node in nodes:
            entry = self.entries.get(node)
            if entry is not None and self._lives(entry, t) and t + entry.ttl > entry.expiry:
                entry.expiry = t + entry.ttl

    def _lives(self, entry: Entry, t: float) -> bool:
        return t < entry.expiry or (self.settings.tie_lives and t == entry.expiry)

    def _write(self, node: int, ttl: float, t: float, available: float, stored: int) -> int:
        """Store a marked prefix where no live entry is; the longest stored prefix so far."""
        entry = self.entries.get(node)
        if entry is None:
            self.entries[node] = Entry(t + ttl, ttl, available)
            self.gone.discard(node)
        elif not self._lives(entry, t):
            self.entries[node] = Entry(t + ttl, ttl, available)
        elif entry.available > t:  # still in flight: both requests write it
            entry.available = min(entry.available, available)
            entry.expiry = max(entry.expiry, t + ttl)
            entry.ttl = max(entry.ttl, ttl)
        elif self.settings.upgrade and ttl > entry.ttl:
            entry.expiry, entry.ttl = t + ttl, ttl
        return self._linked(node, stored)

    def _linked(self, node: int, stored: int) -> int:
        """Put a prefix into the list of those ever stored; the head of its list."""
        tokens, below = self.tree.tokens, self.below
        if node == stored:
            return stored
        if tokens[node] > tokens[stored]:
            below.setdefault(node, stored)
            return node
        above = stored
        while below.get(above, ROOT) != ROOT and tokens[below[above]] > tokens[node]:
            above = below[above]
        if below.get(above, ROOT) != node:
            below.setdefault(node, below.get(above, ROOT))
            below[above] = node
        return stored

    # -- why tokens that had been sent before were not read ----------------------------------------
    def _missed(self, t: float, tail: int, read: int, marks: tuple[tuple[int, float], ...],
                good: tuple[tuple[int, float], ...]
                ) -> tuple[tuple[tuple[Cause, int], ...], int, int]:
        """(missed tokens by cause, index of the first other block, longest stored prefix)."""
        tokens, before = self.tree.tokens, self.tail
        if before < 0:
            total = tokens[tail]
            lost: tuple[tuple[Cause, int], ...] = (("first", total - read),)
            return (lost if total > read else ()), -1, self._stored_before(tail)
        shared, stored = self.tree.common(tail, before), self.deepest
        kept = tokens[shared]
        while tokens[stored] > kept:
            stored = self.below[stored]
        unread = self._unread(t, read, kept, stored, marks, good) if kept > read else ()
        if shared == before:
            return unread, -1, stored
        lost_here = min(tokens[tail], tokens[before]) - max(kept, read)
        if lost_here > 0:
            unread = (("diverged", lost_here), *unread)
        return unread, self.tree.depth[shared], stored

    def _stored_before(self, tail: int) -> int:
        """The longest prefix of a first request that others have left here."""
        if not self.entries:
            return ROOT
        return next((n for n in reversed(self.tree.chain(tail)) if n in self.below), ROOT)

    def _unread(self, t: float, read: int, kept: int, stored: int,
                marks: tuple[tuple[int, float], ...], good: tuple[tuple[int, float], ...]
                ) -> tuple[tuple[Cause, int], ...]:
        """What of the shared prefix was not read, and why."""
        if not good:
            return (("below_min" if marks else "no_mark", kept - read),)
        top = self.tree.tokens[stored]
        found: tuple[tuple[Cause, int], ...] = ()
        if top > read:
            found = ((self._state(stored, t), top - read),)
        rest = kept - max(top, read)
        if rest > 0:
            short = kept < self.settings.min_tokens or self.short >= kept
            found = (*found, ("below_min" if short else "no_mark", rest))
        return found

    def _state(self, node: int, t: float) -> Cause:
        entry = self.entries.get(node)
        if entry is None:
            return "event" if node in self.gone else "unexplained"
        if entry.available > t:
            return "in_flight"
        return "lookback" if self._lives(entry, t) else "expired"

    # -- what comes from outside -------------------------------------------------------------------
    def warm(self, node: int, t: float) -> None:
        """Somebody else's request has just used this prefix."""
        entry = self.entries.get(node)
        if entry is not None and self._lives(entry, t):
            entry.expiry, entry.available = max(entry.expiry, t + FIVE_MINUTES), min(
                entry.available, t)
        elif node != ROOT and self.tree.tokens[node] >= self.settings.min_tokens:
            below = self._stored_before(self.tree.parent[node])
            self.entries[node] = Entry(t + FIVE_MINUTES, FIVE_MINUTES, t)
            self.below.setdefault(node, below)

    def forget(self, keep: int) -> None:
        """An event outside the rules: every entry of more than `keep` tokens is gone."""
        lost = [node for node in self.entries if self.tree.tokens[node] > keep]
        for node in lost:
            del self.entries[node]
        self.gone.update(lost)


def _error(marks: tuple[tuple[int, float], ...]) -> str:
    if len(marks) > MOST_MARKS:
        return TOO_MANY.format(n=len(marks))
    if any(later > earlier for (_, earlier), (_, later) in pairwise(marks)):
        return ORDER
    return ""
