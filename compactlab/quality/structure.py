"""Whether a context could be sent at all: a gate, no figure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import get_args

import msgspec

from compactlab.quality.survives import Case
from compactlab.session import Message, Role, ToolResult, pairs

ROLES = get_args(Role)


def is_sound(case: Case) -> bool:
    """No result without its call, no call without its result, valid roles and JSON arguments.

    What was wrong before the compaction is no fault of it.
    """
    return not faults(case.context) - faults(case.span.before)


def faults(messages: Sequence[Message]) -> Counter[str]:
    """The faults of a sequence of messages, by a word and an id."""
    found = _unpaired(messages)
    for message in messages:
        results = [block for block in message.blocks if isinstance(block, ToolResult)]
        if message.role not in ROLES or (message.role == "tool") != bool(results):
            found[f"role {message.role}"] += 1
        if message.calls and message.role != "assistant":
            found[f"role of calls {message.role}"] += 1
        for call in message.calls:
            if not _is_json(call.arguments):
                found[f"arguments {call.id}"] += 1
    return found


def _unpaired(messages: Sequence[Message]) -> Counter[str]:
    found = pairs(messages)
    faults = Counter(f"call {call}" for _, call in found.open)
    for at, message in enumerate(messages):
        if message.role == "tool" and at not in found.caller:
            result = message.result
            faults[f"result {result.call_id if result else ''}"] += 1
    return faults


def _is_json(text: str) -> bool:
    try:
        return isinstance(msgspec.json.decode(text), dict)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return False
