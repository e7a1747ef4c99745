"""A conversation while its messages come in: requests, usage, ids; then the session it makes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from compactlab.formats.chat_file import ODD_VALUE, Conversation
from compactlab.formats.files import stem
from compactlab.formats.pairing import repaired
from compactlab.session import (
    Kind,
    Message,
    RecordedCompaction,
    Request,
    Role,
    Session,
    Usage,
    compact_json,
)

MILLISECONDS_FROM = 1e11  # a Unix time above it (the year 5138 in seconds) is in milliseconds
LATEST = 1e15  # milliseconds of the year 33658
UNKNOWN_ROLE = "unknown_role"
TIME_KEYS = ("timestamp", "created", "created_at")
KINDS: dict[Role, Kind] = {
    "system": "system", "user": "user", "assistant": "assistant", "tool": "tool"}


class Draft:
    """Messages and requests of one conversation, in the order of the file."""

    def __init__(self, conversation: Conversation, skipped: Counter[str]) -> None:
        self.top = conversation.top
        self.skipped = skipped
        self.messages: list[Message] = []
        self.requests: list[Request] = []
        self.compactions: list[RecordedCompaction] = []
        self.schemas: list[Any] = schemas_of(conversation.top)
        self.model = text_of(conversation.top, "model")
        # Calls without a result yet, the latest message's first: the ids each goes by, its tool.
        self.waiting: list[tuple[list[str], str]] = []
        self.unnamed = 0  # calls without an id so far

    def add(self, role: Role, blocks: Iterable[Any], item: dict[str, Any]) -> None:
        """One message; an assistant's is a request, with the usage that stands beside it."""
        time = next((t for key in TIME_KEYS if (t := time_of(item.get(key))) is not None), None)
        if role == "assistant":
            self.requests.append(Request(
                len(self.messages), text_of(item, "id"), text_of(item, "model") or self.model,
                time, usage_of(_usage_beside(item))))
            self.model = self.model or text_of(item, "model")
        self.messages.append(
            Message(role, tuple(blocks), KINDS[role], text_of(item, "id"), time))

    def unknown(self, item: object) -> None:
        """An item that is no message: counted; a header line may name model and tools."""
        if not isinstance(item, dict) or not isinstance(item.get("role"), str):
            self.skipped[ODD_VALUE] += 1
            return
        self.skipped[UNKNOWN_ROLE] += 1
        self.schemas = self.schemas or schemas_of(item)
        self.model = self.model or text_of(item, "model")

    def session(self, path: Path, label: str, format: str, provider: str = "") -> Session:
        """The session; its id is the file's stem, with the label where the file holds several."""
        self._usage_of_the_whole()
        done = repaired(self.messages)
        self.skipped.update(done.counts)
        requests = [
            Request(done.places[r.message], r.id, r.model, r.time, r.usage) for r in self.requests]
        compactions = [
            RecordedCompaction(done.places[c.at], c.trigger, c.summary) for c in self.compactions]
        return Session(
            f"{stem(path)}#{label}" if label else stem(path), format, tuple(done.messages),
            tuple(requests), tuple(compactions), tuple(map(compact_json, self.schemas)),
            name=path.name, model=self.model, provider=provider,
            skipped=tuple(sorted(self.skipped.items())))

    def _usage_of_the_whole(self) -> None:
        """Usage beside the messages is that of the call that answered last."""
        usage = usage_of(self.top.get("usage"))
        if usage is not None and self.requests and self.requests[-1].usage is None:
            last = self.requests[-1]
            self.requests[-1] = Request(last.message, last.id, last.model, last.time, usage)


def sessions_of(
    path: Path,
    found: list[Conversation],
    skipped: Counter[str],
    format: str,
    take: Callable[[Draft, Any], None],
    start: Callable[[Draft], None],
    finish: Callable[[Draft], None],
    provider: str = "",
) -> list[Session]:
    """The sessions of a file: `start` a draft, `take` each item, `finish` it.

    `skipped`, what the file as a whole lost, stands on the first.
    """
    made: list[Draft] = []
    for conversation in found:
        draft = Draft(conversation, skipped if not made else Counter())
        start(draft)
        for item in conversation.items:
            take(draft, item)
        finish(draft)
        made.append(draft)
    return [draft.session(path, conversation.label, format, provider)
            for draft, conversation in zip(made, found, strict=True)]


def schemas_of(top: dict[str, Any]) -> list[Any]:
    """The tool schemas of a request body, the old `functions` too."""
    for key in ("tools", "functions"):
        if isinstance(top.get(key), list):
            return list(top[key])
    return []


def text_of(item: dict[str, Any], key: str) -> str:
    """The text under a key; empty where there is none."""
    value = item.get(key)
    return value if isinstance(value, str) else ""


def id_of(value: object) -> str:
    """An id as text; a number is no text that looks like it, and is told apart."""
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return f"number-{value}"
    return ""


def time_of(value: object) -> float | None:
    """Unix seconds of a time in seconds, in milliseconds, or in ISO 8601 (without a zone: UTC)."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        if not abs(value) < LATEST:  # not a number, or none that any clock shows
            return None
        return value / 1000 if value > MILLISECONDS_FROM else float(value)
    if isinstance(value, str):
        try:
            found = datetime.fromisoformat(value)
            return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError):
            return None
    return None


# -- usage ---------------------------------------------------------------------------------------


def _usage_beside(item: dict[str, Any]) -> object:
    if item.get("usage"):
        return item["usage"]
    response = item.get("response")
    return response.get("usage") if isinstance(response, dict) else None


def usage_of(value: object) -> Usage | None:
    """Usage with disjoint fields, from either provider's form; None where all of it is zero.

    OpenAI counts cached tokens and those written to the cache among the prompt's; Anthropic's
    `input_tokens` leaves both out.
    """
    if not isinstance(value, dict):
        return None
    inclusive = ("prompt_tokens" in value or "cached_tokens" in value
                 or isinstance(value.get("input_tokens_details"), dict))
    usage = _inclusive(value) if inclusive else _disjoint(value)
    return usage if usage.prompt or usage.output else None


def _inclusive(value: dict[str, Any]) -> Usage:
    details = value.get("prompt_tokens_details") or value.get("input_tokens_details")
    details = details if isinstance(details, dict) else {}
    read = (_count(details, "cached_tokens") or _count(value, "cached_tokens")
            or _count(value, "cache_read_input_tokens")
            or _count(value, "prompt_cache_hit_tokens"))
    written = (_count(details, "cache_write_tokens")
               or _count(value, "cache_creation_input_tokens"))
    prompt = _count(value, "prompt_tokens") or _count(value, "input_tokens")
    output = _count(value, "completion_tokens") or _count(value, "output_tokens")
    return Usage(max(prompt - read - written, 0), read, written, 0, output)


def _disjoint(value: dict[str, Any]) -> Usage:
    creation = value.get("cache_creation")
    hour = _count(creation, "ephemeral_1h_input_tokens") if isinstance(creation, dict) else 0
    minutes = _count(creation, "ephemeral_5m_input_tokens") if isinstance(creation, dict) else 0
    if not hour and not minutes:
        minutes = _count(value, "cache_creation_input_tokens")
    read = _count(value, "cache_read_input_tokens") or _count(value, "cache_read")
    return Usage(_count(value, "input_tokens"), read, minutes, hour, _count(value, "output_tokens"))


def _count(value: dict[str, Any], key: str) -> int:
    number = value.get(key)
    return number if isinstance(number, int) and not isinstance(number, bool) and number > 0 else 0
