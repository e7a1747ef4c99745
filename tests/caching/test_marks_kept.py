"""Marks that are there already, requests in the API's own form, and requests that are none."""

from __future__ import annotations

from typing import Any

import pytest

from compactlab.caching import mark_request, simulate_requests
from compactlab.caching.bridge import prefixes_of
from compactlab.caching.carriers import own_marks
from compactlab.caching.models import row, rule_of
from compactlab.caching.parts import CacheBlock, CacheMark, CacheRequest
from compactlab.caching.places import placing
from compactlab.errors import BadHistory, BadSetting
from compactlab.replay import replay
from compactlab.session import Message, Request, Session, Text

FIVE, HOUR = {"type": "ephemeral"}, {"type": "ephemeral", "ttl": "1h"}


def users(*texts: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": text} for text in texts]


def test_the_requests_own_mark_takes_a_slot() -> None:
    marked = mark_request({"cache_control": FIVE, "system": "S", "tools": [{"name": "t"}],
                           "messages": users("a", "b", "c")}, "tools_system_2")
    assert len(own_marks(marked)) == 4
    assert marked["cache_control"] == FIVE
    assert isinstance(marked["messages"][2]["content"], list), "the newest message keeps its mark"
    assert marked["messages"][1]["content"] == [{"type": "text", "text": "b"}]


def test_automatic_takes_the_lifetime_of_a_mark_on_the_very_block() -> None:
    last = [{"type": "text", "text": "1", "cache_control": HOUR}]
    marked = mark_request({"messages": [{"role": "user", "content": last}]}, "automatic", "5m")
    assert marked["cache_control"] == HOUR, "another lifetime would be a 400"
    kept = mark_request({"cache_control": HOUR, "messages": users("a")}, "automatic", "5m")
    assert kept["cache_control"] == HOUR


@pytest.mark.parametrize("system", ["You are X", [{"type": "text", "text": "You are X"}]])
def test_system_and_3_marks_a_system_prompt_in_its_own_field(system: Any) -> None:
    marked = mark_request({"system": system, "messages": users(*"abcd")}, "system_and_3")
    assert marked["system"][-1]["cache_control"] == FIVE
    assert len(own_marks(marked)) == 4


def test_the_simulated_table_marks_the_same_messages_as_the_real_one() -> None:
    said = [("system", f"rules {n} " * 700) for n in range(2)]
    for n in range(4):
        said += [("user", f"ask {n} " * 300), ("assistant", f"say {n} " * 300)]
    kinds: dict[str, Any] = {"system": "system", "user": "user", "assistant": "assistant"}
    messages = tuple(Message(kinds[role], (Text(text),), kinds[role]) for role, text in said)
    one = Session("s", "test", messages, (Request(9, model="claude-opus-5"),))
    walk = replay(one, "raw", window=None, tokenizer="o200k_base")
    prefixes = prefixes_of(walk.store, 0, (), strip=False, salt_images=True)
    tail = prefixes.tail(walk.nodes[0])
    simulated = [prefixes.tree.depth[n] - 1 for n in placing("system_and_3")(prefixes, tail, True)]
    real = mark_request({"messages": [{"role": role, "content": text} for role, text in said[:9]]},
                        "system_and_3")
    assert simulated == [place.item for place, _ in own_marks(real)] == [0, 6, 7, 8]


def test_a_mark_that_the_api_refuses_is_taken_away() -> None:
    empty = {"type": "text", "text": "", "cache_control": FIVE}
    call = {"type": "tool_use", "id": "1", "name": "t", "input": {}}
    messages = [{"role": "assistant", "content": [empty, call]}]
    (place, _), = own_marks(mark_request({"messages": messages}, "single"))
    assert place.block == 1
    assert messages[0]["content"][0]["cache_control"] == FIVE, "the input is never changed"


def test_no_fifth_mark_is_set_where_four_are_there() -> None:
    tools = [{"name": str(n), "cache_control": FIVE} for n in range(4)]
    marked = mark_request({"tools": tools, "system": "S", "messages": users("a")},
                          "tools_system_2")
    assert [place.section for place, _ in own_marks(marked)] == ["tools"] * 4
    with pytest.raises(BadHistory, match="at most 4 fit"):
        mark_request({"tools": [*tools, {"name": "5", "cache_control": FIVE}],
                      "messages": users("a")}, "tools_system_2")


def test_automatic_sets_no_fifth_mark_either() -> None:
    tools = [{"name": str(n), "cache_control": FIVE} for n in range(4)]
    marked = mark_request({"tools": tools, "messages": users("a")}, "automatic")
    assert "cache_control" not in marked
    three = mark_request({"tools": tools[:3], "messages": users("a")}, "automatic")
    assert three["cache_control"] == FIVE


@pytest.mark.parametrize("last", [
    {"role": "system", "content": [{"type": "text", "text": "x", "cache_control": HOUR}]},
    {"role": "tool", "content": "x", "cache_control": HOUR}])
def test_automatic_meets_a_mark_on_whatever_message_is_last(last: dict[str, Any]) -> None:
    marked = mark_request({"messages": [*users("a"), last]}, "automatic", "5m")
    assert marked["cache_control"] == HOUR


def test_a_block_of_no_kind_carries_no_mark() -> None:
    odd = [{"type": "text", "text": "a"}, {"type": ["x"]}, {"text": "b"}, None]
    (place, _), = own_marks(mark_request({"messages": [{"role": "user", "content": odd}]},
                                         "single"))
    assert place.block == 0


@pytest.mark.parametrize("tools", [[None], ["x"], {"a": 1}, "x", {}, 0])
def test_tools_that_are_none_are_an_error(tools: Any) -> None:
    with pytest.raises(BadHistory, match="list of JSON objects"):
        mark_request({"tools": tools, "messages": users("a")})


@pytest.mark.parametrize(("model", "rule"), [
    ("gpt-5", "openai_classic"), ("gpt-5-2025-08-07", "openai_classic"),
    ("gpt-5-08-07", "openai_classic"), ("gpt-5-11-20", "openai_classic"),
    ("gpt-5.10", "openai_56"), ("gpt-5-6-08-07", "openai_56"), ("gpt-4.1-2025-04-14",
                                                                "openai_classic"),
    ("gpt-35-turbo", "openai_classic"), ("gpt-4-1106-preview", "openai_classic"),
    ("gpt-5.6-sol", "openai_56"), ("gpt-5-6-sol-2026-09-01", "openai_56"),
    ("gpt-6-astra", "openai_56")])
def test_a_date_is_no_version(model: str, rule: str) -> None:
    assert rule_of(model, "auto")[0] == rule


@pytest.mark.parametrize("model", ["claude-3-7-sonnet-20250219", "claude-3-5-sonnet-20241022",
                                   "claude-3-opus-20240229", "claude-3-5-haiku-20241022"])
def test_earlier_models_drop_thinking(model: str) -> None:
    assert row(model).keep_thinking is False


def sent(t: float, *marks: CacheMark) -> CacheRequest:
    return CacheRequest(t, (CacheBlock("a", 2000),), marks)


def test_a_mark_lives_five_minutes_or_an_hour_and_no_other_time() -> None:
    with pytest.raises(BadSetting, match="'30m'"):
        simulate_requests([sent(0, CacheMark(0, "30m"))], "anthropic")
    assert simulate_requests([sent(0, CacheMark(0, "30m"))], "openai_56")[0].write_5m == 2000
    with pytest.raises(BadSetting, match="sort the requests"):
        simulate_requests([sent(1), sent(float("nan"))], "anthropic")


def test_with_room_for_one_mark_the_oldest_go() -> None:
    block = tuple(CacheBlock(key, 1500) for key in "abc")
    first = CacheRequest(0, block, (CacheMark(0), CacheMark(1)))
    other = CacheRequest(1, (block[0], CacheBlock("x", 1500), CacheBlock("y", 1500)))
    alone = simulate_requests([first, other], "openai_56", most_marks=1)
    assert alone[1].read == 0


def test_a_prefix_can_be_given_a_longest_life() -> None:
    requests = [sent(500.0 * n) for n in range(9)]
    read = [bool(s.read) for s in simulate_requests(requests, "openai_classic", max_ttl=3000)]
    assert read == [False, *[True] * 6, False, True]
    assert all(s.read for s in simulate_requests(requests, "openai_classic")[1:])


def test_a_longest_life_is_counted_for_each_beginning_of_a_prompt() -> None:
    def prompt(t: float, *keys: str) -> CacheRequest:
        return CacheRequest(t, tuple(CacheBlock(key, 2000) for key in keys))

    found = simulate_requests([
        prompt(0, "a"), prompt(300, "b"), prompt(500, "a", "c"), prompt(700, "b"),
        prompt(1050, "a", "c"), prompt(1100, "b"), prompt(1150, "a", "c"), prompt(1350, "b")],
        "openai_classic", max_ttl=1000)
    assert [s.read for s in found] == [0, 0, 1920, 1920, 0, 1920, 3968, 0]
    assert found[4].missed == found[4].missed[:1] == (("expired", 4000),)


@pytest.mark.parametrize("settings", [
    {"min_tokens": "x"}, {"min_tokens": None}, {"lookback": 2.5}, {"lookback": 0},
    {"tie_lives": 1}, {"refresh": 3}])
def test_settings_of_another_type_are_errors(settings: dict[str, Any]) -> None:
    with pytest.raises(BadSetting):
        simulate_requests([sent(0)], "anthropic", **settings)


@pytest.mark.parametrize(("provider", "settings"), [
    ("vllm", {"block": 0}), ("vllm", {"capacity_blocks": -1}), ("openai", {"granularity": 0}),
    ("openai", {"idle_ttl": "x"}), ("gemini", {"p_hit": "x"}), ("gemini", {"seed": [1]}),
    ("deepseek", {"idle_ttl": float("nan")})])
def test_sizes_are_at_least_one(provider: str, settings: dict[str, Any]) -> None:
    with pytest.raises(BadSetting):
        simulate_requests([sent(0)], provider, **settings)
