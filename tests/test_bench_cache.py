"""What a run's tables say of cache and money: bands, the simulator's error, break-even."""

from __future__ import annotations

from decimal import Decimal
from math import ceil
from pathlib import Path

import pytest

from compactlab.bench import plan
from compactlab.bench.billed import CacheOptions
from compactlab.bench.cache import columns_of, simulator_error
from compactlab.caching import simulate, validate
from compactlab.caching.readings import READINGS
from compactlab.columns import BAND_RUNS, TABLES
from compactlab.errors import CompactlabError
from compactlab.formats import load
from compactlab.index import index
from compactlab.pricing import Assumptions, bill, price_row, raw_run
from tests.caching.test_bridge import session, walked


def row_of(walk: object, options: CacheOptions | None = None) -> dict[str, object]:
    found = columns_of(walk, options or CacheOptions())  # type: ignore[arg-type]
    names = [column.name for column in TABLES["runs"]][-len(found.run):]
    return dict(zip(names, found.run, strict=True))


@pytest.mark.parametrize("strategy", ["raw", "compressor", "layered"])
def test_the_band_holds_the_cost_of_every_reading(strategy: str) -> None:
    walk = walked(session(30, gap=200), strategy, 9000)
    row = row_of(walk)
    client = {"layout": "automatic", "model": "claude-opus-5", "provider": "auto", "ttl": None}
    prices = price_row("claude-opus-5", "", 1.0)
    costs, savings = [], []
    for reading in ({}, *READINGS["anthropic"]):
        paid = bill(simulate(walk, **client, **reading), prices,
                    raw=raw_run(walk, **client, **reading))
        costs.append(paid.cost)
        savings.append(paid.cost_saving)
    assert row["readings"] == len(costs)
    assert (row["cost_low"], row["cost_high"]) == (float(min(costs)), float(max(costs)))
    assert (row["cost_saving_low"], row["cost_saving_high"]) == (min(savings), max(savings))
    assert row["cost_low"] <= row["cost"] <= row["cost_high"]
    assert row["cache_read_low"] <= row["cache_read"] <= row["cache_read_high"]


def test_pauses_near_the_lifetime_open_the_band_and_quick_sessions_close_it() -> None:
    options = CacheOptions(layout="system_and_3")
    quick = row_of(walked(session(8, gap=20)), options)
    slow = row_of(walked(session(30, gap=303)), options)
    assert quick["cost_low"] == quick["cost_high"]
    assert slow["cost_low"] < slow["cost_high"]


def test_a_session_without_recorded_usage_has_no_error_of_the_simulator() -> None:
    assert simulator_error(walked(session(4)).store) == (None, None)


@pytest.mark.parametrize(("folder", "near"), [
    ("charming-with-claude", 0.005), ("pi-mono", 1e-4), ("mini-swe-agent", 1e-9),
    ("sungather-k8s-operator", 0.04)])  # whose model drops thinking, which a what-if follows
def test_what_bills_is_what_was_validated(corpus: Path, folder: str, near: float) -> None:
    """The loop of the what-ifs and that of the validation, whose head is the recorded one."""
    files = sorted(path for path in (corpus / folder).rglob("*.json*") if path.is_file())[:12]
    compared = 0
    for one in (found for file in files for found in load(file)):
        store = index(one)
        found = simulator_error(store).hit_rate
        if found is not None:
            (checked,) = validate(one, store=store, questions="B")
            assert found == pytest.approx(checked.hit_rate_error, abs=near), one.id
            compared += 1
    assert compared


def test_columns_of_runs_end_with_the_band_the_model_and_the_error() -> None:
    names = [c.name for c in TABLES["runs"]]
    assert names[-4:] == ["price_model", "price_basis", "hit_rate_error", "cost_error"]
    assert names[-4 - len(BAND_RUNS):-4] == [c.name for c in BAND_RUNS]


def test_break_even_stands_at_the_last_compaction_before_its_request() -> None:
    walk = walked(session(40, size=120), "layered", 12_000, threshold=8000, keep_recent=2)
    found = columns_of(walk, CacheOptions()).compactions
    assert len(found) == len(walk.made)
    told = [n for n, row in enumerate(found) if row[0] is not None]
    last = {made.request: n for n, made in enumerate(walk.made) if made.compaction.changed}
    assert told == sorted(last.values())
    once, each, closed, _ = found[told[0]]
    assert closed == ceil(Decimal(str(once)) / Decimal(str(each)))


OWN = """models:
  claude-opus-5: {input: 50, cache_read: 50, cache_write_5m: 50, cache_write_1h: 50, output: 0}
  tiny: {input: 1, output: 1000}
"""


def test_a_table_of_ones_own_is_billed_and_is_a_part_of_what_determines_a_run(
    tmp_path: Path
) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(OWN)
    options = CacheOptions(prices=str(path))
    walk = walked(session(4))
    row = row_of(walk, options)
    prompt = sum(sent.tokens or 0 for sent in walk.sent)
    assert row["cost"] == pytest.approx(prompt * 50e-6), "one price for all, answers are free"
    assert row["prices_as_of"] == "1970-01-01 (your table mine.yaml)"
    before = options.described()
    path.write_text(OWN + "  more: {input: 3}\n")
    assert options.described() != before
    assert str(tmp_path) not in str(before["prices"])


def test_a_summariser_of_another_model_pays_its_own_prices(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(OWN)
    walk = walked(session(20), "compressor", 9000)
    alone = row_of(walk)
    other = row_of(walk, CacheOptions(summariser_model="tiny", prices=str(path)))
    plain = row_of(walk, CacheOptions(prices=str(path)))
    assert other["summariser_cost"] != plain["summariser_cost"] != alone["summariser_cost"]
    calls = simulate(walk, model="claude-opus-5", provider="auto").calls
    assert other["summariser_cost"] == pytest.approx(
        sum(call.uncached * 1e-6 + call.output * 1e-3 for call in calls))


@pytest.mark.parametrize(("options", "told"), [
    ({"prices": "nowhere.yaml"}, "nowhere.yaml: no table of prices"),
    ({"summariser_model": "mystery-7"}, "no price for the model 'mystery-7'"),
    ({"model": "mystery-7"}, "no price for the model 'mystery-7'")])
def test_options_are_checked_before_anything_runs(options: dict[str, str], told: str) -> None:
    with pytest.raises(CompactlabError, match=told):
        plan("raw", [1000], cache=CacheOptions(**options))


def test_the_columns_of_latency_state_their_assumptions() -> None:
    help_of = {c.name: c.help for c in TABLES["runs"]}
    for speed in (Assumptions().prefill, Assumptions().read):
        assert f"{speed:,.0f}" in help_of["summary_seconds"]
        assert f"{speed:,.0f}" in help_of["reread_seconds"]
    assert f"{Assumptions().decode:.0f} tokens of answer" in help_of["summary_seconds"]
    assert f"{Assumptions().overhead:.0f} s a call" in help_of["summary_seconds"]
