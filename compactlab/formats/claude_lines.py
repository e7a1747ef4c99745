"""The lines of a Claude Code file, typed as far as they are needed, and what each one is."""

from __future__ import annotations

from typing import Any

import msgspec

from compactlab.formats.chat import time_of
from compactlab.session import Block, Kind, Text, Usage

BOUNDARY = "compact_boundary"
MESSAGES = ("user", "assistant")
SYNTHETIC = "<synthetic>"

# How the text of a user line begins that the client wrote, not the user.
COMMAND_STARTS = (
    "<command-name>",
    "<command-message>",
    "<command-args>",
    "<local-command-stdout>",
    "<local-command-stderr>",
    "<local-command-caveat>",
    "<bash-input>",
    "<bash-stdout>",
    "<bash-stderr>",
)
OBSERVATION_STARTS = (
    "<task-notification>",
    "<agent-notification>",
    "[Request interrupted by user",
)


class Split(msgspec.Struct, frozen=True, gc=False):
    """Cache writes by lifetime."""

    ephemeral_5m_input_tokens: int | None = None
    ephemeral_1h_input_tokens: int | None = None


class LineUsage(msgspec.Struct, frozen=True, gc=False):
    """Usage as the API reports it: the prompt fields are disjoint."""

    input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    output_tokens: int | None = None
    cache_creation: Split | None = None

    @property
    def any(self) -> bool:
        """Whether any number is not zero: a real answer has some."""
        return bool(
            self.input_tokens
            or self.output_tokens
            or self.cache_read_input_tokens
            or self.cache_creation_input_tokens
        )


class LineMessage(msgspec.Struct, frozen=True, gc=False):
    """An API message; `content` is a string or a list of blocks."""

    content: Any = None
    id: str | None = None
    model: str | None = None
    stop_reason: str | None = None
    usage: LineUsage | None = None


class Segment(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """First and last line that stayed beside the summary."""

    head_uuid: str | None = None
    tail_uuid: str | None = None
    anchor_uuid: str | None = None


class Preserved(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The lines that stayed beside the summary, and the line they hang on."""

    uuids: list[str] | None = None
    anchor_uuid: str | None = None


class CompactMetadata(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """What a boundary says of its compaction."""

    trigger: str | None = None
    pre_tokens: int | None = None
    post_tokens: int | None = None
    preserved_segment: Segment | None = None
    preserved_messages: Preserved | None = None


class Line(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """One line; fields that no reader needs (the structured copy of a result) are not decoded."""

    type: str = ""
    uuid: str | None = None
    parent_uuid: str | None = None
    logical_parent_uuid: str | None = None
    session_id: str | None = None
    agent_id: str | None = None
    request_id: str | None = None
    timestamp: str | float | None = None
    subtype: str | None = None
    is_sidechain: bool | None = None
    is_meta: bool | None = None
    is_compact_summary: bool | None = None
    is_api_error_message: bool | None = None
    compact_metadata: CompactMetadata | None = None
    message: LineMessage | str | None = None

    @property
    def said(self) -> LineMessage | None:
        """The API message of a user or assistant line."""
        message = self.message
        return message if isinstance(message, LineMessage) and self.type in MESSAGES else None

    @property
    def is_boundary(self) -> bool:
        """Whether a compaction took place here."""
        return self.type == "system" and self.subtype == BOUNDARY

    @property
    def noise(self) -> str:
        """The reason under which a line is counted that is no message."""
        kind = f"{self.type}_{self.subtype}" if self.subtype else self.type
        return kind.replace("-", "_") or "line_without_type"


def seconds(timestamp: str | float | None) -> float | None:
    """Unix time of an ISO timestamp; UTC where it names no zone; None where it is none."""
    return time_of(timestamp) if isinstance(timestamp, str) else None


def user_kind(line: Line, blocks: list[Block]) -> Kind:
    """What a user line without results is: only `user` starts a turn.

    The note that the user stopped a request is written by the client: an observation.
    """
    if line.is_meta:
        return "meta"
    text = next((block.text for block in blocks if isinstance(block, Text)), "").lstrip()
    if text.startswith(COMMAND_STARTS):
        return "command"
    return "observation" if text.startswith(OBSERVATION_STARTS) else "user"


def usage_of(usage: LineUsage) -> Usage:
    """Disjoint usage; cache writes whose lifetime is not recorded count as five minutes."""
    written = _count(usage.cache_creation_input_tokens)
    split = usage.cache_creation or Split()
    hour = _count(split.ephemeral_1h_input_tokens)
    short = _count(split.ephemeral_5m_input_tokens)
    return Usage(
        input=_count(usage.input_tokens),
        cache_read=_count(usage.cache_read_input_tokens),
        cache_write_5m=short if hour + short >= written else written - hour,
        cache_write_1h=hour,
        output=_count(usage.output_tokens),
    )


def _count(value: int | None) -> int:
    return max(value or 0, 0)
