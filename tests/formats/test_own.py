"""compactlab's own files: nothing is lost, the same bytes anywhere."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compactlab.errors import BadSession
from compactlab.formats import load, own, sniff
from compactlab.session import (
    Event,
    Image,
    Message,
    Opaque,
    RecordedCompaction,
    Request,
    Session,
    Summary,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
)

FILE = Path("session.jsonl")
words = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
numbers = st.integers(0, 2**40)
times = st.none() | st.floats(allow_nan=False, allow_infinity=False)
parts = (
    st.builds(Text, words) | st.builds(Image, numbers, numbers, words) | st.builds(Opaque, words)
)
blocks = (
    parts
    | st.builds(Thinking, words, words)
    | st.builds(Summary, words)
    | st.builds(ToolCall, words, words, words)
    | st.builds(ToolResult, words, st.lists(parts, max_size=2).map(tuple), st.booleans())
)


def messages(source: st.SearchStrategy[Message | None]) -> st.SearchStrategy[Message]:
    return st.builds(
        Message,
        st.sampled_from(["system", "user", "assistant", "tool"]),
        st.lists(blocks, max_size=3).map(tuple),
        st.sampled_from(["user", "tool", "cut", "note", "summary"]),
        words,
        times,
        source,
    )


derived = messages(st.none() | messages(st.none() | messages(st.none())))
usages = st.none() | st.builds(Usage, numbers, numbers, numbers, numbers, numbers)


@st.composite
def sessions(draw: st.DrawFn) -> Session:
    said = draw(st.lists(derived, max_size=5).map(tuple))
    place = st.integers(0, len(said) - 1) if said else st.nothing()
    requests = st.builds(Request, place, words, words, times, usages)
    compactions = st.builds(
        RecordedCompaction,
        st.integers(0, len(said)),
        words,
        words,
        st.none() | numbers,
        st.none() | numbers,
        st.lists(place, max_size=2 if said else 0).map(tuple),
    )
    return Session(
        id=draw(words),
        format=draw(words),
        messages=said,
        requests=draw(st.lists(requests, max_size=3 if said else 0).map(tuple)),
        compactions=draw(st.lists(compactions, max_size=2).map(tuple)),
        tools=draw(st.lists(words, max_size=2).map(tuple)),
        name=draw(words),
        model=draw(words),
        provider=draw(words),
        parent=draw(words),
        derived=draw(st.booleans()),
        skipped=draw(st.lists(st.tuples(words, numbers), max_size=2).map(tuple)),
        events=draw(st.lists(st.builds(Event, st.integers(0, len(said)), words, words),
                             max_size=2).map(tuple)),
    )


@settings(max_examples=150, deadline=None)
@given(st.lists(sessions(), max_size=3))
def test_what_is_written_is_read_back_and_written_again_byte_for_byte(some: list[Session]) -> None:
    data = own.write(some)
    assert own.read(FILE, data) == some
    assert own.write(own.read(FILE, data)) == data


def small() -> Session:
    """A session with a derived message, a summary, a request and a compaction."""
    question = Message("user", (Text("what is in a.py?"),), id="u1", time=1.5)
    call = Message("assistant", (ToolCall("c1", "read", '{"path":"a.py"}'),), "assistant", "m1")
    result = Message("tool", (ToolResult("c1", (Text("x\n" * 99),)),), "tool", "r1", 2.0)
    cut = Message("tool", (ToolResult("c1", (Text("x\n[...]"),)),), "cut", "r1", 2.0, result)
    summary = Message("user", (Summary("so far: a.py was read"),), "summary")
    said = (question, call, cut, summary)
    usage = Usage(input=10, cache_read=20, cache_write_5m=30, output=5)
    return Session(
        "s1",
        "claude-code",
        said,
        (Request(1, "m1", "a-model", 1.7, usage),),
        (RecordedCompaction(3, "auto", "so far", 9000, None, (1, 2)),),
        skipped=(("broken_line", 1),),
        events=(Event(3, "resume", "a last-prompt line"),),
    )


def test_a_derived_message_keeps_the_message_it_was_made_from() -> None:
    again = own.read(FILE, own.write([small()]))[0]
    assert again.messages[2].source is not None
    assert again.messages[2].original.text == "x\n" * 99
    assert again.messages[3].summary == Summary("so far: a.py was read")


def test_a_file_opens_with_its_version_and_holds_one_record_a_line() -> None:
    lines = own.write([small()]).splitlines()
    assert lines[0] == b'{"record":"compactlab","version":1}'
    records = [msgspec.json.decode(line)["record"] for line in lines]
    assert records == ["compactlab", "session", *["message"] * 4, "request", "compaction", "event"]


def test_another_version_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "future.jsonl"
    path.write_bytes(own.write([small()]).replace(b'"version":1', b'"version":7', 1))
    assert sniff(path) == own.NAME
    with pytest.raises(BadSession, match=r"future\.jsonl, line 1: version 7 .* reads version 1"):
        load(path)


def test_gzipped_files_are_the_same_whenever_they_are_written(tmp_path: Path) -> None:
    first, second = tmp_path / "a.jsonl.gz", tmp_path / "b.jsonl.gz"
    own.save(first, [small()])
    own.save(second, [small()])
    assert first.read_bytes() == second.read_bytes()
    assert gzip.decompress(first.read_bytes()) == own.write([small()])
    assert load(first) == [small()]


def test_several_sessions_of_a_file_keep_their_order(tmp_path: Path) -> None:
    path = tmp_path / "two.jsonl"
    other = msgspec.structs.replace(small(), id="s2", parent="s1")
    own.save(path, [small(), other])
    assert load(path) == [small(), other]


def test_a_lost_message_shifts_nothing_and_is_counted() -> None:
    lines = own.write([small()]).splitlines(keepends=True)
    lines[2] = lines[2][:20] + b"\n"  # the question, torn
    session = own.read(FILE, b"".join(lines))[0]
    assert session.messages == small().messages[1:]
    assert session.requests[0].message == 0
    assert (session.compactions[0].at, session.compactions[0].kept) == (2, (0, 1))
    assert session.events[0].at == 2
    assert dict(session.skipped) == {"broken_line": 2}


def test_a_request_whose_message_is_lost_is_counted_not_moved() -> None:
    lines = own.write([small()]).splitlines(keepends=True)
    del lines[3]
    session = own.read(FILE, b"".join(lines))[0]
    assert session.requests == ()
    assert dict(session.skipped) == {
        "broken_line": 1,
        "request_without_message": 1,
        "result_without_call": 1,
    }


def test_a_torn_last_line_costs_that_line_only() -> None:
    data = own.write([small()])
    session = own.read(FILE, data[:-10])[0]
    assert session.messages == small().messages
    assert session.compactions == small().compactions
    assert session.events == ()
    assert dict(session.skipped)["broken_line"] == 2


@pytest.mark.parametrize("lost", [1, 9])
def test_messages_without_their_session_are_an_error_that_names_the_line(lost: int) -> None:
    lines = own.write([small(), small()]).splitlines(keepends=True)
    assert msgspec.json.decode(lines.pop(lost))["record"] == "session"
    with pytest.raises(BadSession, match=r"session\.jsonl, line \d+: a record without its session"):
        own.read(FILE, b"".join(lines))


def test_a_file_without_a_session_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "none.jsonl"
    own.save(path, [])
    with pytest.raises(BadSession, match="no session in it"):
        load(path)


def test_a_lone_surrogate_is_written_as_a_replacement_character() -> None:
    session = msgspec.structs.replace(
        small(),
        messages=(Message("user", (Text("half \udcb2 a pair"),)),),
        requests=(),
        compactions=(),
        events=(),
    )
    assert own.read(FILE, own.write([session]))[0].messages[0].text == "half \ufffd a pair"


def test_unknown_fields_of_a_record_do_not_hurt() -> None:
    def more(line: bytes) -> bytes:
        value: dict[str, Any] = msgspec.json.decode(line)
        return msgspec.json.encode({**value, "later": 1}) + b"\n"

    data = b"".join(map(more, own.write([small()]).splitlines()))
    assert own.read(FILE, data) == [small()]
