"""A replay under a cache: whole books, causes, what compactions bust, summary calls."""

from __future__ import annotations

from typing import Any

import pytest

from compactlab.caching.bridge import CacheEvent, simulate
from compactlab.caching.clock import clock, recorded_ttl
from compactlab.caching.models import ROWS, row, rule_of
from compactlab.caching.places import NAMES
from compactlab.caching.run import CacheRun
from compactlab.columns import CACHE_REQUESTS, CACHE_RUNS
from compactlab.errors import BadSetting, UnknownName
from compactlab.replay import Replay, replay
from compactlab.session import (
    Image,
    Message,
    Request,
    Session,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
)

WORDS = "alpha beta gamma delta epsilon zeta eta theta iota kappa "


def session(turns: int = 12, *, gap: float = 60.0, timed: bool = True, size: int = 40,
            thinking: bool = False, model: str = "claude-opus-5", **more: Any) -> Session:
    """Turns of user, call, result, answer; two requests a turn, `gap` seconds apart."""
    messages = [Message("system", (Text("rules " * 700),), "system")]
    requests: list[Request] = []
    for n in range(turns):
        t = n * gap if timed else None

        def at(seconds: float, t: float | None = t) -> float | None:
            return t + seconds if t is not None else None

        messages.append(Message("user", (Text(f"task {n} " + WORDS * size),), "user", time=at(0)))
        thought = (Thinking(f"thought {n} " + WORDS * 10, "signed"),) if thinking else ()
        requests.append(Request(len(messages), model=model, time=at(2)))
        messages.append(Message("assistant", (*thought, ToolCall(f"c{n}", "run", "{}")),
                                "assistant", time=at(2)))
        messages.append(Message("tool", (ToolResult(f"c{n}", (Text(f"out {n} " + WORDS * size),)),),
                                "tool", time=at(3)))
        requests.append(Request(len(messages), model=model, time=at(5)))
        messages.append(Message("assistant", (Text(f"done {n}"),), "assistant", time=at(5)))
    return Session("s", "test", tuple(messages), tuple(requests), model=model, provider="anthropic",
                   **more)


def walked(one: Session, strategy: str = "raw", window: int | None = None, **settings: Any
           ) -> Replay:
    return replay(one, strategy, window=window, tokenizer="o200k_base", summariser="fallback",
                  **settings)


def books(run: CacheRun, walk: Replay) -> None:
    for one in run.requests:
        assert min(one[1:5]) >= 0
        assert one.total == walk.sent[one.request].tokens
        assert 0 <= one.missed <= one.total - one.cache_read
        assert one.bust <= one.total - one.cache_read


@pytest.mark.parametrize("layout", NAMES)
@pytest.mark.parametrize("strategy", ["raw", "compressor", "layered", "escalating"])
def test_read_written_and_uncached_add_up_to_every_prompt(layout: str, strategy: str) -> None:
    walk = walked(session(), strategy, 6000)
    run = simulate(walk, layout=layout)
    assert len(run.requests) == sum(s.served for s in walk.sent)
    books(run, walk)
    assert len(run.row) == len(CACHE_RUNS)
    assert len(run.request_rows[0]) == len(CACHE_REQUESTS)


def test_an_unchanged_session_reads_all_that_it_has_written() -> None:
    run = simulate(walked(session()))
    for before, after in zip(run.requests, run.requests[1:], strict=False):
        assert after.cache_read == before.total - before.uncached
    assert run.totals["bust_tokens"] == 0
    assert run.time == "recorded"


def test_pauses_longer_than_the_lifetime_lose_the_cache_and_an_hour_keeps_it() -> None:
    walk = walked(session(gap=400))
    short, hour = simulate(walk, ttl="5m").totals, simulate(walk, ttl="1h").totals
    assert short["miss_expired"] > 0
    assert hour["miss_expired"] == 0
    assert hour["cache_write_5m"] == 0 < hour["cache_write_1h"]


def test_without_times_nothing_expires_and_the_run_says_so() -> None:
    run = simulate(walked(session(gap=400, timed=False)))
    assert run.time == "assumed"
    assert run.totals["miss_expired"] == 0


def test_a_clock_that_goes_back_is_held_and_counted() -> None:
    one = session(3)
    early = Request(one.requests[3].message, time=1.0)
    messages = [Message(m.role, m.blocks, m.kind) for m in one.messages]
    odd = Session("s", "test", tuple(messages), (*one.requests[:3], early, *one.requests[4:]))
    found = clock(odd)
    assert found.back == 1
    assert list(found.starts) == sorted(found.starts)


def test_a_compaction_busts_what_stood_behind_it_and_none_costs_nothing() -> None:
    walk = walked(session(), "compressor", 6000, protect_last_n=4)
    assert any(m.compaction.changed for m in walk.made)
    run = simulate(walk, layout="tools_system_2")
    after = [r for r in run.requests if r.bust]
    assert {r.request for r in after} <= {m.request for m in walk.made}
    assert after
    assert simulate(walk, layout="none").totals["bust_tokens"] == 0


def test_the_system_prompt_survives_only_with_a_mark_of_its_own() -> None:
    walk = walked(session(), "escalating", 6000)
    made = next(m.request for m in walk.made if m.compaction.changed)
    marked = {r.request: r for r in simulate(walk, layout="tools_system_2").requests}
    bare = {r.request: r for r in simulate(walk, layout="automatic").requests}
    assert marked[made].cache_read >= 700 > bare[made].cache_read


