"""Escalating compaction: summarise a growing share of the branch at each refusal of a turn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from compactlab.history import History
from compactlab.pieces.assemble import part_at_summary, summary_message
from compactlab.pieces.boundaries import nearest_safe
from compactlab.pieces.prompt import summary_call
from compactlab.pieces.shares import share_of
from compactlab.pieces.written import Written, bounded, unbounded, written
from compactlab.session import Message
from compactlab.setting import check_settings, setting
from compactlab.strategies._switches import mask_secrets, refuse_growth, switch
from compactlab.strategy import Compaction, Reason, Situation, Step, SummaryRequest, changed, no_op

SOURCE = '"Context compaction", documentation of a Go coding agent, 2026'


class Plan(NamedTuple):
    """The branch, how many of its messages go, and the summary call for them."""

    branch: list[Message]
    split: int
    request: SummaryRequest


@dataclass(frozen=True)
class Escalate:
    """Answers a refusal: the n-th of a turn summarises 50, 75, 90, then 95 % of the messages."""

    name: ClassVar[str] = "escalate"
    triggers: ClassVar[frozenset[str]] = frozenset({"overflow", "manual"})

    max_attempts: int = setting(4, "refusals of one turn that are answered", low=1,
                                unit="refusals", source=SOURCE + ": maxCompactionAttempts")
    max_level: int = setting(3, "highest escalation level", unit="level", low=0, high=3,
                             source=SOURCE + ": MaxEscalationLevel")
    budget_margin: int = setting(8000, "room kept for system prompt, tools and answer",
                                 unit="tokens", low=0, source=SOURCE + ": contextBudgetMargin")
    share_0: float = setting(0.50, "share of the messages summarised at level 0", low=0, high=1,
                             group="advanced", source=SOURCE + ": computeSplitPoint")
    share_1: float = setting(0.75, "share of the messages summarised at level 1", low=0, high=1,
                             group="advanced", source=SOURCE + ": computeSplitPoint")
    share_2: float = setting(0.90, "share of the messages summarised at level 2", low=0, high=1,
                             group="advanced", source=SOURCE + ": computeSplitPoint")
    share_3: float = setting(0.95, "share of the messages summarised from level 3", low=0, high=1,
                             group="advanced", source=SOURCE + ": computeSplitPoint")
    truncate_from: int = setting(2, "level from which long tool results are truncated too",
                                 unit="level", low=0, source=SOURCE + ": TruncateResults")
    answer_limit: int = setting(4096, "answer limit of the summary call", unit="tokens", low=1,
                                source="decided here: the description names none")
    trust_refusal: bool = switch(
        "a refused request is compacted even if its messages are under the budget")
    halve_margin: bool = switch(
        "where the margin takes the whole window, it is half the window")
    reset_on_success: bool = switch("attempts start anew after a request that was served")
    flag_stays: bool = switch(
        "a later compaction without the flag does not bring long results back")
    bound_fallback: bool = switch(
        "the fallback keeps the answer limit and has the latest error lines")
    fold_chunks: bool = switch("a span too large for the summariser is folded in chunks")
    mask_secrets: bool = mask_secrets()
    refuse_growth: bool = refuse_growth()

    def __post_init__(self) -> None:
        check_settings(self)

    def split(self, count: int, level: int) -> int:
        """How many of `count` messages a level summarises, before the move to a safe boundary."""
        share = (self.share_0, self.share_1, self.share_2, self.share_3)[min(level, 3)]
        return max(share_of(count, share), 1)

    def budget(self, window: int | None) -> int:
        """Tokens that the messages may take: window - margin; 0 (no check) where it is unknown."""
        if window is None:
            return 0
        if self.halve_margin and window <= self.budget_margin:
            return window - window // 2
        return window - self.budget_margin

    def derived(self, window: int) -> dict[str, int]:
        """The numbers that follow from the settings at a window."""
        return {"budget": self.budget(window)}

    def __call__(self, history: History, situation: Situation) -> Compaction | None:
        """One compaction; None once the attempts of the turn are used up (the hard stop)."""
        if situation.trigger == "overflow":
            if situation.attempt > self.max_attempts:
                return None
            level = min(max(situation.attempt - 1, 0), self.max_level)
            budget = 0 if self.trust_refusal else self.budget(situation.window)
        else:
            level, budget = min(situation.level, self.max_level), situation.budget
        if budget > 0 and history.tokens <= budget:
            return no_op(history, self.name, "under_budget", level=level)
        return self._compact(history, situation, level)

    def _compact(self, history: History, situation: Situation, level: int) -> Compaction:
        plan = history.remember((self, level, situation.focus),
                                lambda: self._plan(history, level, situation.focus))
        if not isinstance(plan, Plan):
            return no_op(history, self.name, plan, level=level)
        found = written(plan.request, situation, "by the summariser", fold=self.fold_chunks,
                        mask=self.mask_secrets,
                        fallback=bounded if self.bound_fallback else unbounded)
        latest = situation.latest
        flag = level >= self.truncate_from or (
            self.flag_stays and latest is not None and latest.truncate_results)
        made = history.remember(
            (self, level, situation.focus, found.summary, found.how, flag),
            lambda: self._made(history, plan, level, found, flag))
        if self.refuse_growth and made.after > made.before:
            return no_op(history, self.name, "would_grow", level=level, calls=found.calls)
        return made

    def _plan(self, history: History, level: int, focus: str) -> Plan | Reason:
        """What a level summarises and keeps, or the reason why it cannot."""
        previous, branch = _branch(history)
        if len(branch) <= 1:
            return "too_short"
        split = nearest_safe(branch, self.split(len(branch), level))
        if split is None:
            return "no_safe_split"
        # The log of the described agent holds the originals: a cut copy is summarised whole.
        span = tuple(m.original if m.kind == "cut" else m for m in branch[:split])
        return Plan(branch, split, summary_call(
            history.store, span, previous=previous, limit=self.answer_limit, focus=focus))

    def _made(self, history: History, plan: Plan, level: int, found: Written, flag: bool
              ) -> Compaction:
        branch, split, _ = plan
        summary = found.summary or ""
        return changed(
            history, self.name, history.lead, [summary_message(summary), *branch[split:]],
            level=level, summary=summary, truncate_results=flag, calls=found.calls,
            fallback=found.fallback,
            steps=(Step("split", f"{split} of {len(branch)} messages summarised", split),
                   Step("summary", found.how)))


def _branch(history: History) -> tuple[str, list[Message]]:
    """(earlier summary, the messages of the branch without it and the system prompt)."""
    messages, lead = list(history), history.lead
    parted = part_at_summary(messages)
    if parted is None:
        return "", messages[lead:]
    _, previous, head, rest = parted
    return previous, head[lead:] + rest
