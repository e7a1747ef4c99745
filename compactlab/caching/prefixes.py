"""Histories as cache prefixes: each message becomes blocks once, each history a node once."""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

from compactlab.caching.shapes import THINKING, Shape, shape
from compactlab.caching.tree import ROOT, Tree
from compactlab.cursor import ancestry
from compactlab.history import Store

SHAPE = "cache shape"


class Head(NamedTuple):
    """What stands before the messages: tokens of tool schemas, of the rest, levels within it.

    `levels`: cumulative tokens at which the client sets marks or another session left entries.
    """

    tools: int
    system: int
    levels: tuple[int, ...] = ()


class Where(NamedTuple):
    """One message on a chain: the end of the message before, and the nodes that take its mark."""

    before: int
    mark: int
    literal: int
    role: str
    system: int  # the mark of the system prompt, 0 without one
    first: int = 0  # that of its first message in the log


class Prefixes:
    """The tree of one store under one head; shared by all replays, layouts and lifetimes."""

    def __init__(self, store: Store, head: Head, *, strip: bool, salt_images: bool = True) -> None:
        self.store, self.strip, self.salt_images = store, strip, salt_images
        self.tree = Tree()
        self.where: dict[int, Where] = {}
        self.again: dict[tuple[int, int], int] = {}  # two prompts -> tokens that both have, moved
        self.leading: set[int] = set()
        self.head_marks: list[int] = []
        self.head = self._head(head)
        self.tools = self.tree.up_to(self.head, head.tools) if head.tools else ROOT
        self._image: dict[int, bool] = {ROOT: False}
        self._tails: dict[int, int] = {}
        self._chains = {flag: _Chain(self, "images" if flag else None) for flag in (False, True)}
        self._numbers: dict[Hashable, int] = {}

    def _head(self, head: Head) -> int:
        ends = sorted({n for n in (head.tools, *head.levels, head.tools + head.system)
                       if 0 < n <= head.tools + head.system})
        node, done = ROOT, 0
        for end in ends:
            level = "tools" if end <= head.tools else "system"
            node = self.tree.child(node, ("head", done, end), end - done, "text", level)
            self.head_marks.append(node)
            done = end
        self.where[node] = Where(ROOT, node, node, "head", node)
        self.leading.add(node)
        return node

    def tail(self, history: int) -> int:
        """The node of the prompt that ends with this history."""
        found = self._tails.get(history)
        if found is None:
            chain = self._chains[self._has_image(history)]
            found = self._tails[history] = chain.tail(history)
        return found

    def shape(self, message_of: object, store: Store) -> Shape:
        """Blocks with numbers for keys, so that a look-up compares no texts."""
        found = shape(store, message_of)  # type: ignore[arg-type]  # `once` hands a message on
        # with its tokens: in a shortened copy of its message an equal block may weigh less
        blocks = tuple((self._numbers.setdefault((key, tokens), len(self._numbers)), tokens, kind)
                       for key, tokens, kind in found.blocks)
        return found._replace(blocks=blocks)

    def _has_image(self, history: int) -> bool:
        way = []
        known = False
        for node, before, message in ancestry(self.store, history):
            if node in self._image:
                known = self._image[node]
                break
            way.append((node, before, message))
        for node, _, message in reversed(way):
            known = known or (self.salt_images and self.seen(message).image)
            self._image[node] = known
        return known

    def seen(self, message: object) -> Shape:
        """The shape of a message, made once in its life."""
        found: Shape = self.store.once(message, (SHAPE, id(self)),  # type: ignore[arg-type]
                                       lambda m: self.shape(m, self.store))
        return found


class _Chain:
    """Histories as nodes under one salt of the messages' level."""

    def __init__(self, prefixes: Prefixes, salt: str | None) -> None:
        self.prefixes, self.salt = prefixes, salt
        self.kept = {ROOT: prefixes.head}
        self.stripped = {ROOT: prefixes.head}

    def tail(self, history: int) -> int:
        kept = self.kept
        found = kept.get(history)
        if found is not None:
            return found
        way = []
        for step in ancestry(self.prefixes.store, history):
            if step[0] in kept:
                break
            way.append(step)
        strip = self.prefixes.strip
        for node, before, message in reversed(way):
            shape = self.prefixes.seen(message)
            if strip:
                bare = self.stripped[node] = self._grow(self.stripped[before], shape, True)
                kept[node] = bare if shape.turn else self._grow(kept[before], shape, False)
            else:
                kept[node] = self._grow(kept[before], shape, False)
        return kept[history]

    def _grow(self, tail: int, shape: Shape, bare: bool) -> int:
        """The prompt `tail` and one message more; `bare`: without its thinking.

        The tokens of what is left out go to the block behind it: the counter's total of a message
        is fitted to what was billed, so that it stands for the message as it was sent.
        """
        prefixes, tree = self.prefixes, self.prefixes.tree
        before = prefixes.where[tail]
        leads = shape.role == "system" and tail in prefixes.leading
        level = "system" if leads else "messages"
        node, mark, literal, left = tail, ROOT, ROOT, 0
        for index, (key, tokens, kind) in enumerate(shape.blocks):
            if bare and kind == THINKING:
                left += tokens
                continue
            if left:
                key, tokens, left = ("bare", key, left), tokens + left, 0
            if self.salt is not None and not leads:
                key = (self.salt, key)
            node = tree.child(node, key, tokens, kind, level)
            mark = node if index == shape.mark else mark
            literal = node if index == shape.literal else literal
        if left:
            node = tree.child(node, ("bare", left), left, "text", level)
        if node == tail:
            return tail
        if node not in prefixes.where:
            system = (mark or before.system) if leads else before.system
            first = before.first or (mark if leads else 0)
            prefixes.where[node] = Where(tail, mark, literal, shape.role, system, first)
        if leads:
            prefixes.leading.add(node)
        return node
