"""Clearing of tool uses: over a size the oldest tool results become placeholders.

The provider edits each request anew on its side: the client goes on sending the whole history, so
once that is over the trigger, each request has all but the newest results cleared, and the cached
prefix ends where the newest clearing is. `stateless` says so; off, what is cleared stays cleared
and the trigger waits until the edited prompt is over it again. Input tokens are those that a
request would report: hidden head, tools, system prompt and messages, counted before the edit.

Decided here, where the documentation is silent: the words of the placeholder; `keep` counts every
tool result, also excluded and cleared ones (as LangChain's ClearToolUsesEdit does); images in a
result go with it; short results are cleared too, so it can grow. What would clear less than
`clear_at_least` is not done, as documented; later requests of a stateless edit hold what was
cleared before, so they always reach it. Silent, as a request's edit is no compaction of its own.
By hand it clears at any size.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from compactlab.fold import Fold
from compactlab.history import History
from compactlab.pieces.prune import exchanged, placeholder, standing
from compactlab.session import Block, Message, ToolCall, pairs
from compactlab.setting import check_settings, setting
from compactlab.strategies.micro import Pending, clearable
from compactlab.strategy import Compaction, Situation, Step, no_op

SOURCE = "Claude API, context editing: clear_tool_uses_20250919 (documentation)"
CLEARED = "[Tool result cleared to make room; call the tool again if it is needed]"
NO_ARGUMENTS = "{}"
ALL = -1  # results with more characters than this


def _cleared(found: bool, message: Message, index: int) -> bool:
    return found or (message.kind == "placeholder" and message.text == CLEARED)


HAS_CLEARED: Fold[bool] = Fold("a result was cleared", False, _cleared)


@dataclass(frozen=True)
class ClearToolUses:
    """Clears all tool results but the newest few once the prompt is over a size; silent."""

    name: ClassVar[str] = "clear_tool_uses"
    triggers: ClassVar[frozenset[str]] = frozenset({"request", "manual"})

    trigger: int = setting(100_000, "input tokens over which it clears", unit="tokens", low=0,
                           source=f"{SOURCE}: trigger")
    keep: int = setting(3, "newest tool results that stay", unit="results", low=0,
                        source=f"{SOURCE}: keep")
    clear_at_least: int = setting(0, "clear nothing where less than this would go (0 = none)",
                                  unit="tokens", low=0, source=f"{SOURCE}: clear_at_least")
    exclude_tools: str = setting("", "results of these tools stay, names separated by commas",
                                 source=f"{SOURCE}: exclude_tools")
    clear_tool_inputs: bool = setting(False, "clear the arguments of those calls too",
                                      source=f"{SOURCE}: clear_tool_inputs")
    stateless: bool = setting(
        True, "each request is edited anew; off: the trigger must be reached again",
        group="advanced", source=f"{SOURCE}: it is applied on the server, the client keeps the "
                                 "unmodified history")

    def __post_init__(self) -> None:
        check_settings(self)

    def __call__(self, history: History, situation: Situation) -> Compaction | None:
        """Clears what is older than the newest results; None (by hand: a no-op) if nothing is."""
        by_hand = situation.trigger == "manual"
        again = self.stateless and history.fold(HAS_CLEARED)
        if not (by_hand or again or situation.fixed + history.prompt_tokens > self.trigger):
            return None
        state = history.fold(clearable(ALL, self.exclude_tools))
        old = state.total - self.keep
        if not state.pending or state.pending[0].number >= old:
            return no_op(history, self.name, "too_short") if by_hand else None
        ready = [p for p in state.pending if p.number < old]
        key = (self.name, len(ready), self.exclude_tools, self.clear_tool_inputs)
        made = history.remember(key, lambda: self._clear(history, ready))
        least = self.clear_at_least
        enough = by_hand or again or not least or made.before - made.after >= least
        return made if enough else None

    def _clear(self, history: History, ready: list[Pending]) -> Compaction:
        copies = {at: history.once(message, CLEARED, _without_result)
                  for at, message in standing(history, [p.place for p in ready]).items()}
        if self.clear_tool_inputs:
            copies |= _without_inputs(history, copies)
        return exchanged(history, self.name, copies, silent=True, cleared=len(ready),
                         steps=(Step("clear", f"{len(ready)} tool results cleared", len(ready)),))


def _without_result(message: Message) -> Message:
    return placeholder(message, CLEARED)


def _without_inputs(history: History, cleared: dict[int, Message]) -> dict[int, Message]:
    """The answers whose calls the cleared results answer, without the arguments of these calls."""
    found: dict[int, Message] = {}
    paired = pairs(history)
    for place, caller in paired.caller.items():
        if place in cleared:
            message = found.get(caller, history[caller])
            found[caller] = _without_arguments(message, paired.number[place])
    return {place: m for place, m in found.items() if m is not history[place]}


def _without_arguments(message: Message, number: int) -> Message:
    """The answer with no arguments in its call of this number."""
    call = message.calls[number]
    if call.arguments == NO_ARGUMENTS:
        return message
    blocks: list[Block] = list(message.blocks)
    place = [at for at, block in enumerate(blocks) if isinstance(block, ToolCall)][number]
    blocks[place] = ToolCall(call.id, call.name, NO_ARGUMENTS)
    return Message(message.role, tuple(blocks), "cut", message.id, message.time, message.original)
