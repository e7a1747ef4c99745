"""Head, middle and tail of a history: what the compressor protects and what it summarises."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from compactlab.history import History
from compactlab.pieces.assemble import part_at_summary
from compactlab.pieces.boundaries import group_starts
from compactlab.session import Message


class Parts(NamedTuple):
    """A history parted for one compaction; `previous` is the earlier summary's text or None."""

    head: list[Message]
    middle: list[Message]
    tail: list[Message]
    previous: str | None


@dataclass(frozen=True)
class Protection:
    """What stays: the first messages, a tail by tokens, and at least so many messages of it.

    `last_cap` > 0: where the last `last_n` cost more than the tail's budget, only so many of them
    must stay. `head_decays`: after the first compaction only the system prompt is head.
    `keep_last_user`: the latest user message goes to the front of the tail, wherever it stands.
    """

    first_n: int
    last_n: int
    tail_budget: int
    hidden_head: bool
    last_cap: int = 0
    head_decays: bool = False
    keep_last_user: bool = False

    def part(self, history: History) -> Parts:
        """Head, middle and tail of the untouched history; the middle may be empty."""
        messages, lead, joint = list(history), history.lead, 0
        parted = part_at_summary(messages)
        if parted is None:
            previous, head, rest = None, list[Message](), messages
        else:
            _, previous, head, rest = parted
            if self.head_decays:
                joint = len(head) - lead  # where the earlier summary stood
                head, rest = head[:lead], head[lead:] + rest
        starts = group_starts(rest)
        first = 0
        if parted is None:
            first = self.first_n - 1 + lead if lead or self.hidden_head else self.first_n
            first = max(starts[min(first, len(rest))], lead)
        tail = max(starts[self._tail_start(history, rest)], first)
        if tail < joint < len(rest) and _meet(rest[joint - 1], rest[joint]):
            tail = joint
        parts = Parts(head + rest[:first], rest[first:tail], rest[tail:], previous)
        return _with_last_user(parts, starts, first, joint) if self.keep_last_user else parts

    def _tail_start(self, history: History, messages: list[Message]) -> int:
        tokens = history.store.tokens
        start, total = len(messages), 0
        while start and total + tokens(messages[start - 1]) <= self.tail_budget:
            start -= 1
            total += tokens(messages[start])
        least = self.last_n
        if self.last_cap and len(messages) - start < least:  # the last n are over the budget
            least = min(least, self.last_cap)
        return min(start, max(len(messages) - least, 0))


def _with_last_user(parts: Parts, starts: list[int], first: int, joint: int) -> Parts:
    """The latest user message in the tail: taken out of the middle if it stands there.

    `starts` are the safe boundaries of what is behind `first`, where the middle begins. Where the
    tail begins with a user message of another kind, it is made longer, up to an answer, so that
    no two user messages meet that were no neighbours; at the `joint`, where the earlier summary
    stood between them, the new one does.
    """
    if any(message.starts_turn for message in parts.tail):
        return parts
    both = parts.middle + parts.tail
    split = len(parts.middle)
    asked = next((i for i in range(split - 1, -1, -1) if both[i].starts_turn), None)
    if asked is None:
        return parts
    while asked < split < len(both) and split != joint and both[split].role == "user":
        split = max(starts[first + split - 1] - first, 0)
    if split <= asked:
        return parts._replace(middle=both[:split], tail=both[split:])
    middle = both[:asked] + both[asked + 1 : split]
    if split < len(both) and both[split].role == "user":
        return parts._replace(head=[*parts.head, both[asked]], middle=middle, tail=both[split:])
    return parts._replace(middle=middle, tail=[both[asked], *both[split:]])


def _meet(first: Message, second: Message) -> bool:
    return first.role == second.role and first.role in ("user", "assistant")
