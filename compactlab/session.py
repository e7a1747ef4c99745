"""A recorded session: frozen messages made of typed blocks, and what the recording says of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec

Role = Literal["system", "user", "assistant", "tool"]
Kind = Literal[
    # recorded
    "system",
    "user",  # starts a turn
    "assistant",
    "tool",
    "meta",  # a line of the client, not of the user
    "command",  # the echo of a client command
    "observation",  # something the client reports, such as a task notification
    "synthetic",  # text of an answer that was no request: an error, an aborted call
    # made here
    "stub",
    "summary",
    "placeholder",
    "cut",
    "note",
    "acknowledgement",
]


class Text(msgspec.Struct, frozen=True, gc=False, tag="text"):
    """Plain text."""

    text: str


class Thinking(msgspec.Struct, frozen=True, gc=False, tag="thinking"):
    """The model's reasoning; kept byte for byte or dropped whole."""

    text: str
    signature: str = ""


class Image(msgspec.Struct, frozen=True, gc=False, tag="image"):
    """An image; width and height in pixels, 0 where the recording does not say."""

    width: int = 0
    height: int = 0
    media_type: str = ""
    data: str = ""


class Opaque(msgspec.Struct, frozen=True, gc=False, tag="opaque"):
    """A blob that only the provider understands (redacted thinking, encrypted reasoning)."""

    data: str
    form: str = ""


class Summary(msgspec.Struct, frozen=True, gc=False, tag="summary"):
    """The text of a compaction; this type, never its words, marks a summary as one."""

    text: str


class ToolCall(msgspec.Struct, frozen=True, gc=False, tag="tool_call"):
    """The model calls a tool. `arguments` is compact JSON text, key order and non-ASCII kept."""

    id: str
    name: str
    arguments: str = "{}"

    def parsed(self) -> Any:
        """The arguments as Python values; the text itself where it is no JSON."""
        try:
            return msgspec.json.decode(self.arguments)
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            return self.arguments


class ToolResult(msgspec.Struct, frozen=True, gc=False, tag="tool_result"):
    """What a tool answered to the call `call_id`."""

    call_id: str
    content: tuple[Text | Image | Opaque, ...] = ()
    is_error: bool = False

    @property
    def text(self) -> str:
        """The text blocks joined by line feeds, in their order."""
        if len(self.content) == 1 and isinstance(self.content[0], Text):
            return self.content[0].text
        return "\n".join(block.text for block in self.content if isinstance(block, Text))


Block: TypeAlias = Text | Thinking | Image | Opaque | Summary | ToolCall | ToolResult


class Message(msgspec.Struct, frozen=True, omit_defaults=True):
    """One message. A tool result is a message of its own, role `tool`, with one block.

    `kind` says what it is; only `user` starts a turn. `source` is the recorded message that a
    derived one (cut copy, placeholder, message with a note) was made from.
    """

    role: Role
    blocks: tuple[Block, ...] = ()
    kind: Kind = "user"
    id: str = ""
    time: float | None = None
    source: Message | None = None

    @property
    def text(self) -> str:
        """Text, summary and tool-result text joined by line feeds; no thinking, no arguments."""
        parts = [b.text for b in self.blocks if isinstance(b, Text | Summary | ToolResult)]
        return parts[0] if len(parts) == 1 else "\n".join(parts)

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls, in order."""
        return tuple(b for b in self.blocks if isinstance(b, ToolCall))

    @property
    def result(self) -> ToolResult | None:
        """The tool result of a `tool` message."""
        for block in self.blocks:
            if isinstance(block, ToolResult):
                return block
        return None

    @property
    def summary(self) -> Summary | None:
        """The summary block, if the message holds one."""
        for block in self.blocks:
            if isinstance(block, Summary):
                return block
        return None

    @property
    def starts_turn(self) -> bool:
        """Whether it is a request of the user, not a result, a summary or a line of the client."""
        return self.role == "user" and self.kind == "user"

    @property
    def original(self) -> Message:
        """The recorded message behind a derived one; itself otherwise."""
        message = self
        while message.source is not None:
            message = message.source
        return message


class Usage(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Tokens that the provider billed for one request; the four prompt fields are disjoint."""

    input: int = 0
    cache_read: int = 0
    cache_write_5m: int = 0
    cache_write_1h: int = 0
    output: int = 0

    @property
    def prompt(self) -> int:
        """All tokens of the prompt."""
        return self.input + self.cache_read + self.cache_write_5m + self.cache_write_1h


