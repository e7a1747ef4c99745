"""pi: between turns, near the window, all but the newest 20,000 tokens becomes a summary.

The source looks whether the context is over window - reserve when a run of the agent has ended and
before a prompt of the user, never between the tool calls of a run; within one it answers a refusal,
once until a request is served again. So the triggers are `turn` and `overflow`; `within_turns`
adds the same look before each request. The cut comes at the first message that is no tool result,
from where the newest messages reach `keep_recent` (characters / 4, an image 4,800 characters). A
cut behind the start of a turn gets a second summary of that turn's earlier part.

Decided here, where the source is silent or a recording differs: the context is the prompt as it
would be reported, hidden head and tools included; every user-role message starts a turn, summaries
excepted; no open call is parted from its result; where only the earlier part of a turn goes, an
earlier summary stays as it is. A failed summary changes nothing. Where no message would go, it is
`too_short`: with a small window that is so until the messages are larger than `keep_recent`. The
lists of files read and changed that the source adds to its summary are left out. The words of
prompts and preface are our own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from compactlab.errors import BadSetting, SummaryFailed
from compactlab.history import History
from compactlab.pieces.assemble import part_at_summary, summary_message
from compactlab.pieces.boundaries import align_backward
from compactlab.pieces.prompt import summary_call
from compactlab.pieces.shares import share_of
from compactlab.session import Image, Message, Summary, Text, Thinking, ToolCall, ToolResult
from compactlab.setting import check_settings, setting
from compactlab.strategy import (
    Compaction,
    Reason,
    Situation,
    Step,
    SummaryRequest,
    ask,
    changed,
    no_op,
)

SOURCE = "pi, packages/coding-agent/src/core/compaction/compaction.ts (code)"
UTILS = "pi, packages/coding-agent/src/core/compaction/utils.ts (code)"
SESSION = "pi, packages/coding-agent/src/core/agent-session.ts (code)"
PREFACE = "What came before was compacted into this summary:\n\n"
TURN_HEADING = "\n\n---\n\n**The current turn, its earlier part:**\n\n"
NOTHING_BEFORE = "Nothing came before the current turn."
TURN_FOCUS = ("this is the earlier part of one turn whose newer part stays: what the user asked "
              "for, what was decided and done, what the newer part needs to be understood")
CHARS_PER_TOKEN = 4
IMAGE_CHARS = 4800
CUT_MARK = "\n\n[... {n} more characters truncated]"


class Plan(NamedTuple):
    """What stays, and the summary calls for what goes: all before the turn, and of the turn."""

    kept: tuple[Message, ...]
    previous: str
    before: SummaryRequest | None
    turn: SummaryRequest | None


@dataclass(frozen=True)
class Pi:
    """Keeps the newest messages by size and a summary of the rest, two for a turn that is cut."""

    name: ClassVar[str] = "pi"
    triggers: ClassVar[frozenset[str]] = frozenset({"turn", "request", "overflow", "manual"})

    reserve: int = setting(16_384, "room of the window that is left for the answer",
                           unit="tokens", low=0, source=f"{SOURCE}: reserveTokens")
    keep_recent: int = setting(20_000, "newest messages that stay, in characters / 4",
                               unit="estimated tokens", low=0,
                               source=f"{SOURCE}: keepRecentTokens")
    result_chars: int = setting(2_000, "characters of a tool result that the summariser sees",
                                unit="characters", low=0, source=f"{UTILS}: TOOL_RESULT_MAX_CHARS")
    summary_share: float = setting(0.8, "answer limit of the summary as a share of the reserve",
                                   low=0.0, high=1.0, group="advanced",
                                   source=f"{SOURCE}: generateSummary")
    turn_share: float = setting(0.5, "the same for the earlier part of a turn", low=0.0, high=1.0,
                                group="advanced", source=f"{SOURCE}: generateTurnPrefixSummary")
    within_turns: bool = setting(False, "look before each request too, not only between turns",
                                 source=f"{SESSION}: _checkCompaction is called at the end of a "
                                        "run and before a prompt")
    max_attempts: int = setting(1, "refusals that are answered until a request is served",
                                unit="refusals", low=0, group="advanced",
                                source=f"{SESSION}: _overflowRecoveryAttempted")
    reset_on_success: bool = setting(True, "a served request lets it answer a refusal again",
                                     group="advanced",
                                     source=f"{SESSION}: _overflowRecoveryAttempted")

    def __post_init__(self) -> None:
        check_settings(self)

    def derived(self, window: int) -> dict[str, int]:
        """The numbers that follow from the settings at a window."""
        return {"threshold_tokens": window - self.reserve,
                "summary_limit": self._limit(self.summary_share),
                "turn_limit": self._limit(self.turn_share)}

    def __call__(self, history: History, situation: Situation) -> Compaction | None:
        """One compaction; None while the prompt is not over the threshold or refused too often."""
        if not self._fires(history, situation):
            return None
        plan = history.remember((self, situation.focus),
                                lambda: self._plan(history, situation.focus))
        if not isinstance(plan, Plan):
            return no_op(history, self.name, plan)
        calls: list[SummaryRequest] = []
        answers = [plan.previous, ""]
        for place, call in enumerate((plan.before, plan.turn)):
            if call is None:
                continue
            calls.append(call)
            try:
                answers[place] = ask(call, situation)
            except SummaryFailed as failure:
                return no_op(history, self.name, "summary_failed", calls=tuple(calls),
                             steps=(Step("summary", str(failure)),))
        before, turn = answers
        summary = f"{before or NOTHING_BEFORE}{TURN_HEADING}{turn}" if turn else before
        return history.remember((self, situation.focus, summary),
                                lambda: self._made(history, plan, summary, tuple(calls)))

    def _fires(self, history: History, situation: Situation) -> bool:
        if situation.trigger == "manual":
            return True
        if situation.trigger == "overflow":
            return situation.attempt <= self.max_attempts
        if situation.trigger == "request" and not self.within_turns:
            return False
        if situation.window is None:
            raise BadSetting("pi needs a window: it compacts over window - reserve")
        return situation.fixed + history.prompt_tokens > situation.window - self.reserve

    def _limit(self, share: float) -> int:
        return max(share_of(self.reserve, share), 1)

    def _plan(self, history: History, focus: str) -> Plan | Reason:
        previous, lead = "", history.lead
        branch = list(history.since(lead))
        parted = part_at_summary(history)
        if parted is not None:
            previous = parted[1].removeprefix(PREFACE)
            branch = parted[2][lead:] + parted[3]
        cut = self._cut(history, branch)
        if cut <= 0:
            return "too_short"
        start = _turn_start(branch, cut)
        before, turn = branch[:start], branch[start:cut]
        return Plan(
            tuple(branch[cut:]), previous,
            self._request(history, before, self.summary_share, previous, focus),
            self._request(history, turn, self.turn_share, "", TURN_FOCUS))

    def _cut(self, history: History, branch: list[Message]) -> int:
        """Index of the first message that stays; 0 = all stay."""
        size = 0
        for index in range(len(branch) - 1, -1, -1):
            size += history.once(branch[index], "pi size", estimate)
            if size >= self.keep_recent:
                cuts = (i for i in range(index, len(branch)) if branch[i].role != "tool")
                return align_backward(branch, next(cuts, 0))
        return 0

    def _request(self, history: History, messages: Sequence[Message], share: float, previous: str,
                 focus: str) -> SummaryRequest | None:
        if not messages:
            return None
        span = [history.once(m, ("pi cut", self.result_chars), self._shortened)
                for m in messages]
        return summary_call(history.store, span, previous=previous, limit=self._limit(share),
                            focus=focus)

    def _shortened(self, message: Message) -> Message:
        """The message as the summariser sees it: the start of a long tool result."""
        result, text = message.result, message.text
        if message.role != "tool" or result is None or len(text) <= self.result_chars:
            return message
        cut = text[: self.result_chars] + CUT_MARK.format(n=len(text) - self.result_chars)
        return Message("tool", (ToolResult(result.call_id, (Text(cut),), result.is_error),), "cut",
                       message.id, message.time, message.original)

    def _made(self, history: History, plan: Plan, summary: str,
              calls: tuple[SummaryRequest, ...]) -> Compaction:
        tail = [summary_message(PREFACE + summary), *plan.kept]
        gone = sum(len(call.messages) for call in calls)
        detail = f"{gone} messages summarised, {len(plan.kept)} stay"
        steps = [Step("cut", detail, gone)]
        if plan.turn is not None:
            part = len(plan.turn.messages)
            steps.append(Step("split turn", f"{part} of them belong to the current turn", part))
        return changed(history, self.name, history.lead, tail, summary=summary, calls=calls,
                       steps=tuple(steps))


def _turn_start(branch: Sequence[Message], cut: int) -> int:
    """Where the turn that the cut parts begins; the cut itself where it parts none."""
    for index in range(min(cut, len(branch) - 1), -1, -1):
        if branch[index].role == "user":
            return index
    return cut


def estimate(message: Message) -> int:
    """Tokens as the source estimates them: characters / 4, rounded up, images at a fixed size."""
    chars = 0
    for block in message.blocks:
        for part in block.content if isinstance(block, ToolResult) else (block,):
            if isinstance(part, Text | Thinking | Summary):
                chars += len(part.text)
            elif isinstance(part, ToolCall):
                chars += len(part.name) + len(part.arguments)
            elif isinstance(part, Image):
                chars += IMAGE_CHARS
    return -(-chars // CHARS_PER_TOKEN)
