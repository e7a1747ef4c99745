"""Money: list prices and own tables, tiers, exact sums, savings and break-even."""

from __future__ import annotations

import re
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest

from compactlab.caching.bridge import simulate
from compactlab.caching.money import Prices, cost
from compactlab.caching.run import CachedRequest
from compactlab.columns import MONEY_RUNS
from compactlab.errors import BadPrices, NoPrice
from compactlab.pricing import (
    Assumptions,
    bill,
    break_even,
    latency,
    price_row,
    priced,
    raw_run,
    total_cost,
)
from compactlab.pricing.bill import request_cost
from compactlab.pricing.break_even import _without
from compactlab.pricing.own_table import check_table
from tests.caching.test_bridge import session, walked

NOVEMBER = 1_793_491_200.0  # 2026-11-01
D = Decimal


def asked(prompt: int, **more: int) -> CachedRequest:
    values = {"cache_read": 0, "cache_write_5m": 0, "cache_write_1h": 0, "uncached": prompt, **more}
    return CachedRequest(0, **values, hit=0.0, cause="", missed=0, bust=0)


@pytest.mark.parametrize(("model", "prices"), [
    ("claude-opus-5", "5 0.5 6.25 10 25"), ("claude-opus-5-5", "4 0.2 5 8 20"),
    ("claude-opus-4-5-20251101", "5 0.5 6.25 10 25"), ("claude-haiku-4-5", "1 0.1 1.25 2 5"),
    ("claude-fable-5-1", "10 0.25 12.5 20 50")])
def test_list_prices_are_those_of_the_autumn_of_2026(model: str, prices: str) -> None:
    row = price_row(model, "anthropic", NOVEMBER)
    assert row.at(1000) == Prices(*map(D, prices.split()))
    assert row.prices_as_of.startswith("2026-11-01 (genai-prices ")
    assert row.estimated == ()


def test_a_tier_holds_for_the_whole_request_and_begins_behind_its_bound() -> None:
    row = price_row("claude-haiku-5-5", "anthropic", NOVEMBER)
    assert row.at(100_000).input == D("0.1")
    assert row.at(100_001) == Prices(D("0.5"), D("0.05"), D("0.625"), D(1), D("2.5"))
    small, large = asked(100_000), asked(100_001)
    assert request_cost(row, large, 10) > 5 * request_cost(row, small, 10)


def test_openrouter_names_find_their_price_and_what_is_missing_is_noted() -> None:
    row = price_row("anthropic/claude-sonnet-4.5", "openrouter", NOVEMBER)
    assert row.at(10).input == D(3)
    assert row.at(10).write_1h == D(6)
    assert row.estimated == ("write_1h",)


def test_an_unknown_model_is_an_error_that_says_what_to_do() -> None:
    with pytest.raises(NoPrice, match=r"mystery-7.*YAML"):
        price_row("mystery-7", "anthropic", NOVEMBER)


TABLE = """
models:
  mine:
    - {input: 1.1, cache_read: 0.1, output: 4}
    - {input: 2.2, output: 8, from: 2026-10-01, tiers: [{above: 1000, input: 3.3}]}
  claude-own: {input: 4}
"""


def test_a_table_of_ones_own_comes_first_with_dates_and_tiers(tmp_path: Path) -> None:
    path = tmp_path / "prices.yaml"
    path.write_text(TABLE)
    early = price_row("mine", "", 1_750_000_000.0, path)
    assert early.at(5) == Prices(D("1.1"), D("0.1"), D("1.1"), D("1.1"), D(4))
    late = price_row("vendor/mine", "", NOVEMBER, path)
    assert (late.at(1000).input, late.at(1001).input, late.at(1001).output) == (
        D("2.2"), D("3.3"), D(8))
    assert price_row("claude-own", "", NOVEMBER, path).at(1).write_1h == D(8)
    assert price_row("claude-opus-5", "anthropic", NOVEMBER, path).at(1).input == D(5)


@pytest.mark.parametrize("text", [
    "", "- 1", "models: {mine: 3}", "models: {mine: {input: x}}", "models: {mine: {input: -1}}",
    "models: {mine: {inptu: 1}}", "models: {mine: {output: 1}}",
    "models: {mine: {input: 1, from: x}}",
    "models: {mine: {input: 1, tiers: [{input: 2}]}}", "models: {mine: {input: 1, tiers: 3}}",
    "models: {mine: {input: .nan}}", "models: {mine: {input: .inf}}",
    "models: {mine: {input: \"1e400\"}}", "models: {mine: {input: sNaN}}",
    "models: {mine: {input: 1, from: 2026-13-01}}", "models: {mine: {input: 1, 5: 2, x: 3}}",
    "models: {mine: {input: 1, tiers: [{above: true, input: 2}]}}",
    "models: {mine: {input: 1, tiers: [{above: -5, input: 2}]}}",
    "models: {mine: {input: 1, tiers: [{above: 5, from: 2026-01-01}]}}",
    "models: {mine: {input: 1, tiers: [{above: 5, input: 2}, {above: 5, input: 3}]}}",
    "models:\n  mine: {input: 1}\n  mine: {input: 2}\n", "models: " + "[" * 5000,
    "models: {mine: {input: 1}, Mine: {input: 2}}", "models: {mine: [{input: 1}, {input: 2}]}",
    "models: {mine: {input: 0x" + "f" * 5000 + "}}", "models: {mine: {input: true}}",
    "models: {mine: {from: !!timestamp x, input: 1}}", "models: {mine: {input: !!bool x}}",
    "models: &a\n  mine: *a\n", "models: {mine: &a [*a]}", "models: {mine: {input: [1]}}",
    "a: &a [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1 or ''}, *a{n - 1 or ''}]\n"
                               for n in range(1, 40)) + "models: {mine: {input: *a39}}",
    "models: ["])
