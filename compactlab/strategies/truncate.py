"""Truncation of long tool results while the latest compaction asks for it; silent, reversible."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

from compactlab.fold import Fold
from compactlab.history import History
from compactlab.pieces.prune import Cut, exchanged, standing
from compactlab.session import Message, Text
from compactlab.setting import check_settings, setting
from compactlab.strategies._switches import switch
from compactlab.strategy import Compaction, Situation, Step

SOURCE = '"Context compaction", documentation of a Go coding agent, 2026: TruncateResults'
Indexes = tuple[int, ...]


def _cut_copy(found: Indexes, message: Message, index: int) -> Indexes:
    return (*found, index) if message.kind == "cut" else found


CUT_COPIES: Fold[Indexes] = Fold("cut copies", (), _cut_copy)


@lru_cache
def long_results(lines: int, chars: int = 0) -> Fold[Indexes]:
    """Indexes of tool results with a text of more than `lines` lines that are not cut yet.

    With `chars` > 0 also those with a text of more characters than that.
    """

    def step(found: Indexes, message: Message, index: int) -> Indexes:
        if message.role != "tool" or message.kind == "cut" or message.result is None:
            return found
        texts = (part.text for part in message.result.content if isinstance(part, Text))
        long = any(t.count("\n") - t.endswith("\n") >= lines or 0 < chars < len(t)
                   for t in texts)  # as `Cut.text` counts them
        return (*found, index) if long else found

    return Fold(f"results over {lines} lines", (), step)


@dataclass(frozen=True)
class Truncate:
    """Keeps the first and last lines of long tool results while the flag of a compaction stands."""

    name: ClassVar[str] = "truncate"
    triggers: ClassVar[frozenset[str]] = frozenset({"request", "overflow"})

    head_lines: int = setting(20, "first lines of a long result that stay", unit="lines", low=1,
                              source=SOURCE)
    tail_lines: int = setting(20, "last lines of a long result that stay", unit="lines", low=1,
                              source=SOURCE)

    max_chars: int = switch("characters that a cut result may keep at most; 0 = no limit", 0,
                            unit="characters", low=0, fixed=8_000)
    only_before: bool = switch(
        "only results that stood before the compaction are cut, not later ones")
    refuse_growth: bool = switch("a result that its cut would lengthen stays")

    def __post_init__(self) -> None:
        check_settings(self)

    def __call__(self, history: History, situation: Situation) -> Compaction | None:
        """Cuts what is too long while the flag stands; afterwards brings the originals back."""
        latest = situation.latest
        if latest is not None and latest.truncate_results:
            return self._cut(history, len(latest.history) if self.only_before else len(history))
        copies = history.fold(CUT_COPIES)
        if not copies:
            return None
        return history.remember("restore", lambda: self._changed(history, copies, None))

    def _cut(self, history: History, end: int) -> Compaction | None:
        long = history.fold(long_results(self.head_lines + self.tail_lines, self.max_chars))
        if not long or long[0] >= end:
            return None
        found = tuple(index for index in long if index < end)
        cut = Cut(self.head_lines, self.tail_lines, self.max_chars)
        return history.remember((cut, end, self.refuse_growth), lambda: self._changed(
            history, self._saving(history, found, cut) if self.refuse_growth else found, cut))

    def _saving(self, history: History, found: Indexes, cut: Cut) -> Indexes:
        tokens = history.store.tokens
        return tuple(at for at, message in standing(history, found).items()
                     if tokens(history.once(message, cut, cut.message)) < tokens(message))

    def _changed(self, history: History, found: Indexes, cut: Cut | None) -> Compaction | None:
        if not found:
            return None
        copies = {at: old.original if cut is None else history.once(old, cut, cut.message)
                  for at, old in standing(history, found).items()}
        verb = "restored" if cut is None else "truncated"
        return exchanged(history, self.name, copies, silent=True,
                         truncated=0 if cut is None else len(found),
                         steps=(Step(verb, f"{len(found)} tool results {verb}", len(found)),))
