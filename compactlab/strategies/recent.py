"""The newest events only: the first message and the newest ones stay, the middle is dropped.

Decided here, where the source is silent: an event is a message, so a call with its result counts
two, as an action and its observation do there. The system prompt stays and is not counted. Calls
and results stay whole: the tail starts at the first safe boundary, so that no more than
`max_events` stay; only the newest group stays whole above it, where it is larger than that. It
works before each request once there are more, at any size in tokens; asked for by hand it does the
same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from compactlab.history import History
from compactlab.pieces.boundaries import align_backward, first_safe
from compactlab.setting import check_settings, setting
from compactlab.strategy import Compaction, Reason, Situation, Step, changed, no_op

SOURCE = "OpenHands V0, RecentEventsCondenser (code)"


@dataclass(frozen=True)
class Recent:
    """Keeps the first messages and the newest, at most so many in all; no summary."""

    name: ClassVar[str] = "recent"
    triggers: ClassVar[frozenset[str]] = frozenset({"request", "manual"})

    keep_first: int = setting(1, "first messages that stay, the system prompt not counted",
                              unit="messages", low=0, source=f"{SOURCE}: keep_first")
    max_events: int = setting(100, "messages that stay, the first ones among them",
                              unit="messages", low=1, source=f"{SOURCE}: max_events")

    def __post_init__(self) -> None:
        check_settings(self)

    def __call__(self, history: History, situation: Situation) -> Compaction | None:
        """Drops the middle; None (by hand: a no-op) while there are not more than `max_events`."""
        if len(history) - history.lead <= self.max_events:
            return no_op(history, self.name, "too_short") if situation.trigger == "manual" else None
        made = history.remember(self, lambda: self._drop(history))
        return made if isinstance(made, Compaction) else no_op(history, self.name, made)

    def _drop(self, history: History) -> Compaction | Reason:
        messages, lead = history.since(history.lead), history.lead
        head = align_backward(messages, min(self.keep_first, len(messages)))
        wanted = len(messages) - max(self.max_events - head, 0)
        start = first_safe(messages, max(wanted, head))
        if start <= head:
            return "no_safe_split"
        gone = start - head
        return changed(history, self.name, lead + head, messages[start:],
                       steps=(Step("drop", f"{gone} messages dropped", gone),))
