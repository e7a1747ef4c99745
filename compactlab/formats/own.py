"""compactlab's own files: JSON Lines, a versioned header, then one record a line."""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from compactlab.errors import BadSession
from compactlab.files import write_bytes
from compactlab.formats import jsonl
from compactlab.formats.pairing import repaired
from compactlab.session import Event, Message, RecordedCompaction, Request, Session

NAME = "own"
VERSION = 1
GZIP_LEVEL = 6


class Header(msgspec.Struct, frozen=True, tag_field="record", tag="compactlab"):
    """The first line of a file."""

    version: int


class About(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="record", tag="session"):
    """Opens a session: all of it but messages, requests, compactions and events."""

    id: str
    format: str
    name: str = ""
    model: str = ""
    provider: str = ""
    parent: str = ""
    derived: bool = False
    tools: tuple[str, ...] = ()
    skipped: tuple[tuple[str, int], ...] = ()


class Said(msgspec.Struct, frozen=True, tag_field="record", tag="message"):
    """One message, with its index in the session, so that a lost line shifts nothing."""

    index: int
    message: Message


class Asked(msgspec.Struct, frozen=True, tag_field="record", tag="request"):
    """One request; its `message` is an index as in `Said`."""

    request: Request


class Compacted(msgspec.Struct, frozen=True, tag_field="record", tag="compaction"):
    """One recorded compaction; `at` and `kept` are indexes as in `Said`."""

    compaction: RecordedCompaction


class Happened(msgspec.Struct, frozen=True, tag_field="record", tag="event"):
    """Something outside the conversation; its `at` is an index as in `Said`."""

    event: Event


Record: TypeAlias = Header | About | Said | Asked | Compacted | Happened


class _First(msgspec.Struct):
    """What any version of a header has."""

    record: str
    version: Any = None


def sniff(path: Path, head: bytes) -> bool:
    """Whether the first line is a header of compactlab, of whatever version."""
    for _, line in jsonl.lines(head):
        try:
            return msgspec.json.decode(line, type=_First).record == "compactlab"
        except (msgspec.DecodeError, RecursionError):
            return False
    return False


def read(path: Path, data: bytes) -> list[Session]:
    """The sessions of a file, in its order, as they were written.

    Only where a line is broken a session is mended: results without their call go, calls without
    a result get a stub. BadSession for another version, or for a record outside any session.
    """
    _check_version(path, data)
    parsed = jsonl.parse(data, msgspec.json.Decoder(Record))
    drafts: list[_Draft] = []
    for number, record in parsed.records:
        if isinstance(record, About):
            drafts.append(_Draft(record))
        elif not isinstance(record, Header) and (not drafts or not drafts[-1].take(record)):
            raise BadSession(
                f"{path}, line {number}: a record without its session; "
                "the line that opens the session is broken or gone"
            )
    if drafts:
        drafts[0].lost.update(parsed.skipped)
    return [draft.session() for draft in drafts]


def _check_version(path: Path, data: bytes) -> None:
    number, line = next(jsonl.lines(data), (1, b""))
    try:
        first = msgspec.json.decode(line, type=_First)
    except (msgspec.DecodeError, RecursionError) as error:
        raise BadSession(f"{path}, line {number}: no header of a compactlab file") from error
    if first.record != "compactlab" or first.version != VERSION:
        raise BadSession(
            f"{path}, line {number}: version {first.version!r} of compactlab's own format; "
            f"this release reads version {VERSION}"
        )


