"""What survives in one replay: every compaction has its profile, every strategy the same cuts."""

from __future__ import annotations

from typing import Any

import pytest

from compactlab.columns import COMPACTIONS, QUALITY, TABLES
from compactlab.quality.profile import MEASURES, explained, profile
from compactlab.quality.replayed import quality_rows, sent_at
from compactlab.quality.table import quality_table
from compactlab.replay import Replay, replay
from tests.quality.test_table import TOO_SMALL, WINDOW, story

NAMES = [column.name for column in QUALITY]
METRICS = ["sound", *(measure.name for measure in MEASURES)]


def walked(strategy: str, window: int | None = WINDOW, **settings: Any) -> Replay:
    return replay(story(), strategy, window=window, tokenizer="o200k_base", **settings)


def rows(done: Replay, **where: Any) -> list[dict[str, Any]]:
    found = [dict(zip(NAMES, row, strict=True)) for row in quality_rows(done)]
    return [row for row in found if all(row[name] == value for name, value in where.items())]


@pytest.mark.parametrize(("strategy", "settings"), [
    ("compressor", {}), ("layered", {"threshold": 1_500}), ("escalating", {"window": TOO_SMALL})])
def test_every_compaction_that_changed_something_has_its_profile(
        strategy: str, settings: dict[str, Any]) -> None:
    done = walked(strategy, **settings)
    at = [column.name for column in COMPACTIONS].index("changed")
    changed = [n for n, row in enumerate(done.compaction_rows) if row[at]]
    assert changed
    found = rows(done, view="compaction")
    assert list(dict.fromkeys(row["compaction"] for row in found)) == changed
    for number in changed:
        made, mine = done.made[number], [r for r in found if r["compaction"] == number]
        alone = profile(done, made)
        assert [row["metric"] for row in mine] == METRICS
        assert {row["request"] for row in mine} == {made.request}
        for row in mine[1:]:
            value = alone[row["metric"]]
            assert row["value"] == value or (row["value"] is None and value != value)
            assert row["n"] == alone[f"{row['metric']}_n"]


def test_silent_compactions_have_a_profile_and_stay_out_of_the_headline() -> None:
    done = walked("layered")
    silent = {n for n, made in enumerate(done.made) if made.compaction.silent}
    found = rows(done, view="compaction", flag="silent")
    assert silent and {row["compaction"] for row in found} <= silent
    assert not any(row["headline"] for row in found)


def test_all_strategies_are_scored_at_the_same_cuts_as_the_table_of_quality_does() -> None:
    table = quality_table([story()], ["raw", "layered"], windows=(WINDOW,), budgets=(),
                          tokenizer="o200k_base")
    cuts = {}
    for name in ("raw", "layered"):
        own = table[(table["strategy"] == name) & (table["view"] == "cut")]
        found = rows(walked(name), view="cut")
        assert [(r["request"], r["metric"], r["flag"], r["n"]) for r in found] == list(
            zip(own["request"], own["metric"], own["flag"], own["n"], strict=True))
        assert [r["value"] for r in found] == [None if v != v else v for v in
                                               own["value"].astype(float).tolist()]
        cuts[name] = {row["request"] for row in found}
    assert cuts["raw"] == cuts["layered"] and len(cuts["raw"]) == 5


def test_raw_loses_nothing_where_all_of_it_is_served() -> None:
    found = rows(walked("raw", None), view="cut", headline=True)
    assert found and all(row["value"] == 1 for row in found if row["metric"].endswith("frr"))


def test_a_request_that_was_refused_when_it_was_sent_has_no_figure_either() -> None:
    done = walked("raw", TOO_SMALL, on_stop="as_if_served")
    refused = [sent.request for sent in done.sent if not sent.served]
    assert refused and all(done.sent[n].tokens is not None for n in refused)
    assert all(sent_at(done, n) is None for n in refused)
    assert sent_at(done, len(done.sent)) is None
    found = rows(done, view="cut", metric="frr")
    unserved = [row for row in found if row["request"] in refused]
    assert unserved and {(row["flag"], row["value"], row["n"]) for row in unserved} == {
        ("unserved", None, 0)}


def test_every_metric_is_explained_once_and_the_columns_fit_the_rows() -> None:
    assert [metric["name"] for metric in explained()] == METRICS
    assert all(metric["help"] and metric["n"] for metric in explained())
    assert {len(row) for row in quality_rows(walked("raw"))} == {len(QUALITY)}
    assert TABLES["quality"][-len(QUALITY):] == QUALITY
