"""Open points of the documentation give a band, never one false number."""

from __future__ import annotations

from typing import Any

import msgspec

from compactlab.caching import simulate
from compactlab.caching.readings import HOUR, OF_RUNS, OF_TIME, readings
from compactlab.replay import Replay
from compactlab.session import Message, Request, Session, Text, ToolCall, ToolResult
from tests.caching.test_bridge import session, walked


def reads(walk: Replay, **settings: Any) -> list[int]:
    return [r.run.totals["cache_read"] for r in readings(walk, **settings)]


def test_the_default_comes_first_and_the_older_look_back_reads_no_more() -> None:
    found = readings(walked(session(30)), layout="automatic")
    assert len(found) == 7
    assert found[0].settings == {}
    older = next(r for r in found if r.settings == {"collapse_runs": False})
    assert older.run.totals["cache_read"] <= found[0].run.totals["cache_read"]


def test_a_reading_that_is_set_is_not_varied() -> None:
    assert len(readings(walked(session(3)), refresh="prefix")) == 5


def test_gemini_has_a_chance_of_a_hit_and_so_a_band() -> None:
    found = reads(walked(session(60, gap=10)), provider="gemini_implicit", model="gemini-2.5-pro")
    assert min(found) < max(found)


def test_openais_hour_is_of_idleness_or_of_life_and_so_a_band() -> None:
    short, long = (readings(walked(session(turns, gap=300)), model="gpt-5") for turns in (9, 30))
    hour = {"max_ttl": HOUR}
    assert [r.settings for r in short if r.run is short[0].run] == [{}, hour]
    (reading,) = [r for r in long if r.settings == hour]
    assert reading.run.totals["cache_read"] < long[0].run.totals["cache_read"]
    assert reading.run.totals["miss_expired"] > long[0].run.totals["miss_expired"]


def test_readings_that_cannot_differ_are_not_simulated_again() -> None:
    short = readings(walked(session(3, gap=10)))
    assert [r.run is short[0].run for r in short] == [True] * 7, "no time to expire, no runs"
    long = readings(walked(session(30, gap=200)))
    apart = [r.settings for r in long if r.run is not long[0].run]
    assert apart == list(OF_TIME)
    for reading in long:
        again = simulate(walked(session(30, gap=200)), **reading.settings)
        assert again.requests == reading.run.requests


def test_runs_of_tool_blocks_are_seen() -> None:
    one = session(4)
    calls = Message("assistant", (ToolCall("a", "run", "{}"), ToolCall("b", "run", "{}")),
                    "assistant")
    results = [Message("tool", (ToolResult(name, (Text("out"),)),), "tool") for name in "ab"]
    more = Session("s", "test", (*one.messages, calls, *results), (
        *one.requests, Request(len(one.messages)), Request(len(one.messages) + 3)),
        model="claude-opus-5", provider="anthropic")
    more = msgspec.structs.replace(more, messages=(*more.messages, Message(
        "assistant", (Text("done"),), "assistant")))
    found = readings(walked(more))
    assert [r.settings for r in found if r.run is not found[0].run] == list(OF_RUNS)
