"""Messages and their pairs of calls and results, by open calls in order."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from compactlab.session import (
    Image,
    Message,
    Session,
    Summary,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    compact_json,
    pairs,
    stub_result,
)
from tests.generated import EVENTS, Event, messages_of
from tests.reference.desk import Item, callers, unanswered


def call(*ids: str) -> Message:
    return Message("assistant", tuple(ToolCall(i, "bash") for i in ids), "assistant")


def result(call_id: str) -> Message:
    return Message("tool", (ToolResult(call_id, (Text("ok"),)),), "tool")


USER = Message("user", (Text("hi"),))


@pytest.mark.parametrize(("messages", "caller", "waiting"), [
    ([call("a"), result("a")], {1: 0}, []),
    ([call("a", "b"), result("b"), result("a")], {1: 0, 2: 0}, []),
    ([call("a")], {}, [(0, "a")]),
    ([result("a")], {}, []),
    ([result("a"), call("a")], {}, [(1, "a")]),  # a result does not answer what comes later
    ([call("a"), result("a"), result("a")], {1: 0}, []),
    ([call("x", "x"), result("x"), result("x"), result("x")], {1: 0, 2: 0}, []),
    ([call("x"), result("x"), call("x"), result("x")], {1: 0, 3: 2}, []),
    ([call("x"), call("x"), result("x"), result("x")], {2: 1, 3: 0}, []),  # the latest first
    ([call("x"), call("x"), call("y"), result("x"), result("x")], {3: 0, 4: 1}, [(2, "y")]),
    ([call("bg", "a"), result("a"), USER, call("b"), result("b"), result("bg")],
     {1: 0, 4: 3, 5: 0}, []),
    ([call("a"), call("b"), USER], {}, [(0, "a"), (1, "b")]),
])
def test_results_answer_open_calls_in_order(
        messages: list[Message], caller: dict[int, int], waiting: list[tuple[int, str]]) -> None:
    found = pairs(messages)
    assert found.caller == caller and found.open == waiting


@settings(max_examples=200, deadline=None, derandomize=True)
@given(EVENTS)
def test_pairs_equal_the_plain_way_to_find_them(events: list[Event]) -> None:
    messages = messages_of(events)
    items = [Item(m, i) for i, m in enumerate(messages)]
    found = pairs(messages)
    assert found.caller == {r: c for r, (c, _) in callers(items).items()}
    assert found.number == {r: n for r, (_, n) in callers(items).items()}
    ids = sorted((i, items[i].call_ids[n]) for i, n in unanswered(items))
    assert sorted(found.open) == ids


def test_a_call_by_anyone_but_the_assistant_is_no_call() -> None:
    odd = Message("user", (ToolCall("a", "bash"),))
    assert pairs([odd, result("a")]) == ({}, [], {})


def test_the_text_of_a_message_leaves_thinking_and_arguments_out() -> None:
    message = Message("assistant", (Thinking("hm"), Text("one"), ToolCall("a", "bash"),
                                    Summary("two"), Image()))
    assert message.text == "one\ntwo" and [c.id for c in message.calls] == ["a"]
    assert message.summary == Summary("two") and message.result is None
    assert Message("user").text == "" and Message("user").summary is None


def test_the_text_of_a_result_joins_its_text_blocks() -> None:
    parts = (Text("a"), Image(), Text("b"))
    assert ToolResult("x", parts).text == "a\nb" and ToolResult("x").text == ""
    assert Message("tool", (ToolResult("x", parts),)).text == "a\nb"


def test_the_original_is_the_recorded_message_behind_all_derived_ones() -> None:
    first = Message("user", (Text("a"),))
    second = Message("user", (Text("b"),), source=first)
    third = Message("user", (Text("c"),), source=second)
    assert third.original is first and first.original is first


def test_messages_and_blocks_are_frozen() -> None:
    for value, name in ((USER, "role"), (Text("a"), "text"), (ToolCall("a", "b"), "name"),
                        (Session("s", "own", (USER,)), "messages")):
        with pytest.raises(AttributeError):
            setattr(value, name, "other")


def test_turns_begin_at_messages_of_the_user_and_of_nobody_else() -> None:
    kinds = ("user", "meta", "observation", "command", "user")
    messages = tuple(Message("user", (Text("x"),), k) for k in kinds)  # type: ignore[arg-type]
    assert Session("s", "own", messages).turns == 2


@pytest.mark.parametrize(("value", "text"), [
    ({"b": 1, "a": "é"}, '{"b":1,"a":"é"}'), ([], "[]"), (None, "null"), ("\n", '"\\n"'),
    ({"n": 2**70}, '{"n":1180591620717411303424}'), ("\ud83d", '"?"'), (1.5, "1.5")])
def test_compact_json_keeps_order_and_letters_and_takes_what_is_odd(
        value: object, text: str) -> None:
    assert compact_json(value) == text


@pytest.mark.parametrize(("arguments", "value"), [
    ('{"a":1}', {"a": 1}), ("not json", "not json"), ("", ""), ("[" * 5000, "[" * 5000),
    ('"\udc97"', '"\udc97"')])
def test_arguments_that_are_no_json_come_back_as_text(arguments: str, value: object) -> None:
    assert ToolCall("a", "b", arguments).parsed() == value


def test_a_stub_is_a_marked_tool_message() -> None:
    made = stub_result("a", "[gone]")
    assert (made.role, made.kind, made.text) == ("tool", "stub", "[gone]")
    assert made.result is not None and made.result.call_id == "a"
