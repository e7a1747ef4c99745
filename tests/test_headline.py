"""The first sentences of a report: who costs and loses what, recomputed from the tables."""

from __future__ import annotations

import re
from typing import Any

import pytest

from compactlab.bench import plan, run
from compactlab.report import finding
from compactlab.results import to_pandas
from tests.quality.test_table import WINDOW, story
from tests.tables_by_hand import quality, runs

ASKED = ("What was lost that the agent needed later is not in these tables: run with --quality to "
         "see it.")
UNPRICED = ("What it costs is not said: these sessions are derived from texts and have no usage to "
            "bill.")


def paid(cost: float | None, raw: float | None, **more: Any) -> dict[str, Any]:
    """A run's money, as the table has it."""
    known = cost is not None and raw
    return {"cost": cost, "cost_raw": raw, "price_model": "m" if known else None,
            "cost_saving": 1 - cost / raw if cost is not None and raw else None, **more}


def kept(frr: float | None, bound: float | None = None, **more: Any) -> list[dict[str, Any]]:
    """What was kept at one cut."""
    return [{"metric": metric, "value": value, **more}
            for metric, value in (("frr", frr), ("bound_frr", bound))]


# --- the first sentence -------------------------------------------------------------------------


def test_the_first_sentence_says_what_it_costs_and_loses_where_on_which_sessions() -> None:
    table = runs(*(paid(*money, session=f"s{n}", window=64_000, strategy="compressor",
                        token_reduction=share)
                   for n, (money, share) in enumerate(
                       [((0.50, 0.60), 0.31), ((0.30, 0.35), 0.41), ((0.40, 0.50), 0.51)])))
    cuts = [row for n, (first, second) in enumerate([(0.9, 0.7), (0.8, 0.8), (0.9, 0.52)])
            for at, frr in ((3, first), (9, second))
            for row in kept(frr, frr - 0.1, session=f"s{n}", window=64_000, request=at,
                            strategy="compressor")]
    # cost 1.20 of 1.45 (1 - 1.20/1.45 = 17 %); FRR (0.8 + 0.8 + 0.71) / 3 = 0.77
    first = re.sub(r" \(95 % interval \d+ to \d+\)", "", finding(table, quality(*cuts))[0])
    assert first == (
        "On 3 sessions at a window of 64K, compressor (threshold 50 % of the window) cuts prompt "
        "tokens by 41 %, costs $1.20 where nothing compacted costs $1.45 (17 % less) and loses at "
        "least 23 % of what the agent needed later (FRR 0.77, bound 0.67; n = 3 sessions, 6 "
        "cuts).")


def test_money_that_is_lost_is_said() -> None:
    first = finding(runs(paid(1.12, 1.0)))[0]
    assert "cuts prompt tokens by 40 % and costs $1.12 where nothing compacted costs $1.00 (12 % " \
        "more)." in first
    assert "(nearly as much)" in finding(runs(paid(1.001, 1.0)))[0]
    assert "(as much)" in finding(runs(paid(2.0, 2.0)))[0]
    small = finding(runs(paid(0.0123, 0.0246)))[0]
    assert "costs $0.0123 where nothing compacted costs $0.0246 (50 % less)" in small


def test_without_the_table_of_quality_the_clause_is_left_out_and_how_to_get_it_is_said() -> None:
    found = finding(runs(paid(1.0, 2.0)))
    assert found[0] == ("On 1 session at a window of 32K, escalating (default settings) cuts "
                        "prompt tokens by 40 % and costs $1.00 where nothing compacted costs "
                        "$2.00 (50 % less).")
    assert ASKED in found[1:]
    assert not any("FRR" in line for line in found)


def test_sessions_without_a_price_have_no_figure_of_money_and_it_is_said() -> None:
    found = finding(runs(paid(None, None)), quality(*kept(0.75, 0.5)))
    assert found[0] == (
        "On 1 session at a window of 32K, escalating (default settings) cuts prompt tokens by 40 % "
        "and loses at least 25 % of what the agent needed later (FRR 0.75, bound 0.50; n = 1 "
        "session, 1 cut).")
    assert UNPRICED in found
    partly = runs(paid(1.0, 2.0), paid(None, None, session="s2"))
    assert "(50 % less) in the 1 of them that have a price." in finding(partly)[0]


def test_only_headline_cuts_count_and_without_one_n_is_said_to_be_none() -> None:
    rows = [*kept(0.6, 0.6), *kept(0.1, 0.1, request=2, headline=False, flag="few needs"),
            *kept(0.1, 0.1, view="compaction", compaction=0), *kept(None, None, request=3)]
    assert "loses at least 40 % of what the agent needed later (FRR 0.60, bound 0.60; n = 1 " \
        "session, 1 cut)." in finding(runs({}), quality(*rows))[0]
    found = finding(runs({}), quality(*rows[2:4]))
    assert found[0].endswith("cuts prompt tokens by 40 %.")
    assert [line for line in found if "n = 0" in line] and ASKED not in found