def test_a_table_that_cannot_be_read_is_an_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "prices.yaml"
    path.write_text(text)
    with pytest.raises(BadPrices, match=re.escape(str(path))):
        price_row("mine", "", NOVEMBER, path)
    with pytest.raises(BadPrices, match=re.escape(str(path))):
        check_table(path)


@pytest.mark.parametrize(("row", "said"), [
    ("{input: .nan}", "mine: input = '.nan'"), ("{input: 1e999999}", "mine: input = '1e999999'"),
    ("{input: 1, from: 2026-13-01}", "mine: from = '2026-13-01'"),
    ("{input: 1, input: 2}", "mine: the key 'input' stands twice"),
    ("{input: 1, tiers: [{above: 5, tiers: []}]}", "mine: 'tiers' does not belong"),
    ("[{input: 1, from: 2026-01-01}, {input: 1, from: 2026-01-01}]", "mine: two rows from 2026"),
    ("{input: 1, 5: 2, x: 3}", "mine: unknown key '5'")])
def test_what_is_wrong_in_a_table_is_said_with_model_and_key(
    tmp_path: Path, row: str, said: str
) -> None:
    path = tmp_path / "prices.yaml"
    path.write_text(f"models: {{mine: {row}}}")
    with pytest.raises(BadPrices, match=re.escape(said)):
        check_table(path)


def test_a_row_that_says_nothing_leaves_the_list_price(tmp_path: Path) -> None:
    path = tmp_path / "prices.yaml"
    path.write_text("shared: &row {input: 9, output: ~}\nmodels: {claude-opus-5: , other: *row}")
    check_table(path)
    assert price_row("claude-opus-5", "", NOVEMBER, path).at(1).input == D(5)
    assert price_row("other", "", NOVEMBER, path).at(1) == Prices(D(9), D(9), D(9), D(9), D(0))


@pytest.mark.parametrize("model", ["claude-own", "Claude-Own", "maker/claude-own",
                                   "claude-own-20250929", "claude-own-2025-09-29"])
def test_a_log_names_a_model_with_maker_or_date(tmp_path: Path, model: str) -> None:
    path = tmp_path / "prices.yaml"
    path.write_text("models: {CLAUDE-own: {input: 7}}")
    assert price_row(model, "", NOVEMBER, path).at(1).input == D(7)


@pytest.mark.parametrize(("model", "price"), [
    ("us.anthropic.claude-opus-4-5-20251101-v1:0", 7), ("anthropic/claude-opus-4.5", 7),
    ("claude-3.5-sonnet", 8), ("claude-3-5-sonnet-v2@20241022", 8), ("claude-opus-4-1", 15)])
def test_a_claude_model_is_met_by_whatever_name_a_cloud_has_for_it(
    tmp_path: Path, model: str, price: int
) -> None:
    path = tmp_path / "prices.yaml"
    path.write_text("models: {Claude-Opus-4-5: {input: 7}, claude-3-5-sonnet: {input: 8}, "
                    "claude-opus-4-1-mine: {input: 9}}")
    assert price_row(model, "", NOVEMBER, path).at(1).input == D(price)


def test_where_a_read_is_dearer_than_a_write_nothing_is_negative(tmp_path: Path) -> None:
    path = tmp_path / "prices.yaml"
    path.write_text("models: {claude-opus-5: {input: 1, cache_read: 5, cache_write_5m: 1}}")
    row = price_row("claude-opus-5", "", NOVEMBER, path)
    walk = walked(session(60), "compressor", 20_000, protect_last_n=4)
    run, raw = simulate(walk), raw_run(walk)
    found = break_even(walk, run, raw, row)
    assert run.totals["bust_tokens"] > 0
    assert bill(run, row, raw=raw).bust_cost == 0
    assert found
    assert all(one.once >= 0 and one.each >= 0 for one in found)


def test_sums_are_exact_and_equal_those_of_the_single_requests() -> None:
    row = price_row("claude-haiku-5-5", "anthropic", NOVEMBER)
    many = [asked(99_999 + n, cache_read=n, cache_write_5m=7 * n) for n in range(300)]
    assert total_cost(row, many) == sum((request_cost(row, r) for r in many), D(0))
    assert cost(row.at(1), read=1) == D("0.00000001")


