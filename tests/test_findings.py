"""The findings of a run behind the first sentence: what was replayed, money, stops, failures."""

from __future__ import annotations

from compactlab.report import finding, under_budget
from tests.tables_by_hand import runs
from tests.test_headline import ASKED, UNPRICED

SCOPE = ("1 session (1 own) with 4 requests replayed under {} at a window of 32K (hidden head "
         "inferred; tokenizer o200k_base, summariser extractive).")


def test_the_headline_names_the_strategy_that_reduced_most_where_all_was_served() -> None:
    table = runs(
        {"strategy": "raw", "token_reduction": 0.0, "served_share": 0.5, "stops": 1,
         "stop_reason": "no_strategy"},
        {"strategy": "compressor", "token_reduction": 0.4},
        {"strategy": "layered", "token_reduction": 0.7},
        {"strategy": "escalating", "token_reduction": 0.9, "served_share": 0.9, "stops": 1,
         "stop_reason": "under_budget"},
    )
    assert finding(table) == (
        "On 1 session at a window of 32K, layered (threshold 50,000 estimated tokens) cuts prompt "
        "tokens by 70 %.",
        SCOPE.format("raw, compressor, layered, escalating"),
        "At 32K, layered reduced prompt tokens most among the strategies that served every "
        "request: by 70 %, in 1 session.",
        UNPRICED,
        ASKED,
        "Under raw, turns ended refused at 32K (it has no answer to a refusal).",
        "Under escalating, turns ended refused at 32K (its messages were under the budget).",
    )


def test_the_only_strategy_that_served_everything_is_named_as_such() -> None:
    found = finding(runs({}, {"strategy": "compressor", "served_share": 0.5}))
    assert ("At 32K, only escalating served every request: it reduced prompt tokens by 40 %, in 1 "
            "session.") in found


def test_the_headline_takes_the_smallest_window_at_which_all_was_served() -> None:
    rows = [{"session": f"s{n}", "window": window, "token_reduction": 0.1 * (n + 1),
             "served_share": 1.0 if window > 32_000 or n else 0.5}
            for window in (32_000, 64_000, 128_000) for n in range(3)]
    found = finding(runs(*rows))
    assert found[0].startswith("On 3 sessions at a window of 64K, escalating (default settings) "
                               "cuts prompt tokens by 20 % (95 % interval ")
    assert "in 2 of 3 sessions; no strategy served every request." in found[2]
    assert found[3].startswith("At 64K, escalating reduced prompt tokens most among the strategies "
                               "that served every request: by 20 % (95 % interval ")
    assert found[4].startswith("At 128K")


def test_runs_that_were_impossible_are_told_apart() -> None:
    found = finding(runs({}, {"session": "s2", "status": "impossible", "token_reduction": None}))
    assert found[-1] == "1 run impossible: the hidden head alone fills the window."


def test_stops_of_several_reasons_are_counted() -> None:
    stopped = [{"session": f"s{n}", "stops": 1, "stop_reason": reason}
               for n, reason in enumerate(["exhausted", "under_budget", "under_budget"])]
    assert finding(runs(*stopped))[-1] == (
        "Under escalating, turns ended refused in 3 of 3 sessions at 32K "
        "(all attempts used up: 1, its messages were under the budget: 2).")


def test_the_under_budget_finding_counts_runs_and_names_the_heads() -> None:
    text = under_budget(runs(
        {"stops": 1, "stop_reason": "under_budget", "head": 9_000},
        {"session": "s2", "stops": 2, "stop_reason": "exhausted"},
        {"session": "s3", "stops": 1, "stop_reason": "under_budget", "head": 21_500},
        {"session": "s4", "strategy": "raw", "stops": 1, "stop_reason": "no_strategy"}))
    assert text.startswith("escalating: in 2 of 3 runs with a refused turn")
    assert text.endswith("takes 9K to 21.5K tokens.")
    assert under_budget(runs({})).startswith("No run")


def test_the_money_of_the_headline_s_window_is_said_and_only_of_sessions_served_whole() -> None:
    some = runs(
        {"window": 64_000, "strategy": "layered", "cost_saving": -1.5},
        {"window": 64_000, "strategy": "compressor", "cost_saving": 0.25},
        {"window": 64_000, "strategy": "layered", "session": "s2", "cost_saving": 9.0,
         "served_share": 0.5})
    money = [line for line in finding(some) if line.startswith("Money saved")]
    assert len(money) == 1
    assert "compressor +25 %, layered -150 %" in money[0]


def test_summaries_of_the_fallback_are_said() -> None:
    scope = finding(runs({"summaries": 7, "fallbacks": 2}))[1]
    assert "(2 of 7 by the fallback)" in scope


def test_a_session_without_a_request_is_in_no_finding() -> None:
    both = finding(runs({"session": "a"}, {"session": "empty", "requests": 0, "served_share": None,
                                           "token_reduction": None}))
    assert not any("no strategy served every request" in sentence for sentence in both)
    assert finding(runs({"requests": 0}))[0] == "No session was replayed."
