"""The compressor: head and tail protected, the middle pruned and summarised, one summary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from compactlab.errors import BadSetting
from compactlab.history import History
from compactlab.pieces.assemble import SUMMARY_PREFIX, join, with_note
from compactlab.pieces.parts import Parts, Protection
from compactlab.pieces.phase_one import prune
from compactlab.pieces.prompt import summary_call
from compactlab.pieces.repair import repair_pairs
from compactlab.pieces.shares import share_of
from compactlab.pieces.written import Written, bounded, written
from compactlab.session import Message
from compactlab.strategies._compressor_settings import CompressorSettings
from compactlab.strategy import Compaction, Situation, Step, SummaryRequest, changed, no_op

TRIGGERS = frozenset({"turn", "request", "manual"})
OVERFLOW_TRIGGERS = TRIGGERS | {"overflow"}
RAISED_NOTICE = ("the compaction threshold is raised to {share:.0%} for gpt-5.5 on this route; "
                 "compression.codex_gpt55_autoraise: false keeps the configured one")


class Plan(NamedTuple):
    """A compaction before its summary: the parts, the summary call, what phase 1 did.

    `enough`: phase 1 alone gets the prompt under the threshold, no summary is needed.
    """

    parts: Parts
    request: SummaryRequest
    cleared: int
    steps: tuple[Step, ...]
    enough: bool


@dataclass(frozen=True)
class Compressor(CompressorSettings):
    """Two rules with one compress(): hygiene between turns, the compressor before requests."""

    name: ClassVar[str] = "compressor"

    @property
    def triggers(self) -> frozenset[str]:
        """Turn, request and manual; overflow where `answer_overflow` is on."""
        return OVERFLOW_TRIGGERS if self.answer_overflow else TRIGGERS

    # -- triggers --------------------------------------------------------------------------------
    def hygiene_fires(self, tokens: int, window: int, messages: int) -> bool:
        """Whether hygiene compacts between turns."""
        return (self.enabled and messages >= self.hygiene_min_messages
                and tokens >= share_of(window, self.hygiene_threshold))

    def __call__(self, history: History, situation: Situation) -> Compaction | None:
        """One compaction; None below the threshold of the rule that was asked."""
        window = situation.window
        if window is None:
            raise BadSetting("compressor needs a window: its thresholds are shares of it")
        manual = situation.trigger == "manual"
        if manual or (self.enabled and self._fires(history, situation, window)):
            return self._compress(history, situation, window)
        return None

    def _fires(self, history: History, situation: Situation, window: int) -> bool:
        if situation.trigger == "overflow":
            return True
        tokens = situation.reported or situation.fixed + history.rough_tokens
        if situation.reported and self.count_appended:  # nothing was compacted since the report
            tokens = situation.fixed + history.prompt_tokens
        if situation.trigger == "turn":
            return self.hygiene_fires(tokens, window, len(history) - history.lead)
        return tokens >= share_of(
            window, self.threshold_in_force(situation.model, situation.provider, window))

    # -- the four phases -------------------------------------------------------------------------
    def part(self, history: History, tail_budget: int, hidden_head: bool) -> Parts:
        """Head, middle and tail of the untouched history; the middle may be empty."""
        return Protection(self.protect_first_n, self.protect_last_n, tail_budget, hidden_head,
                          self.protect_last_cap, self.head_decays, self.keep_last_user,
                          ).part(history)

    def _compress(self, history: History, situation: Situation, window: int) -> Compaction:
        if situation.struck_out(self.name, self.strike_limit):
            return no_op(history, self.name, "struck_out")
        key = (self, window, situation.fixed, situation.hidden_head > 0, situation.model,
               situation.provider, situation.focus, situation.latest is None,
               situation.trigger == "manual")
        plan = history.remember(key, lambda: self._plan(history, situation, window))
        if not isinstance(plan, Plan):
            return no_op(history, self.name, "empty_middle", steps=plan)
        if plan.enough:
            return history.remember((key, "pruned"), lambda: self._pruned(history, plan))
        found = self._summary(plan.request, situation)
        made = history.remember((key, found.summary, found.how),
                                lambda: self._made(history, plan, found))
        if self.refuse_growth and made.after > made.before:
            return no_op(history, self.name, "would_grow", calls=found.calls)
        return made

    def _plan(self, history: History, situation: Situation, window: int
              ) -> Plan | tuple[Step, ...]:
        """Boundaries, the pruned middle and its summary call; steps when the middle is empty."""
        budget = self.tail_budget(window, situation.model, situation.provider)
        parts = self.part(history, budget, situation.hidden_head > 0)
        over = _over_budget(history, parts.tail, budget)
        if not parts.middle:
            return over
        middle, cleared = prune(history, parts.middle, parts.tail, self.prune_chars,
                                informative=self.informative, argument_chars=self.argument_chars)
        tokens = history.store.tokens
        size = sum(map(tokens, middle))
        limit = self.summary_budget(size, window)
        request = summary_call(history.store, middle, previous=_plain(parts.previous),
                               limit=limit, focus=situation.focus)
        saved = sum(map(tokens, parts.middle)) - size
        threshold = share_of(
            window, self.threshold_in_force(situation.model, situation.provider, window))
        enough = (self.stop_after_prune and situation.trigger != "manual" and saved > 0
                  and situation.fixed + history.prompt_tokens - saved < threshold)
        steps = [*self._notice(situation), *over,
                 Step("prune", f"{cleared} tool results cleared", cleared)]
        return Plan(parts, request, cleared, tuple(steps), enough)

    def _summary(self, request: SummaryRequest, situation: Situation) -> Written:
        how = f"{len(request.messages)} messages, limit {request.limit}"
        found = written(request, situation, how, fold=self.fold_chunks, mask=self.mask_secrets,
                        fallback=bounded if self.fallback_on_failure else None)
        if found.summary is None:
            return found._replace(how=f"the middle is dropped without a summary: {found.how}")
        # blank where the limit has no room for a word
        return found._replace(summary=found.summary or None)

    def _pruned(self, history: History, plan: Plan) -> Compaction:
        """Phase 1 alone: it got the prompt under the threshold."""
        swapped = {id(old): new for old, new in
                   zip(plan.parts.middle, plan.request.messages, strict=True) if old is not new}
        new = [swapped.get(id(m), m) for m in history]
        same = _common(history, new)
        return changed(history, self.name, same, new[same:], cleared=plan.cleared,
                       steps=plan.steps)

    def _made(self, history: History, plan: Plan, found: Written) -> Compaction:
        head, note = _noted(history, plan.parts.head)
        new = _joined(history, head, found.summary, plan.parts.tail)
        same = _common(history, new)
        return changed(
            history, self.name, same, new[same:], summary=found.summary,
            reason=None if found.summary else "summary_failed", cleared=plan.cleared,
            steps=(*plan.steps, Step("summary", found.how), note), calls=found.calls,
            fallback=found.fallback)

    def _notice(self, situation: Situation) -> list[Step]:
        share = self.threshold_in_force(situation.model, situation.provider)
        if share == self.threshold_in_force() or situation.latest is not None:
            return []
        return [Step("notice", RAISED_NOTICE.format(share=share))]


def _plain(previous: str | None) -> str:
    """The earlier summary without the prefix that marks it for the model."""
    return (previous or "").removeprefix(SUMMARY_PREFIX).lstrip("\n")


def _over_budget(history: History, tail: list[Message], budget: int) -> tuple[Step, ...]:
    """What is to be said of a tail that costs more than it may."""
    tokens = sum(map(history.store.tokens, tail))
    if tokens <= budget:
        return ()
    return (Step("tail", f"{tokens:,} tokens stay where {budget:,} may", tokens),)


def _noted(history: History, head: list[Message]) -> tuple[list[Message], Step]:
    lead = history.lead
    if not lead:
        return head, Step("note", "left out: the system prompt is not in the history")
    noted = history.once(head[lead - 1], "note", with_note)
    return [*head[: lead - 1], noted, *head[lead:]], Step("note", "in the system prompt")


def _joined(history: History, head: list[Message], summary: str | None,
            tail: list[Message]) -> list[Message]:
    # Repaired before they are joined: the role of the summary is chosen by what stays beside it.
    head, tail = repair_pairs(head, history), repair_pairs(tail, history)
    return [*head, *tail] if summary is None else join(
        head, f"{SUMMARY_PREFIX}\n\n{summary}", tail)


def _common(old: Sequence[Message], new: Sequence[Message]) -> int:
    """Length of the common prefix."""
    same = 0
    for before, after in zip(old, new, strict=False):
        if before is not after and before != after:
            break
        same += 1
    return same