@pytest.mark.parametrize(("frr", "said"), [
    (1.0, "loses nothing of what the agent needed later (FRR 1.00"),
    (0.997, "loses hardly anything of what the agent needed later (FRR 1.00"),
    (0.0, "loses at least 100 % of what the agent needed later (FRR 0.00")])
def test_losses_at_the_ends_are_told_apart(frr: float, said: str) -> None:
    assert said in finding(runs({}), quality(*kept(frr, frr)))[0]


@pytest.mark.parametrize(("share", "said"), [
    (0.0, "leaves prompt tokens as they are."), (0.001, "leaves prompt tokens nearly as they are."),
    (-0.031, "raises prompt tokens by 3 %.")])
def test_tokens_that_are_not_saved_are_no_saving(share: float, said: str) -> None:
    assert finding(runs({"token_reduction": share}))[0].endswith(said)


def test_the_interval_of_a_growth_is_one_of_a_growth() -> None:
    first = finding(runs(*({"session": f"s{n}", "token_reduction": share}
                           for n, share in enumerate((-0.05, -0.02, 0.01)))))[0]
    low, high = re.findall(r"raises prompt tokens by 2 % \(95 % interval (-?\d+) to (-?\d+)\)",
                           first)[0]
    assert -1 <= int(low) < 2 < int(high) <= 5


def test_the_settings_are_told_in_words() -> None:
    def name(**row: Any) -> str:
        found = re.search(r"32K, (.*) cuts prompt", finding(runs(row))[0])
        assert found
        return found[1]

    assert name(strategy="layered") == "layered (threshold 50,000 estimated tokens)"
    assert name(strategy="compressor", settings='{"protect_last_n": 8, "threshold": 0.6}') == (
        "compressor (protect_last_n 8 messages, threshold 60 % of the window)")
    assert name(strategy="mine", settings='{"keep": "all", "size": 5000}') == (
        "mine (keep all, size 5,000)")
    assert "On 1 session without a window, " in finding(runs({"window": None}))[0]


def test_where_nothing_is_served_whole_there_is_no_figure() -> None:
    found = finding(runs({"served_share": 0.5}, {"served_share": 0.5, "session": "s2"}))
    assert found[0] == ("On 2 sessions at a window of 32K, no strategy served every request of "
                        "any: there is no whole session to say what one costs or loses.")
    some = finding(runs(paid(1.0, 2.0), {"session": "s2", "served_share": 0.5}))
    assert some[0].startswith("On the 1 of 2 sessions that it served whole at a window of 32K, ")


def test_only_raw_and_nothing_at_all_are_findings_too() -> None:
    raw = {"strategy": "raw", "token_reduction": 0.0}
    assert finding(runs(raw))[0] == "Only raw was replayed: nothing was compacted."
    assert finding(runs(paid(1.5, 1.5, **raw), paid(0.5, 0.5, session="s2", **raw)))[0] == (
        "Only raw was replayed: nothing was compacted; 2 sessions served whole at a window of 32K "
        "cost $2.00.")
    assert finding(runs()) == ("No session was replayed.",)
    assert finding(runs({"status": "error", "reason": "x"})) == (
        "No session was replayed.", "1 run error: see their reason.")


def test_sessions_of_another_kind_of_head_are_not_in_the_headline() -> None:
    quiet = [{"session": f"q{n}", "head_kind": "in_log", "compactions": 0, "token_reduction": 0.0}
             for n in range(9)]
    found = finding(runs(*quiet, {}))
    assert found[0].startswith("On 1 session (hidden head inferred) at a window of 32K, ")
    assert "(above: hidden head inferred; " in found[1]


# --- the second: who does better ------------------------------------------------------------------


def rivals(*given: tuple[str, float, float, float]) -> tuple[str, ...]:
    """(strategy, token reduction, cost of 2 dollars, FRR) on two sessions."""
    rows = [paid(cost / 2, 1.0, strategy=name, token_reduction=share, session=session)
            for name, share, cost, _ in given for session in ("s1", "s2")]
    cuts = [row for name, _, _, frr in given for session in ("s1", "s2")
            for row in kept(frr, frr, strategy=name, session=session)]
    return finding(runs(*rows), quality(*cuts))


