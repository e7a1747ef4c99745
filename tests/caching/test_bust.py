"""What compactions bust, under every provider's rule; answers that a later request can read."""

from __future__ import annotations

import pytest

from compactlab.caching import simulate
from compactlab.caching.rules import RULES
from compactlab.pricing import break_even, price_row, raw_run
from tests.caching.test_bridge import session, walked

CACHES = sorted(set(RULES) - {"none"})
NOVEMBER = 1_793_491_200.0  # 2026-11-01


@pytest.mark.parametrize("provider", CACHES)
def test_a_compaction_busts_the_cache_whether_writes_are_paid_or_free(provider: str) -> None:
    walk = walked(session(40), "compressor", 9000, protect_last_n=4)
    run = simulate(walk, provider=provider, model="claude-opus-5")
    first = {m.request for m in walk.made if m.compaction.changed}
    busted = [r.request for r in run.requests if r.bust]
    assert busted, "it was cached before"
    assert set(busted) <= first
    assert len(busted) >= len(first) // 2
    before = {r.request + 1: r.total for r in run.requests}
    assert all(r.bust <= before.get(r.request, 0) for r in run.requests)


def test_nothing_is_busted_where_nothing_is_cached() -> None:
    walk = walked(session(40), "compressor", 9000, protect_last_n=4)
    assert simulate(walk, provider="none").totals["bust_tokens"] == 0


@pytest.mark.parametrize("provider", ["openai_56", "openai_classic", "deepseek"])
def test_the_marks_lifetime_is_nothing_to_other_providers(provider: str) -> None:
    walk = walked(session(40, gap=400), "compressor", 9000, protect_last_n=4)
    row = price_row("claude-opus-5", "anthropic", NOVEMBER)
    five, hour = (simulate(walk, provider=provider, ttl=ttl) for ttl in ("5m", "1h"))
    assert five.requests == hour.requests
    raw = raw_run(walk, provider=provider)
    assert break_even(walk, five, raw, row) == break_even(walk, hour, raw, row)


@pytest.mark.parametrize(("provider", "whole"), [
    ("deepseek", True), ("sglang", True), ("openai_classic", False)])
def test_where_answers_are_cached_the_next_request_reads_them(provider: str, whole: bool) -> None:
    walk = walked(session(6))
    run = simulate(walk, provider=provider, model="deepseek-v4")
    for before, after in zip(run.requests, run.requests[1:], strict=False):
        if whole:
            assert after.cache_read > before.total
        else:
            assert after.cache_read <= before.total
