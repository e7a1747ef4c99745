"""Auto compaction: over a fixed estimate, everything becomes one summary and an acknowledgement."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import ClassVar

from compactlab.errors import SummaryFailed
from compactlab.history import History
from compactlab.pieces.assemble import part_at_summary, summary_message
from compactlab.pieces.boundaries import before_open_call
from compactlab.pieces.secrets import masked
from compactlab.pieces.wire import wire_estimate, wire_messages
from compactlab.session import Message, Text, compact_json
from compactlab.setting import check_settings, setting
from compactlab.strategies._switches import mask_secrets, refuse_growth, strike_limit, switch
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

SOURCE = "shareAI-lab/learn-claude-code, session s06: auto_compact"
INSTRUCTION = ("Summarize this conversation so that the work can go on from your summary alone: "
               "what was asked, what has been done, the state of things, decisions, what is "
               "left.\n\n")
SUMMARY_PREFIX = "[Compressed]\n\n"
FOCUS = "Above all keep: {focus}\n\n"
ACKNOWLEDGEMENT = "Understood. Continuing."


@dataclass(frozen=True)
class Auto:
    """Replaces the whole history by a summary: over the threshold, or when `compact` is called."""

    name: ClassVar[str] = "auto"
    triggers: ClassVar[frozenset[str]] = frozenset({"request", "tool", "manual"})

    threshold: int = setting(50_000, "estimate over which it fires before a request",
                             unit="estimated tokens", low=0, source=SOURCE)
    input_chars: int = setting(80_000, "characters of the history that the summariser sees",
                               unit="characters", low=1, source=SOURCE)
    answer_limit: int = setting(2_000, "answer limit of the summary call", unit="tokens", low=1,
                                source=SOURCE)

    newest_input: bool = switch(
        "the summariser sees the newest characters, cut at a message, not the first ones")
    skip_acknowledgement: bool = switch("no acknowledgement where the model's own answer follows")
    carry_request: bool = switch("the latest user request is carried word for word")
    use_focus: bool = switch("the focus that the model names goes into the prompt")
    mask_secrets: bool = mask_secrets()
    refuse_growth: bool = refuse_growth()
    strike_limit: int = strike_limit()

    def __post_init__(self) -> None:
        check_settings(self)

    def __call__(self, history: History, situation: Situation) -> Compaction | None:
        """One compaction; None before a request whose estimate is not over the threshold."""
        if situation.trigger == "request" and wire_estimate(history) <= self.threshold:
            return None
        if situation.struck_out(self.name, self.strike_limit):
            return no_op(history, self.name, "struck_out")
        plan = history.remember((self, situation.focus),
                                lambda: self._plan(history, situation.focus))
        if isinstance(plan, str):
            return no_op(history, self.name, plan)
        request, end = plan
        transcript = Step("transcript", f"{len(history)} messages", len(history), history)
        try:
            summary = ask(request, situation)
        except SummaryFailed as failure:
            return no_op(history, self.name, "summary_failed", calls=(request,),
                         steps=(transcript, Step("summary", str(failure))))
        if self.mask_secrets:
            summary = masked(summary)
        tail = self._compressed(history, summary, end, situation.trigger == "manual")
        made = changed(history, self.name, history.lead, tail, summary=summary, calls=(request,),
                       steps=(transcript, Step("summary", f"{end} messages", end)))
        if self.refuse_growth and made.after > made.before:
            return no_op(history, self.name, "would_grow", calls=made.calls, steps=made.steps)
        return made

    def _plan(self, history: History, focus: str) -> tuple[SummaryRequest, int] | Reason:
        """The summary call and how many messages it covers, system prompt left out."""
        messages = history.since(history.lead)
        if len(messages) <= 1 or all(m.role == "tool" for m in messages):
            return "too_short"
        end = before_open_call(messages)
        if end == 0:
            return "no_safe_split"
        gone = messages[:end]
        parted = part_at_summary(gone)
        previous = parted[1].removeprefix(SUMMARY_PREFIX) if parted else ""
        span = tuple(m for m in gone if m.summary is None)
        told = FOCUS.format(focus=focus) if self.use_focus and focus.strip() else ""
        shown = newest_chars if self.newest_input else first_chars
        parts = (INSTRUCTION + told + shown(gone, self.input_chars),)
        return SummaryRequest(span, parts, self.answer_limit, history.store, previous, focus), end

    def _compressed(self, history: History, summary: str, end: int, manual: bool
                    ) -> list[Message]:
        """What stands behind the system prompt."""
        lead, kept = history.lead, history.since(history.lead + end)
        after = [summary_message(SUMMARY_PREFIX + summary)]
        if self.carry_request and not any(m.starts_turn for m in kept):
            asked = [m for m in history[lead : lead + end] if m.starts_turn]
            after += map(_without_summary, asked[-1:])
        # In the middle of a turn, or in front of an open call, the model's own answer comes next.
        answered = history[-1].role == "assistant" and not kept
        if not self.skip_acknowledgement or (manual and answered):
            after.append(Message("assistant", (Text(ACKNOWLEDGEMENT),), "acknowledgement"))
        return [*after, *kept]


def _without_summary(message: Message) -> Message:
    """The recorded message behind one that a summary block was merged into."""
    return message.original if message.summary is not None else message


def newest_chars(messages: tuple[Message, ...], limit: int) -> str:
    """The newest messages as JSON of at most `limit` characters, cut at a message, unescaped.

    A message that is longer alone is cut at its start.
    """
    kept: list[str] = []
    size = 2
    for value in reversed(wire_messages(messages)):
        text = compact_json(value)
        if kept and size + len(text) + 1 > limit:
            break
        kept.append(text[-limit:])
        size += len(text) + 1
    return "[" + ",".join(reversed(kept)) + "]"


def first_chars(messages: tuple[Message, ...], limit: int) -> str:
    """The first `limit` characters of the messages as JSON, non-ASCII escaped as described."""
    parts, size = ["["], 1
    for index, value in enumerate(wire_messages(messages)):
        text = (", " if index else "") + json.dumps(value)
        parts.append(text)
        size += len(text)
        if size > limit:
            break
    else:
        parts.append("]")
    return "".join(parts)[:limit]