def test_who_costs_or_loses_least_on_the_same_sessions_is_named_next() -> None:
    found = rivals(("layered", 0.8, 2.4, 0.5), ("compressor", 0.5, 1.5, 0.7),
                   ("escalating", 0.2, 1.9, 0.95), ("raw", 0.0, 2.0, 1.0))
    assert found[0].startswith("On 2 sessions at a window of 32K, layered (threshold 50,000 "
                               "estimated tokens) cuts prompt tokens by 80 %")
    assert "costs $2.40 where nothing compacted costs $2.00 (20 % more)" in found[0]
    assert found[1] == (
        "Of the strategies that served these sessions whole there, compressor (threshold 50 % of "
        "the window) costs least: it cuts prompt tokens by 50 %, costs $1.50 (25 % less) and loses "
        "at least 30 % (FRR 0.70, bound 0.70); escalating loses least: it cuts prompt tokens by "
        "20 %, costs $1.90 (5 % less) and loses at least 5 % (FRR 0.95, bound 0.95).")


def test_a_smaller_loss_that_may_be_chance_is_said_to_be_so() -> None:
    rows = [{"session": f"s{n}", "strategy": name, "token_reduction": share}
            for name, share in (("layered", 0.8), ("escalating", 0.2)) for n in range(3)]
    cuts = [row for n, frr in enumerate((0.4, 0.5, 0.9))
            for row in [*kept(frr, frr, session=f"s{n}", strategy="layered"),
                        *kept(0.7, 0.7, session=f"s{n}", strategy="escalating")]]
    assert finding(runs(*rows), quality(*cuts))[1] == (
        "Of the strategies that served these sessions whole there, escalating loses least: it cuts "
        "prompt tokens by 20 % and loses at least 30 % (FRR 0.70, bound 0.70), a loss not "
        "separable from the first one (n = 3).")


def test_one_that_costs_and_loses_least_is_named_once() -> None:
    found = rivals(("layered", 0.8, 2.4, 0.5), ("escalating", 0.2, 1.9, 0.95))
    assert "whole there, escalating costs and loses least: it cuts" in found[1]


def test_that_nobody_does_better_is_said_too() -> None:
    found = rivals(("layered", 0.8, 1.0, 0.9), ("escalating", 0.2, 1.0, 0.9))
    assert found[1] == ("No other strategy that served these sessions whole costs or loses less "
                        "there.")
    alone = finding(runs({}, {"strategy": "compressor", "served_share": 0.5}))
    assert alone[1] == "No other strategy served this session whole there."


def test_one_that_served_other_sessions_is_no_rival() -> None:
    rows = [paid(1.0, 2.0, session="s1", strategy="layered"),
            {"session": "s2", "strategy": "layered", "served_share": 0.5},
            {"session": "s1", "strategy": "compressor", "served_share": 0.5},
            paid(0.1, 2.0, session="s2", strategy="compressor", token_reduction=0.3)]
    found = finding(runs(*rows))
    assert "layered" in found[0]
    assert found[1] == "No other strategy served this session whole there."


# --- a run: every number of the first two sentences -----------------------------------------------


def test_every_number_of_a_run_s_first_sentences_is_in_its_tables() -> None:
    made = run([story(seed) for seed in (1, 2, 3)], plan(
        ["raw", "layered", "compressor"], [WINDOW], quality=True, tokenizer="o200k_base",
        summariser="fallback"))
    assert made.quality is not None
    table, scores = to_pandas(made.runs), to_pandas(made.quality)
    found = finding(table, scores)
    told = [(found[0], re.search(r"8K, (\w+)", found[0])),
            (found[1], re.search(r"there, (\w+)", found[1]))]
    for text, named in told:
        assert named, text
        mine = [r for r in table.to_dict("records") if r["strategy"] == named[1]]
        assert len(mine) == 3 and all(r["served_share"] == 1 for r in mine)
        reduction = sum(r["token_reduction"] for r in mine) / 3
        assert f"cuts prompt tokens by {100 * reduction:.0f} %" in text
        cost, raw = sum(r["cost"] for r in mine), sum(r["cost_raw"] for r in mine)
        assert f"costs ${cost:.2f}" in text
        change = f"{100 * abs(1 - cost / raw):.0f} %"
        more = f"{change} {'less' if cost < raw else 'more'}"
        assert f"({'nearly as much' if change == '0 %' else more})" in text
        for metric, word in (("frr", "FRR"), ("bound_frr", "bound")):
            means = []
            for row in mine:
                values = [s["value"] for s in scores.to_dict("records")
                          if s["session"] == row["session"] and s["strategy"] == named[1]
                          and s["view"] == "cut" and s["headline"] and s["metric"] == metric
                          and isinstance(s["value"], float)]
                means.append(sum(values) / len(values))
            assert f"{word} {sum(means) / 3:.2f}" in text