def test_the_package_says_the_same_of_a_whole_request() -> None:
    from datetime import UTC, datetime

    from genai_prices import Usage, calc_price

    row = price_row("claude-opus-5", "anthropic", NOVEMBER)
    mine = cost(row.at(1000), read=500, write_5m=200, write_1h=100, uncached=200, output=10)
    # the package takes inclusive totals, and the hour's writes also in the total of writes
    usage = Usage(input_tokens=1000, cache_read_tokens=500, cache_write_tokens=300,
                  cache_write_1h_tokens=100, output_tokens=10)
    theirs = calc_price(usage, "claude-opus-5", provider_id="anthropic",
                        genai_request_timestamp=datetime.fromtimestamp(NOVEMBER, UTC))
    assert mine == theirs.total_price


def test_a_compaction_can_save_tokens_and_lose_money() -> None:
    walk = walked(session(20), "layered")
    run, found = priced(walk, prices=price_row("claude-opus-5", "anthropic", NOVEMBER))
    assert walk.summary["token_reduction"] > 0
    assert found.cost_saving is not None
    assert found.cost_saving < 0
    assert found.bust_cost > 0
    assert len(found.row) == len(MONEY_RUNS)
    assert run.totals["bust_tokens"] > 0


def test_a_bill_counts_summary_calls_by_their_own_model() -> None:
    walk = walked(session(), "compressor", 6000, protect_last_n=4)
    run = simulate(walk)
    dear, cheap = (price_row(m, "anthropic", NOVEMBER) for m in ("claude-opus-5",
                                                                 "claude-haiku-4-5"))
    one, other = bill(run, dear), bill(run, dear, summariser_row=cheap)
    assert one.summariser_cost == 5 * other.summariser_cost > 0
    assert one.cost - other.cost == one.summariser_cost - other.summariser_cost
    assert one.cost_raw is one.cost_saving is None


def test_without_compaction_cost_and_raw_cost_are_equal() -> None:
    _, found = priced(walked(session(5)), prices=price_row("claude-opus-5", "", NOVEMBER))
    assert found.cost == found.cost_raw
    assert found.bust_cost == found.summariser_cost == 0


def test_break_even_by_formula_and_as_simulated() -> None:
    walk = walked(session(60), "compressor", 20_000, protect_last_n=4)
    run, raw = simulate(walk), raw_run(walk)
    found = break_even(walk, run, raw, price_row("claude-opus-5", "anthropic", NOVEMBER))
    assert [one.number for one in found] == [
        n for n, made in enumerate(walk.made) if made.compaction.changed]
    for one in found:
        assert one.closed is not None
        assert (one.closed - 1) * one.each < one.once <= one.closed * one.each
    first = found[0]
    assert first.simulated is not None
    assert first.closed is not None
    assert abs(first.simulated - first.closed) <= 1, "nothing but hits behind it"


def test_the_first_break_even_is_where_both_runs_have_cost_the_same_since_it() -> None:
    walk = walked(session(60), "compressor", 20_000, protect_last_n=4)
    run, raw = simulate(walk), raw_run(walk)
    row = price_row("claude-opus-5", "anthropic", NOVEMBER)
    first, second = break_even(walk, run, raw, row)[:2]
    mine = {r.request: request_cost(row, r) for r in run.requests}
    other = {r.request: request_cost(row, r) for r in raw.requests}
    until = [n for n in sorted(mine) if first.request <= n < second.request]
    spent = sum(request_cost(row, call) for call in run.calls if call.request <= first.request)
    even = [count for count in range(1, len(until) + 1)
            if spent + sum(mine[n] - other[n] for n in until[:count]) <= 0]
    assert first.simulated == (even[0] if even else None)


def test_without_a_compaction_the_prompt_is_the_raw_one_less_what_was_gone_before() -> None:
    head, hit, miss = 100, asked(50, cache_read=950), asked(1_000, cache_read=100)
    assert _without(hit, 300, head)[1:5] == (650, 0, 0, 50)
    assert _without(miss, 300, head)[1:5] == (100, 0, 0, 700)
    assert _without(hit, 900, head)[1:5] == (100, 0, 0, 0)
    assert _without(hit, -5, head) == hit


def test_compactions_before_one_request_are_one_price() -> None:
    walk = walked(session(40, size=120), "layered", 12_000, threshold=8000, keep_recent=2)
    run, raw = simulate(walk), raw_run(walk)
    found = break_even(walk, run, raw, price_row("claude-opus-5", "anthropic", NOVEMBER))
    changed = [m.request for m in walk.made if m.compaction.changed]
    assert len(changed) > len(set(changed)), "micro and auto answer before the same request"
    assert [one.request for one in found] == sorted(set(changed))


def test_the_raw_run_is_made_once() -> None:
    walk = walked(session(3))
    assert raw_run(walk) is raw_run(walk)


def test_latency_follows_its_assumptions() -> None:
    run = simulate(walked(session(), "compressor", 6000, protect_last_n=4))
    slow, fast = latency(run, Assumptions(decode=10.0)), latency(run, Assumptions(decode=1000.0))
    assert slow.summaries > fast.summaries > 0
    assert slow.reread == fast.reread > 0


def test_prices_are_not_loaded_before_they_are_asked_for() -> None:
    code = "import sys, compactlab.pricing; sys.exit('genai_prices' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
