"""Repeated compaction: what is left of a round's anchors after each further round."""

from __future__ import annotations

from math import nan
from typing import TYPE_CHECKING, NamedTuple

from compactlab.quality.anchors import joined
from compactlab.quality.cuts import is_stub
from compactlab.quality.profile import case_of
from compactlab.session import Message

if TYPE_CHECKING:
    from compactlab.replay import Replay


class Survival(NamedTuple):
    """How many of the anchors that round `origin` put at risk stand after round `round`.

    Rounds count from 1. An anchor that a later recorded message shows again is no longer counted,
    so `n`, the anchors that only compactions carry, shrinks. `tokens` are of the new history.
    """

    origin: int
    round: int
    request: int
    survival: float
    n: int
    tokens: int

    @property
    def age(self) -> int:
        """Rounds since the anchors were put at risk; 0 = the round that did it."""
        return self.round - self.origin


def survival_by_round(replay: Replay) -> tuple[Survival, ...]:
    """A row for each pair of an origin and a later or the same round, in order of rounds.

    Rounds are the replay's compactions that changed the history and were not silent. Empty where
    the summaries are sized stubs.
    """
    store, cohorts, found = replay.store, list[int](), list[Survival]()
    seen: set[int] = set()
    rounds = [m for m in replay.made if m.compaction.changed and not m.compaction.silent]
    for number, made in enumerate(rounds, 1):
        case = case_of(replay, made)
        if is_stub(case):
            return ()
        recorded = {store.number(m): m for m in made.before if _is_recorded(m)}
        again = joined(store, (m for key, m in recorded.items() if key not in seen)).shown
        seen.update(recorded)
        cohorts = [cohort & ~again for cohort in cohorts]
        removed = joined(store, filter(_is_recorded, case.span.removed)).named
        cohorts.append(removed & ~case.span.shown_kept)
        shown, tokens = joined(store, case.context).shown, made.compaction.after
        for origin, cohort in enumerate(cohorts, 1):
            count = cohort.bit_count()
            survival = (cohort & shown).bit_count() / count if count else nan
            found.append(Survival(origin, number, made.request, survival, count, tokens))
    return tuple(found)


def _is_recorded(message: Message) -> bool:
    return message.summary is None and message.source is None