def test_clearing_results_before_every_request_writes_most_of_each_prompt() -> None:
    # sudoprivacy/sudocode PR#626; macanderson/stella#372 and persistent-agent-runtime#108 alike
    raw = simulate(walked(session(20)), layout="automatic").totals
    micro = simulate(walked(session(20), "layered"), layout="automatic").totals
    assert micro["cache_write_5m"] > 3 * raw["cache_write_5m"]
    assert micro["bust_tokens"] > raw["cache_write_5m"]


def test_marks_on_the_message_alone_and_on_foreign_tool_results_do_nothing() -> None:
    # NousResearch/hermes-agent PR#57893
    walk = walked(session())
    native = simulate(walk, layout="system_and_3")
    routed = simulate(walk, layout="system_and_3", provider="openrouter")
    fixed = simulate(walk, layout="system_and_3_fixed", provider="openrouter")
    assert routed.totals["uncached"] > native.totals["uncached"]
    assert fixed.totals["uncached"] == 0


def test_models_that_strip_thinking_lose_the_prefix_at_each_user_message() -> None:
    one = session(6, thinking=True, model="claude-sonnet-4-5")
    walk = walked(one)
    stripped, kept = simulate(walk), simulate(walk, keep_thinking=True)
    assert stripped.totals["miss_diverged"] > 0 == kept.totals["miss_diverged"]
    for run in (stripped, kept):  # the counter's total stands for the message as it was billed
        assert [r.total for r in run.requests] == [sent.tokens for sent in walk.sent]
    books(kept, walk)


def test_a_first_image_loses_the_messages_but_not_the_system_prompt() -> None:
    one = session(4)
    seen = Message("user", (Text("look " * 50), Image(100, 100)), "user", time=500.0)
    messages = (*one.messages, seen, Message("assistant", (Text("ok"),), "assistant", time=501.0))
    more = Session("s", "test", messages,
                   (*one.requests, Request(len(one.messages) + 1, time=501.0)),
                   model="claude-opus-5")
    walk = walked(more)
    last = simulate(walk, layout="tools_system_2", ttl="1h").requests[-1]
    assert last.cause == "diverged"
    assert last.cache_read == walk.store.tokens(one.messages[0])
    assert simulate(walk, ttl="1h", salt_images=False).requests[-1].cause == ""


def test_a_summary_call_may_share_the_prefix_or_stand_alone() -> None:
    walk = walked(session(), "compressor", 6000, protect_last_n=4)
    alone, shared = simulate(walk), simulate(walk, summariser_calls="shares_prefix")
    assert alone.calls
    assert all(c.cache_read == 0 < c.uncached for c in alone.calls)
    assert len(shared.calls) <= len(alone.calls)
    assert any(c.cache_read > c.uncached for c in shared.calls)


def hidden(read: int) -> Session:
    usage = Usage(cache_read=read, cache_write_1h=9000 - read, output=5)
    user = Message("user", (Text("hi"),), "user", time=0.0)
    answer = Message("assistant", (Text("yes"),), "assistant", time=1.0)
    return Session("h", "test", (user, answer), (Request(1, usage=usage, time=1.0),),
                   model="claude-opus-5")


def test_what_another_session_left_of_a_hidden_head_is_read_first() -> None:
    run = simulate(walked(hidden(6000)))
    assert run.requests[0][1:5] == (6000, 0, 3000, 0)
    assert run.ttl == recorded_ttl(hidden(6000)) == "1h"
    assert simulate(walked(hidden(6000)), warm=0).requests[0].cache_read == 0


def test_an_event_is_the_cause_of_what_it_took() -> None:
    run = simulate(walked(session()), layout="tools_system_2", events=[CacheEvent(5, 900)])
    assert run.requests[5].cause == "event"
    assert run.requests[5].cache_read > 0
    assert run.requests[6].cause == ""


@pytest.mark.parametrize("bad", [{"layout": "x"}, {"ttl": "2h"}, {"provider": "x"},
                                 {"summariser_calls": "x"}, {"lookbak": 1}])
def test_a_wrong_setting_lists_the_choices(bad: dict[str, Any]) -> None:
    with pytest.raises((UnknownName, BadSetting), match="choose one of"):
        simulate(walked(session(2)), **bad)


def test_the_model_says_which_rule_and_minimum_hold() -> None:
    assert rule_of("claude-opus-4-5-20251101", "anthropic") == ("anthropic", {"min_tokens": 4096})
    assert rule_of("anthropic/claude-haiku-4.5", "openrouter")[1] == {"min_tokens": 4096}
    assert rule_of("gpt-5.5", "auto") == ("openai_classic", {"interval": 2048})
    assert rule_of("gpt-6.1-sol", "openai")[0] == "openai_56"
    assert rule_of("google/gemini-3-pro-preview", "auto") == (
        "gemini_implicit", {"min_tokens": 2048})
    with pytest.raises(UnknownName):
        rule_of("mystery", "auto")


def test_versions_of_models_are_not_confused() -> None:
    assert row("claude-opus-4-20250514").min_tokens == 1024
    assert row("claude-3-5-haiku-20241022").min_tokens == 2048
    assert row("claude-sonnet-5-5").min_tokens == 512
    assert row("claude-sonnet-4-5-20250929").keep_thinking is False
    assert len(ROWS) < 20
