"""What is said beside the money of a run: checked or not, what-ifs, missing times."""

from __future__ import annotations

from typing import Any

import pandas as pd

from compactlab.results.trust import trust
from tests.tables_by_hand import runs


def priced(*rows: dict[str, Any]) -> pd.DataFrame:
    table = runs(*rows)
    plain = {"cost": 1.0, "cost_low": 1.0, "cost_high": 1.0, "price_model": "claude-opus-4-6",
             "price_basis": "recorded", "cache_rule": "anthropic", "cache_layout": "automatic",
             "clock_back": 0, "prices_as_of": "2026-11-01 (genai-prices)",
             "hit_rate_error": None, "cost_error": None, "time": "recorded"}
    for name, value in plain.items():
        table[name] = [row.get(name, value) for row in rows]
    return table


def test_errors_are_medians_over_sessions_whatever_the_sign() -> None:
    found = trust(priced(
        {"session": "a", "hit_rate_error": -0.02, "cost_error": 0.1},
        {"session": "b", "hit_rate_error": 0.01, "cost_error": -0.05},
        {"session": "c"}))
    assert found == (
        "error of the simulated cache: replayed as they were recorded, 2 sessions with a bill come "
        "out 1.5 points of hit rate off it (median; worst 2.0) and 7.5 % of input cost (worst "
        "10.0); `compactlab cache validate` says more",)


def test_what_was_never_checked_is_said() -> None:
    (found,) = trust(priced({}))
    assert "not known" in found
    assert trust(runs({"cost": None})) == (), "no money, nothing to trust"


def test_bands_what_ifs_rules_and_times_are_said() -> None:
    said = " ".join(trust(priced(
        {"session": "a", "cost_low": 0.9, "cost_high": 1.02, "price_basis": "what-if"},
        {"session": "b", "cache_rule": "none", "price_model": "grok-4", "time": "assumed"},
        {"session": "c", "clock_back": 2})))
    assert "-10.0 % to +2.0 %" in said
    assert "a what-if: 1 session billed as claude-opus-4-6" in said
    assert "no cache rule is known for grok-4: nothing is cached in 1 session" in said
    assert "1 session without times: nothing expires" in said
    assert "went back 2 times" in said


def test_a_run_without_a_cache_of_its_own_choice_is_no_fault() -> None:
    assert "no cache rule" not in " ".join(trust(priced(
        {"cache_rule": "none", "cache_layout": "none"})))


def test_your_prices_that_nobody_needed_are_said() -> None:
    assert "no row of mine.yaml" in trust(priced({}), "mine.yaml")[-1]
    used = priced({"prices_as_of": "2026-11-01 (your table mine.yaml)"})
    used["prices_as_of"] = "2026-11-01 (your table mine.yaml)"
    assert "no row" not in " ".join(trust(used, "mine.yaml"))
