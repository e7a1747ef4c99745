"""The entries of a pi session file, and which of them are its main line."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec

from compactlab.formats import jsonl
from compactlab.formats.chat import id_of
from compactlab.session import Usage

BRANCH = "skipped_branch"  # messages on another branch
BRANCH_COMPACTION = "skipped_branch_compaction"  # compactions on another branch
AFTER = "after_last_response"  # messages and compactions behind the last answer
SAID = ("message", "custom_message", "branch_summary", "compaction")
UNANSWERED = ("aborted", "error")
ROOT = -1


class Entry(msgspec.Struct, rename="camel"):
    """One line; the fields of all its types together."""

    type: str = ""
    id: str = ""
    parent_id: str | None = None
    timestamp: str | None = None
    provider: str = ""
    message: dict[str, Any] | None = None
    content: Any = None
    summary: str = ""
    tokens_before: int | None = None
    first_kept_entry_index: int | None = None
    first_kept_entry_id: str | None = None

    @property
    def role(self) -> str:
        """The role of its message."""
        return str((self.message or {}).get("role", ""))

    @property
    def calls(self) -> list[str]:
        """The ids of the tool calls of its message."""
        content = (self.message or {}).get("content")
        blocks = content if isinstance(content, list) else []
        return [id_of(b["id"]) for b in blocks
                if isinstance(b, dict) and b.get("type") == "toolCall" and "id" in b]

    @property
    def usage(self) -> Usage | None:
        """What was billed; None where nothing is recorded, or all of it is zero."""
        found = (self.message or {}).get("usage")
        if not isinstance(found, dict):
            return None
        numbers = [found.get(name) for name in ("input", "cacheRead", "cacheWrite", "output")]
        new, cached, written, output = (
            max(n, 0) if isinstance(n, int) else 0 for n in numbers)
        usage = Usage(new, cached, written, 0, output)
        return usage if usage.prompt or usage.output else None

    @property
    def unanswered(self) -> bool:
        """An error or an aborted call that was billed nothing: no answer of the model."""
        return (self.message or {}).get("stopReason") in UNANSWERED and self.usage is None


TORN = Entry()  # stands for a line that cannot be read, so that places stay those of the file


def entries_of(data: bytes) -> tuple[list[Entry], Counter[str]]:
    """An entry for every line that is not blank, TORN for a broken one, and what was lost."""
    parsed = jsonl.parse(data, msgspec.json.Decoder(Entry))
    by_number = dict(parsed.records)
    return [by_number.get(number, TORN) for number, _ in jsonl.lines(data)], parsed.skipped


def main_line(entries: list[Entry], skipped: Counter[str]) -> list[int]:
    """The places of the entries to read, in the file's order; the rest is counted.

    A linear file is read whole. Of a tree it is the chain of the last answer of the model, and the
    results that its calls still lack, wherever they hang.
    """
    if not any(entry.parent_id for entry in entries):
        return list(range(len(entries)))
    parent = _parents(entries)
    answers = (p for p in reversed(range(len(entries)))
               if entries[p].role == "assistant" and not entries[p].unanswered)
    leaf = next(answers, len(entries) - 1)
    chain: set[int] = set()
    above = leaf
    while above != ROOT and above not in chain:
        chain.add(above)
        above = parent[above]
    chain |= _results_elsewhere(entries, chain)
    behind = {leaf}
    for place, entry in enumerate(entries):
        if parent[place] in behind:  # a parent stands before its children
            behind.add(place)
        if place not in chain and entry.type in SAID:
            branch = BRANCH_COMPACTION if entry.type == "compaction" else BRANCH
            skipped[AFTER if place in behind else branch] += 1
        elif place not in chain and entry.type != "session" and entry is not TORN:
            skipped[entry.type or jsonl.FOREIGN] += 1
    return sorted(chain)


def _parents(entries: list[Entry]) -> list[int]:
    """The place of each entry's parent; the one before where the parent's line is broken."""
    by_id: dict[str, int] = {}
    for place, entry in enumerate(entries):
        if entry.id:
            by_id.setdefault(entry.id, place)
    return [
        by_id.get(entry.parent_id or "", place - 1) if entry.parent_id or entry is TORN else ROOT
        for place, entry in enumerate(entries)
    ]


def _results_elsewhere(entries: list[Entry], chain: set[int]) -> set[int]:
    results = {place: id_of((entry.message or {}).get("toolCallId"))
               for place, entry in enumerate(entries) if entry.role == "toolResult"}
    lacking = Counter(call for place in chain for call in entries[place].calls)
    lacking.subtract(call for place, call in results.items() if place in chain)
    found = set()
    for place, call in results.items():
        if place not in chain and lacking[call] > 0:
            lacking[call] -= 1
            found.add(place)
    return found
