"""Claude Code sessions: JSON Lines, one file a session, sub-agents beside or inside it."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec

from compactlab.errors import BadSession
from compactlab.formats import jsonl
from compactlab.formats.claude_events import events
from compactlab.formats.claude_lines import MESSAGES, Line
from compactlab.formats.claude_main import COPY, MainLine
from compactlab.formats.claude_messages import spoken
from compactlab.formats.claude_tree import side_groups, without_copies
from compactlab.formats.files import stem
from compactlab.formats.peek import peek
from compactlab.session import Session

NAME = "claude-code"
AGENT_PREFIX = "agent-"
SUBAGENTS = "subagents"  # folder of a session's sub-agents
PROVIDER = "anthropic"
ODD_LINES = 3  # broken lines at the start that `sniff` passes over
# A first line longer than what `sniff` sees: its first key tells.
CUT_OFF = re.compile(rb'\s*\{"parentUuid":\s*(null|"[\w-]*"),')


class _Probe(msgspec.Struct, rename="camel"):
    """Keys that together only Claude Code writes."""

    type: Any = None
    uuid: Any = None
    parent_uuid: Any = msgspec.UNSET
    leaf_uuid: Any = None
    message_id: Any = None
    session_id: Any = None

    @property
    def own(self) -> bool:
        if self.type == "summary":
            return self.leaf_uuid is not None
        if self.type == "file-history-snapshot":
            return self.message_id is not None
        if self.type in ("queue-operation", "last-prompt"):
            return self.session_id is not None
        is_text = isinstance(self.type, str) and isinstance(self.uuid, str)
        return is_text and self.parent_uuid is not msgspec.UNSET


def sniff(path: Path, head: bytes) -> bool:
    """Whether the head is lines of JSON, and one of them is what only Claude Code writes."""
    decoder = msgspec.json.Decoder(_Probe)
    odd = 0  # many lines that are no JSON are a text, even if it quotes a session
    for _, line in jsonl.lines(head):
        try:
            if decoder.decode(line).own:
                return True
        except (msgspec.DecodeError, RecursionError):
            if CUT_OFF.match(line) or _begins_own(line):
                return True
            odd += 1
            if odd > ODD_LINES:
                return False
    return False


def _begins_own(line: bytes) -> bool:
    """Whether the head ends inside this line, and what there is of it is Claude Code's."""
    if line.endswith(b"\n"):
        return False
    try:
        return any(msgspec.convert(value, _Probe).own for value in peek(line))
    except msgspec.ValidationError:
        return False


def read(path: Path, data: bytes) -> list[Session]:
    """The main line as the first session, then one session for each sub-agent.

    Usage, times, thinking, images, errors and recorded compactions are kept; what is left out is
    counted by reason. BadSession where no line is a message.
    """
    parsed = jsonl.parse(data, msgspec.json.Decoder(Line))
    lines, copies = without_copies([line for _, line in parsed.records])
    skipped = parsed.skipped
    if copies:
        skipped[COPY] += copies
    skipped.update(_noise(lines))
    tree_lines = [line for line in lines if line.uuid or line.said or line.is_boundary]
    main = [line for line in tree_lines if not line.is_sidechain]
    name = path.name
    sessions = []
    if any(line.said for line in main):
        sessions.append(_main(path, main))
    groups = side_groups(tree_lines)
    for key, group in groups.items():
        if any(line.said for line in group):
            own_file = _is_agent_file(path) and len(groups) == 1
            agent_id = stem(path) if own_file else _agent_id(key, group)
            sessions.append(_session(path, MainLine(group), agent_id, _session_id(group)))
    if not sessions:
        raise BadSession(f"{path}: no line of {name} is a message of the user or the model")
    first = sessions[0]
    total = Counter(dict(first.skipped)) + skipped
    sessions[0] = msgspec.structs.replace(first, skipped=tuple(sorted(total.items())),
                                          events=events(lines, first.messages))
    return sessions


def _noise(lines: list[Line]) -> Counter[str]:
    """Lines that are neither messages nor boundaries, by type."""
    noise: Counter[str] = Counter()
    for line in lines:
        if line.type in MESSAGES:
            if line.said is None:
                noise[jsonl.FOREIGN] += 1
        elif not line.is_boundary:
            noise[line.noise] += 1
    return noise


def _main(path: Path, lines: list[Line]) -> Session:
    """The session of a file; a file of a sub-agent may not mark its lines as such."""
    found = MainLine(lines)
    session_id = (found.leaf.session_id if found.leaf else None) or stem(path)
    if _is_agent_file(path):
        parent = session_id if session_id != stem(path) else ""
        return _session(path, found, stem(path), parent)
    return _session(path, found, session_id, "")


def _session_id(lines: list[Line]) -> str:
    return next((line.session_id for line in lines if line.session_id), "")


def _agent_id(key: str, lines: list[Line]) -> str:
    """`agent-<id>`; a sub-agent that has only a number is named after its session."""
    named = any(line.agent_id for line in lines)
    return f"{AGENT_PREFIX}{key}" if named else f"{_session_id(lines)}-{AGENT_PREFIX}{key}"


def _is_agent_file(path: Path) -> bool:
    return path.name.startswith(AGENT_PREFIX) or path.parent.name == SUBAGENTS


def _session(path: Path, found: MainLine, session_id: str, parent: str) -> Session:
    messages, requests, compactions = spoken(found)
    models = Counter(request.model for request in reversed(requests) if request.model)
    model = models.most_common(1)[0][0] if models else ""  # of equals the latest
    return Session(
        id=session_id,
        format=NAME,
        messages=messages,
        requests=requests,
        compactions=compactions,
        name=path.name,
        model=model,
        provider=PROVIDER if "claude" in model else "",
        parent=parent,
        skipped=tuple(sorted(found.skipped.items())),
    )
