"""What a compaction took away, what stands after it, and the one rule of what survives."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from compactlab.history import History, Store
from compactlab.pieces.assemble import summary_message
from compactlab.quality.anchors import Found, Lexicon, found_in, joined, lexicon, words_of
from compactlab.quality.words import LINE_END
from compactlab.session import Message

HORIZON = 50
"""Answers of the agent after the compaction whose needs count. A choice: no source gives one."""
NEAR = 6  # words on either side of an anchor: its neighbours
LEAST_NEIGHBOURS = 2  # of them must stand near it again, for the anchor to be bound


class Score(NamedTuple):
    """A figure and over how many things it is taken; NaN over none."""

    value: float
    n: int


def survives(anchor: int, shown: int) -> bool:
    """Whether an anchor stands in a text whose tokens are `shown` (see `anchors.Found`).

    The one rule of all metrics: a match of whole tokens, paths by their last two parts, case
    folded.
    """
    return bool(shown >> anchor & 1)


@dataclass(frozen=True)
class Span:
    """What is the same for every contestant: P before, Z removed, K kept as it was, F the future.

    Z and K make up P. F is recorded, and cut behind the horizon.
    """

    store: Store
    before: tuple[Message, ...]
    removed: tuple[Message, ...]
    kept: tuple[Message, ...]
    future: tuple[Message, ...]

    @cached_property
    def lexicon(self) -> Lexicon:
        """The names and numbers of the anchors."""
        return lexicon(self.store)

    @cached_property
    def shown_kept(self) -> int:
        """All tokens in K."""
        return joined(self.store, self.kept).shown

    @cached_property
    def shown_before(self) -> int:
        """All tokens in P, that is in Z and K."""
        return self._removed.shown | self.shown_kept

    @cached_property
    def at_risk(self) -> int:
        """R: the anchors named in Z that do not survive in K."""
        return self._removed.named & ~self.shown_kept

    @cached_property
    def _removed(self) -> Found:
        return joined(self.store, self.removed)

    @cached_property
    def removed_tokens(self) -> int:
        """Tokens of Z."""
        return sum(map(self.store.tokens, self.removed))

    @cached_property
    def memo(self) -> dict[str, object]:
        """What metrics found out about the span once, for all its contestants."""
        return {}


@dataclass(frozen=True)
class Case:
    """One contestant: the span and C, the context that stands after the compaction."""

    span: Span
    context: tuple[Message, ...]

    @cached_property
    def fresh(self) -> tuple[Message, ...]:
        """The messages of C that K does not hold: what stands for Z."""
        number = self.span.store.number
        kept = {number(message) for message in self.span.kept}
        return tuple(m for m in self.context if number(m) not in kept)

    @cached_property
    def shown(self) -> int:
        """All tokens in what stands for Z; anchors at risk do not survive anywhere else."""
        return joined(self.span.store, self.fresh).shown

    @cached_property
    def fresh_tokens(self) -> int:
        """Tokens of what stands for Z."""
        return sum(map(self.span.store.tokens, self.fresh))

    @cached_property
    def memo(self) -> dict[str, object]:
        """What metrics found out about the contestant."""
        return {}

    @cached_property
    def summaries(self) -> tuple[Message, ...]:
        """The summaries that stand for Z, each as a message of nothing else."""
        found = [(m, m.summary) for m in self.fresh]
        return tuple(m if len(m.blocks) == 1 else summary_message(summary.text)
                     for m, summary in found if summary is not None)


def case(before: History, after: History, future: Iterable[Message],
         horizon: int = HORIZON) -> Case:
    """The case of a compaction: K is what still stands in `after` as it was, Z the rest."""
    number = before.store.number
    standing = {number(message) for message in after}
    removed: list[Message] = []
    kept: list[Message] = []
    for message in before:
        (kept if number(message) in standing else removed).append(message)
    span = Span(before.store, tuple(before), tuple(removed), tuple(kept), within(future, horizon))
    return Case(span, tuple(after))


def within(future: Iterable[Message], horizon: int = HORIZON) -> tuple[Message, ...]:
    """The future up to and with the agent's answer number `horizon`."""
    found, answers = [], 0
    for message in future:
        if message.role == "assistant":
            answers += 1
            if answers > horizon:
                break
        found.append(message)
    return tuple(found)


def neighbours(store: Store, message: Message, anchors: Collection[int]
               ) -> Iterator[tuple[int, frozenset[int]]]:
    """(anchor, content words next to it) for each place where a message shows one of them."""
    shown = found_in(store, message).shown
    held = [anchor for anchor in anchors if survives(anchor, shown)]
    if held:
        known = store.once(message, "near", lambda m: dict[int, list[frozenset[int]]]())
        fresh = [anchor for anchor in held if anchor not in known]
        if fresh:
            known.update(_near(store, message, fresh))
        for anchor in held:
            for near in known[anchor]:
                yield anchor, near


def _near(store: Store, message: Message, anchors: Sequence[int]
          ) -> dict[int, list[frozenset[int]]]:
    """For each anchor the content words next to it, place by place: one pass over the words."""
    known = lexicon(store)
    wanted: dict[str, list[int]] = {}
    for anchor in anchors:
        for word in known.writers(anchor):
            wanted.setdefault(word, []).append(anchor)
    found: dict[int, list[frozenset[int]]] = {anchor: [] for anchor in anchors}
    for words in words_of(store, message):
        for at in [at for at, word in enumerate(words) if word in wanted]:
            for anchor in wanted[words[at]]:
                end = _end(known, anchor, words, at)
                if end:
                    found[anchor].append(_content(known, anchor, words, at, end))
    return found


def _end(known: Lexicon, anchor: int, words: Sequence[str], at: int) -> int:
    """Where the anchor that begins at a place ends; 0 if it is not there."""
    if anchor in known.entry(words[at]).shown:
        return at + 1
    if words[at] in known.openers and any(key == anchor for key, _ in known.phrases(words, at)):
        return at + max(known.keys[anchor].count(" ") + 1, 2)
    return 0


def _content(known: Lexicon, anchor: int, words: Sequence[str], at: int,
             end: int) -> frozenset[int]:
    found: set[int] = set()
    own = known.entry(words[at])
    if own.content != own.shown[:1]:  # ideographs around a name, without a space between
        found.update(own.content)
    for way in (range(at - 1, -1, -1), range(end, len(words))):
        left = NEAR
        for place in way:
            if words[place] == LINE_END:
                continue
            entry = known.entry(words[place])
            if anchor not in entry.shown:
                found.update(entry.content)
            left -= 1
            if not left:
                break
    found.discard(anchor)
    return frozenset(found)
