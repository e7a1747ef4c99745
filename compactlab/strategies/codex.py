"""Codex: near the window all becomes the newest user messages and a summary behind them.

Decided here, where the source is silent or a recording differs: the prompt is measured as it would
be reported, hidden head and tools included, before each request (the source looks at the last
report and at what has come since). User messages are those of the user alone, lines of the client
and earlier summaries are not; their texts stay and their images go, a message of nothing else goes
whole. Their budget is in the source's own measure, bytes / 4, and a message that is cut keeps its
first and last half. An earlier summary is handed over to be updated. What stands behind the oldest
open call stays behind the summary. A summary call that overflows the summariser's window is made
again without the oldest messages, calls and results together; when no part fits, or the summariser
fails otherwise, nothing changes. A refused request is not answered: the source ends that turn too,
and compacts before the next one. The source names no answer limit: it is that of the other
strategies here. The words of prompt and preface are our own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from compactlab.errors import BadSetting, SummaryFailed
from compactlab.history import History
from compactlab.pieces.assemble import part_at_summary, summary_message
from compactlab.pieces.boundaries import before_open_call, group_starts
from compactlab.pieces.prompt import summary_call
from compactlab.pieces.shares import share_of
from compactlab.session import Message, Text
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

SOURCE = "Codex, codex-rs/core/src/compact.rs (code)"
PREFACE = ("[Handover] What came before was compacted. The model that worked on it left this "
           "summary; build on it and do not repeat what is done.\n")
CUT_MARK = "[... {n} tokens truncated ...]"
BYTES_PER_TOKEN = 4


class Plan(NamedTuple):
    """What is summarised, what stays behind it, the earlier summary, the user messages kept."""

    span: list[Message]
    rest: list[Message]
    previous: str
    asked: list[Message]


@dataclass(frozen=True)
class Codex:
    """Keeps the newest user messages and a summary; all answers and tool items go."""

    name: ClassVar[str] = "codex"
    triggers: ClassVar[frozenset[str]] = frozenset({"request", "manual"})

    threshold: float = setting(
        0.9, "share of the window from which it compacts", low=0.0, high=1.0,
        unit="share of the window",
        source="Codex, codex-rs/protocol/src/openai_models.rs: auto_compact_token_limit (code)")
    user_tokens: int = setting(20_000, "newest user messages that stay, in bytes / 4",
                               unit="estimated tokens", low=0,
                               source=f"{SOURCE}: COMPACT_USER_MESSAGE_MAX_TOKENS")
    answer_limit: int = setting(4096, "answer limit of the summary call", unit="tokens", low=1,
                                group="advanced", source="decided here: the source names none")

    def __post_init__(self) -> None:
        check_settings(self)

    def derived(self, window: int) -> dict[str, int]:
        """The numbers that follow from the settings at a window."""
        return {"threshold_tokens": share_of(window, self.threshold)}

    def __call__(self, history: History, situation: Situation) -> Compaction | None:
        """One compaction; None before a request whose prompt is below the threshold."""
        if situation.trigger == "request":
            if situation.window is None:
                raise BadSetting("codex needs a window: its threshold is a share of it")
            limit = share_of(situation.window, self.threshold)
            if situation.fixed + history.prompt_tokens < limit:
                return None
        plan = history.remember((self, "plan"), lambda: self._plan(history))
        if not isinstance(plan, Plan):
            return no_op(history, self.name, plan)
        return self._compact(history, situation, plan)

    def _plan(self, history: History) -> Plan | Reason:
        messages = history.since(history.lead)
        end = before_open_call(messages)
        parted = part_at_summary(messages[:end])
        previous = parted[1].removeprefix(PREFACE) if parted else ""
        span = [*parted[2], *parted[3]] if parted else list(messages[:end])
        if len(span) <= 1 or all(m.role == "tool" for m in span):
            return "no_safe_split" if end < len(messages) else "too_short"
        return Plan(span, list(messages[end:]), previous, self._asked(history, span))

    def _asked(self, history: History, span: list[Message]) -> list[Message]:
        """The newest user messages that the budget takes, oldest first, the last of them cut."""
        kept: list[Message] = []
        room = self.user_tokens
        for message in reversed(span):
            text = _user_text(message)
            if room <= 0:
                break
            if not text:
                continue
            size = estimate(text)
            kept.append(history.once(message, ("codex", min(room, size)), _Shortened(room)))
            room -= size
        return kept[::-1]

    def _compact(self, history: History, situation: Situation, plan: Plan) -> Compaction:
        failure, calls = "no message to summarise", tuple[SummaryRequest, ...]()
        for request in self._requests(history, situation, plan):
            calls = (request,)
            try:
                summary = ask(request, situation)
            except SummaryFailed as failed:
                failure = str(failed)
                if failed.why != "window":
                    break
            else:
                return self._made(history, plan, request, summary)
        return no_op(history, self.name, "summary_failed", calls=calls,
                     steps=(Step("summary", failure),))

    def _requests(self, history: History, situation: Situation, plan: Plan
                  ) -> Iterator[SummaryRequest]:
        """Summary calls, each without the oldest messages that did not fit the window."""
        def request(start: int) -> SummaryRequest:
            return summary_call(history.store, plan.span[start:], previous=plan.previous,
                                limit=self.answer_limit, focus=situation.focus)

        starts = group_starts(plan.span)
        safe = [b for b in range(len(plan.span)) if starts[b] == b]
        low, high, window = 0, len(safe) - 1, situation.summariser_window
        if window is None or request(0).prompt_tokens + self.answer_limit <= window:
            high = 0
        while low < high:  # the oldest start that fits: the prompt shrinks with every step
            middle = (low + high) // 2
            if request(safe[middle]).prompt_tokens + self.answer_limit <= window:  # type: ignore[operator]
                high = middle
            else:
                low = middle + 1
        yield from map(request, safe[low:])

    def _made(self, history: History, plan: Plan, request: SummaryRequest, summary: str
              ) -> Compaction:
        tail = [*plan.asked, summary_message(PREFACE + summary), *plan.rest]
        seen, gone = len(request.messages), len(plan.span) - len(plan.asked)
        return changed(
            history, self.name, history.lead, tail, summary=summary, calls=(request,), steps=(
                Step("summary", f"{seen} of {len(plan.span)} messages fitted the call", seen),
                Step("keep", f"{len(plan.asked)} user messages stay", len(plan.asked)),
                Step("drop", f"{gone} messages dropped", gone)))


def estimate(text: str) -> int:
    """Tokens as the source estimates them: bytes / 4, rounded up."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // BYTES_PER_TOKEN)


