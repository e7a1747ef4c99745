"""The recording's own compactions, so that the real thing stands in every comparison."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from compactlab.history import History
from compactlab.pieces.assemble import summary_message
from compactlab.strategy import Compaction, Situation, Step, changed

NO_SUMMARY = "[The recording does not hold the text of this summary]"


@dataclass(frozen=True)
class Recorded:
    """Applies each recorded compaction where it was made: its summary and what it kept.

    It is the only strategy whose later answers really followed from its history. It answers to
    `request`, only where the recording compacted; a refused request stays refused.
    """

    name: ClassVar[str] = "recorded"
    triggers: ClassVar[frozenset[str]] = frozenset({"request"})

    def __call__(self, history: History, situation: Situation) -> Compaction | None:
        """The recorded compaction that is due here; None where there is none."""
        due = situation.recorded
        if due is None:
            return None
        text = due.summary or NO_SUMMARY
        return changed(
            history, self.name, history.lead, [summary_message(text), *due.kept], summary=text,
            steps=(Step("recorded", f"{len(due.kept)} messages kept", len(due.kept)),))
