"""Who is billed: the recording's own models, a what-if, your own prices, models nobody knows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from compactlab.bench import plan
from compactlab.bench import run as run_bench
from compactlab.bench.billed import WHAT_IF_MODEL, CacheOptions, billed_by
from compactlab.caching import simulate
from compactlab.errors import BadSetting
from compactlab.pricing import bill, price_row
from compactlab.pricing.bill import request_cost
from compactlab.replay import Replay, replay
from compactlab.session import Session, Usage
from tests.caching.test_bridge import session, walked


def renamed(one: Session, model: str, start: int = 0, **usage: Any) -> Session:
    """The session with another model from a request on, its usage if any is given."""
    requests = tuple(
        msgspec.structs.replace(r, model=model, usage=Usage(**usage) if usage else r.usage)
        if n >= start else r for n, r in enumerate(one.requests))
    return msgspec.structs.replace(one, requests=requests,
                                   model=one.model if start else model)


def row(one: Session, options: CacheOptions | None = None, strategy: str = "raw") -> dict[str, Any]:
    planned = plan(strategy, None, summariser="fallback", tokenizer="o200k_base", cache=options)
    return run_bench([one], planned).runs.to_pylist()[0]  # type: ignore[no-any-return]


@pytest.mark.parametrize("model", ["grok-4", "glm-4.6", "o3", "my-model", ""])
def test_a_model_that_no_rule_is_known_of_costs_no_result(model: str) -> None:
    one = renamed(session(4), model, input=500, cache_read=400, output=9)
    found = row(one)
    assert found["status"] == "ok", found["reason"]
    assert found["tokens"] > 0
    assert found["cost"] > 0
    assert found["hit_rate_error"] is None
    if found["price_basis"] == "what-if":
        assert (found["price_model"], found["cache_rule"]) == (WHAT_IF_MODEL, "anthropic")
    else:
        assert (found["cache_rule"], found["cache_read"]) == ("none", 0)


def test_your_own_model_takes_your_prices_and_the_rule_that_you_name(tmp_path: Path) -> None:
    table = tmp_path / "prices.yaml"
    table.write_text("models:\n  my-model: {input: 1, cache_read: 0.1, output: 10}\n")
    one = renamed(session(4), "my-model")
    plain = row(one, CacheOptions(prices=str(table)))
    assert (plain["price_model"], plain["price_basis"]) == ("my-model", "recorded")
    assert (plain["cache_rule"], plain["cache_read"]) == ("none", 0)
    known = row(one, CacheOptions(prices=str(table), provider="openai_classic"))
    assert known["cache_rule"] == "openai_classic"
    assert known["cache_read"] > 0
    assert known["cache_ttl"] is None, "its lifetime is its own"
    assert known["cost"] < plain["cost"]


def test_prices_of_another_model_are_a_what_if() -> None:
    assert row(session(4))["price_basis"] == "recorded"
    other = row(session(4), CacheOptions(model="claude-opus-4-5"))
    assert (other["price_model"], other["price_basis"]) == ("claude-opus-4-5", "what-if")


def mixed() -> Replay:
    return walked(renamed(session(6), "claude-sonnet-5-5", start=5))


def test_a_session_that_changes_its_model_pays_each_its_prices() -> None:
    done = mixed()
    by = billed_by(done, CacheOptions())
    assert by.prices.model == "claude-opus-5, claude-sonnet-5-5"
    run = simulate(done)
    start = done.session.requests[0].time
    rows = [price_row(r.model, "", start) for r in done.session.requests]
    costs = [request_cost(rows[r.request], r) for r in run.requests]
    assert bill(run, by.prices).cost == sum(costs)
    assert request_cost(rows[0], run.requests[5]) > 2 * costs[5], "Sonnet is the cheaper one"


def test_a_model_reads_nothing_that_another_one_wrote() -> None:
    done = mixed()
    alone = simulate(replay(session(6), "raw", window=None, tokenizer="o200k_base"))
    reads = [r.cache_read for r in simulate(done).requests]
    assert alone.requests[5].cache_read > 0
    assert reads[5] == 0
    assert reads[6] > 0


def test_the_summaries_of_a_recording_are_paid_too(corpus: Path) -> None:
    from compactlab.formats import load

    (one,) = load(corpus / "pi-mono" / "large-session.jsonl") if (
        corpus / "pi-mono" / "large-session.jsonl").exists() else load(
        next(p for p in sorted((corpus / "sungather-k8s-operator").glob("*.jsonl"))
             if load(p)[0].compactions))
    planned = plan("recorded", None, summariser="fallback")
    found = run_bench([one], planned)
    (run,) = found.runs.to_pylist()
    assert run["summaries"] >= 1
    before = [r["before"] for r in found.compactions.to_pylist() if r["summary_tokens"]]
    prices = price_row(run["price_model"], "", one.requests[0].time)
    least = sum(tokens * float(prices.at(tokens).input) / 1e6 for tokens in before)
    assert run["summariser_cost"] >= least > 0


def test_another_model_does_not_share_the_prefix() -> None:
    options = CacheOptions(summariser_calls="shares_prefix", summariser_model="claude-haiku-4-5")
    with pytest.raises(BadSetting, match="a cache of its own"):
        plan("compressor", 9000, cache=options)
