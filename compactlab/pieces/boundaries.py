"""Where a history may be parted: never a call from its results, never inside an open call."""

from __future__ import annotations

from collections.abc import Sequence

from compactlab.session import Message, pairs


def group_starts(messages: Sequence[Message]) -> list[int]:
    """For each boundary b in 0..n: the largest safe boundary at or before b.

    Safe: no call before it has its result behind it, or none at all (an open call), and the
    message behind it is no tool result. Calls and results pair by open calls in order.
    """
    last_needed = _last_needed(messages)
    size = len(messages)
    starts = [0] * (size + 1)
    reach = 0  # no boundary below this index parts what stands before it
    for place in range(1, size + 1):
        reach = max(reach, last_needed[place - 1])
        in_front_of_result = place < size and messages[place].role == "tool"
        safe = place > reach and not in_front_of_result
        starts[place] = place if safe else starts[place - 1]
    return starts


def _last_needed(messages: Sequence[Message]) -> list[int]:
    """For each message: index of the last result of its calls; n where one never comes."""
    needed = [0] * len(messages)
    found = pairs(messages)
    for result, caller in found.caller.items():
        needed[caller] = max(needed[caller], result)
    for caller, _ in found.open:
        needed[caller] = len(messages)
    return needed


def align_backward(messages: Sequence[Message], boundary: int) -> int:
    """The nearest boundary at or before this one that parts no group."""
    return group_starts(messages)[boundary]


def before_open_call(messages: Sequence[Message]) -> int:
    """Where an open call's message begins, which stays with all behind it; the end without one."""
    waiting = pairs(messages).open
    return align_backward(messages, waiting[0][0]) if waiting else len(messages)


def nearest_safe(messages: Sequence[Message], wanted: int) -> int | None:
    """The safe boundary in 1..n-1 nearest to `wanted`, on a tie the earlier; None if none is."""
    starts = group_starts(messages)
    size = len(messages)
    before = starts[min(max(wanted, 0), size - 1)] if size > 1 else 0
    after = next((b for b in range(max(wanted + 1, 1), size) if starts[b] == b), None)
    if before < 1:
        return after
    if after is None or wanted - before <= after - wanted:
        return before
    return after


def first_safe(messages: Sequence[Message], wanted: int) -> int:
    """The nearest safe boundary at or after `wanted`, the end left out; else the nearest before it.

    So a tail that starts there is no longer than wanted, unless its groups leave no choice.
    """
    starts = group_starts(messages)
    after = (b for b in range(max(wanted, 0), len(messages)) if starts[b] == b)
    return next(after, starts[min(max(wanted, 0), max(len(messages) - 1, 0))])