def _user_text(message: Message) -> str:
    """The text of a message of the user, whole; empty for all others."""
    origin = message.original
    if not origin.starts_turn:
        return ""
    return "\n".join(block.text for block in origin.blocks if isinstance(block, Text))


@dataclass(frozen=True)
class _Shortened:
    """Makes the copy of a user message that takes no more than `room` tokens beside its mark."""

    room: int

    def __call__(self, message: Message) -> Message:
        origin, text = message.original, _user_text(message)
        size = estimate(text)
        if size <= self.room:
            if all(isinstance(block, Text) for block in origin.blocks):
                return origin
            texts: tuple[Text, ...] = tuple(b for b in origin.blocks if isinstance(b, Text))
        else:
            half = self.room * BYTES_PER_TOKEN // 2
            start, end = _fitting(text, half), _fitting(text[::-1], half)
            mark = CUT_MARK.format(n=size - self.room)
            texts = (Text(f"{text[:start]}\n{mark}\n{text[len(text) - end:]}"),)
        return Message("user", texts, "cut", origin.id, origin.time, origin)


def _fitting(text: str, room: int) -> int:
    """How many characters from the start take no more than `room` bytes."""
    for index, char in enumerate(text):
        room -= len(char.encode("utf-8", "surrogatepass"))
        if room < 0:
            return index
    return len(text)
