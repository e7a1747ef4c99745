"""Trimming: over a share of the window the oldest part of the conversation is dropped.

The source keeps the system prompt and the input of the sample; of the rest it keeps the newest
share by number of messages, and repeats that, at most three times more, until the prompt is no
longer over the threshold. Decided here, where it is silent or where a recording differs: the input
is all up to the first user message, as the source does it for a sample without marked input;
system messages further down are conversation; where the cut would part a call from its results
they all go, in whole groups (the source drops the results and keeps a call that has others). The
number to drop is exact: 0.2 of 10 is 2, where the source's rounding gives 1. An answer at the end
stays, since a recording goes on behind it. Where four passes are not enough the source ends the
sample; here the trimmed history stays and the window decides. By hand: one pass at any size.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from compactlab.errors import BadSetting
from compactlab.history import History
from compactlab.pieces.boundaries import align_backward, first_safe
from compactlab.pieces.shares import share_of
from compactlab.session import Message
from compactlab.setting import check_settings, setting
from compactlab.strategy import Compaction, Reason, Situation, Step, changed, no_op

SOURCE = "inspect_ai, CompactionTrim and trim_messages (code)"


@dataclass(frozen=True)
class Trim:
    """Keeps the system prompt, the input and the newest share of the messages; no summary."""

    name: ClassVar[str] = "trim"
    triggers: ClassVar[frozenset[str]] = frozenset({"request", "manual"})

    threshold: float = setting(0.9, "share of the window over which it trims", low=0.0, high=1.0,
                               unit="share of the window", source=f"{SOURCE}: threshold")
    preserve: float = setting(0.8, "share of the conversation's messages that stays", low=0.0,
                              high=1.0, unit="share of the messages",
                              source=f"{SOURCE}: preserve")
    more_passes: int = setting(3, "passes after the first one, while it is over the threshold",
                               unit="passes", low=0, group="advanced",
                               source=f"{SOURCE}: MAX_ITERATIONS")

    def __post_init__(self) -> None:
        check_settings(self)

    def derived(self, window: int) -> dict[str, int]:
        """The numbers that follow from the settings at a window."""
        return {"threshold_tokens": share_of(window, self.threshold)}

    def __call__(self, history: History, situation: Situation) -> Compaction | None:
        """Trims; None while the prompt (head and tools included) is not over the threshold."""
        if situation.trigger == "manual":
            made = history.remember((self, "once"), lambda: self._trim(history, None))
        elif situation.window is None:
            raise BadSetting("trim needs a window: its threshold is a share of it")
        else:
            room = share_of(situation.window, self.threshold) - situation.fixed
            if history.prompt_tokens <= room:
                return None
            made = history.remember((self, room), lambda: self._trim(history, room))
        return made if isinstance(made, Compaction) else no_op(history, self.name, made)

    def _trim(self, history: History, room: int | None) -> Compaction | Reason:
        """Passes until the history takes no more than `room` tokens; None = one pass."""
        lead, messages = history.lead, history.since(history.lead)
        kept = _input(messages)
        new, start, passes = history, kept, 0
        while passes == 0 or (room is not None and new.prompt_tokens > room
                              and passes <= self.more_passes):
            further = self._pass(messages, kept, start)
            if further <= start:
                break
            start, passes = further, passes + 1
            new = history.replace(lead + kept, messages[start:])
        if not passes:
            enough = self._wanted(len(messages) - kept) > 0
            return "no_safe_split" if enough else "too_short"
        gone = start - kept
        return changed(history, self.name, lead + kept, messages[start:],
                       steps=(Step("drop", f"{gone} messages dropped, passes: {passes}", gone),))

    def _wanted(self, count: int) -> int:
        """How many of `count` messages one pass drops; fractions are cut off."""
        return int(count * (1 - Fraction(str(self.preserve))))

    def _pass(self, messages: tuple[Message, ...], kept: int, start: int) -> int:
        """Where the tail starts after one more pass."""
        wanted = self._wanted(len(messages) - start)
        return max(first_safe(messages, start + wanted), kept) if wanted else start


def _input(messages: tuple[Message, ...]) -> int:
    """How many messages are the input: up to the first user message, no open call parted."""
    first = next((i for i, m in enumerate(messages) if m.role == "user"), len(messages) - 1)
    return align_backward(messages, first + 1)
