"""Observation masking: old tool results become one line; reasoning and calls stay.

Decided here, where the sources are silent: a turn is one answer of the model; a result belongs to
the newest answer in front of it, also where it comes late. Every older result is masked, however
short (so a placeholder can be longer than what it stands for), its images with it; stubs have
nothing to mask. The line is a wording of our own and counts the lines of the recorded text. The
mask stands in the history, which comes to the same as masking anew before each request. It works
silently, before each request, at any size; asked for by hand it does the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from compactlab.fold import Fold
from compactlab.history import History
from compactlab.pieces.prune import exchanged, placeholder, standing
from compactlab.session import Image, Message
from compactlab.setting import check_settings, setting
from compactlab.strategy import Compaction, Situation, Step, no_op

PAPER = "arXiv 2508.21433, section 4 (paper)"
CODE = "SWE-agent, history_processors.py: LastNObservations (code)"
PLACEHOLDER = "[Old tool output: {lines} lines omitted]"
WITH_IMAGES = "[Old tool output: {lines} lines and {images} images omitted]"
UNMASKABLE = ("placeholder", "stub")


class Seen(NamedTuple):
    """Answers so far, and the results that are not masked: (number of the answer, index)."""

    answers: int = 0
    results: tuple[tuple[int, int], ...] = ()


def _step(state: Seen, message: Message, index: int) -> Seen:
    if message.role == "tool":
        if message.result is None or message.kind in UNMASKABLE:
            return state
        return Seen(state.answers, (*state.results, (state.answers, index)))
    if message.role == "assistant" and message.kind != "synthetic":
        return Seen(state.answers + 1, state.results)
    return state


UNMASKED = Fold("results that are not masked", Seen(), _step)


@dataclass(frozen=True)
class ObservationMasking:
    """Masks the results of all answers but the newest; silent, before each request."""

    name: ClassVar[str] = "observation_masking"
    triggers: ClassVar[frozenset[str]] = frozenset({"request", "manual"})

    keep_turns: int = setting(10, "newest answers whose results stay", unit="answers", low=0,
                              source=f"{PAPER}: M = 10; {CODE}: n = 5 in its 2024 set-up")
    polling: int = setting(
        1, "mask each time so many answers have come, so that the cached prefix changes rarely",
        unit="answers", low=1, source=f"{CODE}: polling")

    def __post_init__(self) -> None:
        check_settings(self)

    def __call__(self, history: History, situation: Situation) -> Compaction | None:
        """Masks what is older than the newest answers; None (by hand: a no-op) if nothing is."""
        state = history.fold(UNMASKED)
        newest_masked = state.answers // self.polling * self.polling - self.keep_turns
        if not state.results or state.results[0][0] > newest_masked:
            return no_op(history, self.name, "too_short") if situation.trigger == "manual" else None
        places = [place for answer, place in state.results if answer <= newest_masked]
        return history.remember((self.name, len(places)), lambda: self._mask(history, places))

    def _mask(self, history: History, places: list[int]) -> Compaction:
        copies = {place: history.once(message, self.name, masked)
                  for place, message in standing(history, places).items()}
        return exchanged(history, self.name, copies, silent=True, cleared=len(places),
                         steps=(Step("mask", f"{len(places)} tool results masked", len(places)),))


def masked(message: Message) -> Message:
    """The tool message as a placeholder that says how many lines and images were there."""
    result = message.original.result
    content = result.content if result else ()
    images = sum(isinstance(part, Image) for part in content)
    lines = len(result.text.splitlines()) if result else 0
    form = WITH_IMAGES if images else PLACEHOLDER
    return placeholder(message, form.format(lines=lines, images=images))