class Request(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One model response of the recording; `message` is the index of its assistant message.

    `provider`: who served it, where a router says so; each has a prompt cache of its own.
    """

    message: int
    id: str = ""
    model: str = ""
    time: float | None = None
    usage: Usage | None = None
    provider: str = ""


class RecordedCompaction(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A compaction that the recording agent made before the message with index `at`.

    `kept` are the indexes of messages that stayed beside the summary, oldest first.
    """

    at: int
    trigger: str = ""
    summary: str = ""
    tokens_before: int | None = None
    tokens_after: int | None = None
    kept: tuple[int, ...] = ()


class Event(msgspec.Struct, frozen=True, gc=False):
    """Something outside the conversation before the message with index `at`, and what shows it.

    `kind` resume: the client was started again, so that its messages are new to a prompt cache.
    """

    at: int
    kind: str
    evidence: str = ""


class Session(msgspec.Struct, frozen=True):
    """One main line of a recording: what a replay walks.

    `name` is the file's name without its folder, `tools` are tool schemas as compact JSON,
    `parent` the session that a sub-agent belongs to, `skipped` counts by reason of what the
    importer left out, `derived` marks text logs that have neither tool ids nor usage.
    """

    id: str
    format: str
    messages: tuple[Message, ...]
    requests: tuple[Request, ...] = ()
    compactions: tuple[RecordedCompaction, ...] = ()
    tools: tuple[str, ...] = ()
    name: str = ""
    model: str = ""
    provider: str = ""
    parent: str = ""
    derived: bool = False
    skipped: tuple[tuple[str, int], ...] = ()
    events: tuple[Event, ...] = ()

    @property
    def system_in_log(self) -> bool:
        """Whether the recording holds its system prompt."""
        return bool(self.messages) and self.messages[0].role == "system"

    @property
    def turns(self) -> int:
        """How many user messages start a turn."""
        return sum(m.starts_turn for m in self.messages)


def compact_json(value: object) -> str:
    """JSON without spaces, key order kept, non-ASCII unescaped: the form in which it is counted."""
    try:
        return msgspec.json.encode(value).decode()
    except (OverflowError, UnicodeEncodeError, TypeError, ValueError):
        import json  # slower, but takes whole numbers of any size and lone surrogates

        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        return text.encode("utf-8", "replace").decode()


def stub_result(call_id: str, text: str) -> Message:
    """A marked tool message that stands for a result that is not there."""
    return Message("tool", (ToolResult(call_id, (Text(text),)),), kind="stub")


class Pairs(NamedTuple):
    """Which result answers which call.

    `caller`: index of a result's message -> index of its call's message (results without a call
    are missing). `open`: (index of the message, call id) of calls never answered, oldest first.
    `number`: index of a result's message -> which of that message's calls it answers, from 0.
    """

    caller: dict[int, int]
    open: list[tuple[int, str]]
    number: dict[int, int]

    def call(self, messages: Sequence[Message], result: int) -> ToolCall | None:
        """The call that the result at this index answers; None for one without a call."""
        caller = self.caller.get(result)
        return None if caller is None else messages[caller].calls[self.number[result]]


def pairs(messages: Sequence[Message]) -> Pairs:
    """Pair calls and results by open calls in order, never by a set of ids: ids repeat.

    A result belongs to the latest message that calls tools, when one of its calls waits for that
    id, otherwise to the oldest earlier call that does.
    """
    caller: dict[int, int] = {}
    number: dict[int, int] = {}
    latest, latest_at = dict[int, str](), -1  # ids of its calls by their number
    earlier: dict[str, list[tuple[int, int]]] = {}
    for index, message in enumerate(messages):
        result = message.result if message.role == "tool" else None
        if result is not None:
            answered = next((n for n, call_id in latest.items() if call_id == result.call_id), -1)
            if answered >= 0:
                del latest[answered]
                caller[index], number[index] = latest_at, answered
            elif earlier.get(result.call_id):
                caller[index], number[index] = earlier[result.call_id].pop(0)
        elif message.role == "assistant" and (calls := message.calls):
            for n, call_id in latest.items():
                earlier.setdefault(call_id, []).append((latest_at, n))
            latest, latest_at = {n: call.id for n, call in enumerate(calls)}, index
    waiting = [(latest_at, call_id) for call_id in latest.values()]
    waiting += [(at, call_id) for call_id, places in earlier.items() for at, _ in places]
    return Pairs(caller, sorted(waiting, key=lambda pair: pair[0]), number)