class _Draft:
    """A session while its records come in."""

    def __init__(self, about: About) -> None:
        self.about = about
        self.messages: list[Message] = []
        self.where: dict[int, int] = {}  # index in the file -> index now
        self.last = -1
        self.requests: list[Request] = []
        self.compactions: list[RecordedCompaction] = []
        self.events: list[Event] = []
        self.lost: Counter[str] = Counter()

    def take(self, record: Said | Asked | Compacted | Happened) -> bool:
        """Add a record; False for a message that belongs to another session."""
        if isinstance(record, Asked):
            self.requests.append(record.request)
        elif isinstance(record, Compacted):
            self.compactions.append(record.compaction)
        elif isinstance(record, Happened):
            self.events.append(record.event)
        else:
            if record.index <= self.last:
                return False
            self.last = record.index
            self.where[record.index] = len(self.messages)
            self.messages.append(record.message)
        return True

    def session(self) -> Session:
        requests = []
        for request in self.requests:
            if request.message in self.where:
                now = self.where[request.message]
                requests.append(msgspec.structs.replace(request, message=now))
            else:
                self.lost["request_without_message"] += 1
        session = Session(
            self.about.id,
            self.about.format,
            tuple(self.messages),
            tuple(requests),
            tuple(self._moved(compaction) for compaction in self.compactions),
            self.about.tools,
            self.about.name,
            self.about.model,
            self.about.provider,
            self.about.parent,
            self.about.derived,
            self.about.skipped,
            tuple(msgspec.structs.replace(event, at=self._now(event.at)) for event in self.events),
        )
        return _mended(session, self.lost) if self.lost else session

    def _moved(self, compaction: RecordedCompaction) -> RecordedCompaction:
        """The compaction with its indexes as they are now that lines may be lost."""
        kept = tuple(self.where[index] for index in compaction.kept if index in self.where)
        return msgspec.structs.replace(compaction, at=self._now(compaction.at), kept=kept)

    def _now(self, at: int) -> int:
        """The index of the first message that stood at this place or behind it."""
        return sum(index < at for index in self.where)


def _mended(session: Session, lost: Counter[str]) -> Session:
    """A session of which lines are lost: results without their call go, calls get a stub."""
    done = repaired(session.messages)
    places = [*done.places, len(done.messages)]

    def place(index: int) -> int:
        return next((at for at in places[index:] if at >= 0), len(done.messages))

    skipped = Counter(dict(session.skipped)) + lost + done.counts
    return msgspec.structs.replace(
        session,
        messages=tuple(done.messages),
        requests=tuple(
            msgspec.structs.replace(request, message=place(request.message))
            for request in session.requests
        ),
        compactions=tuple(
            msgspec.structs.replace(
                compaction,
                at=place(compaction.at),
                kept=tuple(places[index] for index in compaction.kept if places[index] >= 0),
            )
            for compaction in session.compactions
        ),
        skipped=tuple(sorted(skipped.items())),
        events=tuple(msgspec.structs.replace(event, at=place(event.at))
                     for event in session.events),
    )


def records(sessions: Iterable[Session]) -> Iterator[Record]:
    """The records of a file, in order."""
    yield Header(VERSION)
    for s in sessions:
        yield About(
            s.id, s.format, s.name, s.model, s.provider, s.parent, s.derived, s.tools, s.skipped
        )
        yield from (Said(index, message) for index, message in enumerate(s.messages))
        yield from (Asked(request) for request in s.requests)
        yield from (Compacted(compaction) for compaction in s.compactions)
        yield from (Happened(event) for event in s.events)


def write(sessions: Iterable[Session]) -> bytes:
    """The bytes of a file; the same sessions give the same bytes anywhere.

    A lone surrogate, which no UTF-8 file can hold, is written as U+FFFD.
    """
    return b"".join(_line(record) + b"\n" for record in records(sessions))


def _line(record: Record) -> bytes:
    try:
        return msgspec.json.encode(record)
    except UnicodeEncodeError:
        return msgspec.json.encode(jsonl.clean(_plain(msgspec.to_builtins(record)))[0])


def _plain(value: Any) -> Any:
    """The value with lists for tuples."""
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value


def save(path: Path, sessions: Iterable[Session]) -> None:
    """Write a file, whole or not at all; gzipped where it ends in `.gz`, without a time in it.

    Raises OSError.
    """
    data = write(sessions)
    if path.suffix == ".gz":
        data = gzip.compress(data, GZIP_LEVEL, mtime=0)
    write_bytes(path, data)
