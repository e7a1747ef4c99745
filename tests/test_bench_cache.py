"""What a run's tables say of cache and money: bands, the simulator's error, break-even."""

from __future__ import annotations

from decimal import Decimal
from math import ceil
from pathlib import Path

import pytest

from compactlab.bench.cache import CacheOptions, columns_of, hit_rate_error
from compactlab.caching import simulate, validate
from compactlab.caching.readings import READINGS
from compactlab.columns import BAND_RUNS, TABLES
from compactlab.formats import load
from compactlab.index import index
from compactlab.pricing import bill, price_row, raw_run
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
    assert hit_rate_error(walked(session(4)).store) is None


def test_the_error_of_the_simulator_is_that_of_the_validation(corpus: Path) -> None:
    one = load(sorted((corpus / "charming-with-claude").glob("*.jsonl"))[0])[0]
    found = hit_rate_error(index(one))
    (checked,) = validate(one, questions="B")
    names = [c.name for c in TABLES["runs"]]
    assert found == pytest.approx(checked.row[12] / 100)
    assert names[-1] == "hit_rate_error"
    assert names[-2 - len(BAND_RUNS):-2] == [c.name for c in BAND_RUNS]


def test_break_even_stands_at_the_last_compaction_before_its_request() -> None:
    walk = walked(session(40, size=120), "layered", 12_000, threshold=8000, keep_recent=2)
    found = columns_of(walk, CacheOptions()).compactions
    assert len(found) == len(walk.made)
    told = [n for n, row in enumerate(found) if row[0] is not None]
    last = {made.request: n for n, made in enumerate(walk.made) if made.compaction.changed}
    assert told == sorted(last.values())
    once, each, closed, _ = found[told[0]]
    assert closed == ceil(Decimal(str(once)) / Decimal(str(each)))
