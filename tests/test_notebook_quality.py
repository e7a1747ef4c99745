"""What a notebook shows of quality comes from the run's own table where there is one."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from compactlab import charts, results
from compactlab.bench import plan, run
from compactlab.notebook import gather
from compactlab.notebook.quality import METRICS, gather_quality
from compactlab.results import RunFolder, make_manifest
from tests.quality.test_table import WINDOW, story

SESSIONS = [story(1), story(2)]
STRATEGIES = ["compressor", "layered"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    planned = plan(["raw", *STRATEGIES], [WINDOW, 2 * WINDOW], quality=True, summariser="fallback",
                   tokenizer="o200k_base")
    place = RunFolder(tmp_path_factory.mktemp("run"), "x", quality=True)
    place.finish(run(SESSIONS, planned), make_manifest({"settings": planned.described()}))
    return place.folder


def test_the_run_s_rows_are_those_that_would_be_computed_again(folder: Path) -> None:
    how = {"budgets": [0.05], "summariser": "fallback", "tokenizer": "o200k_base"}
    read = gather_quality(SESSIONS, STRATEGIES, [WINDOW], results=folder, **how)  # type: ignore[arg-type]
    computed = gather_quality(SESSIONS, STRATEGIES, [WINDOW], cuts_each=5, **how)  # type: ignore[arg-type]
    keys = ["session", "strategy", "budget", "request", "metric"]
    for name in ("needs", "rounds"):
        pd.testing.assert_frame_equal(getattr(read, name), getattr(computed, name))
    cuts = [found.rows[found.rows["view"] == "cut"].sort_values(keys).reset_index(drop=True)
            for found in (read, computed)]
    pd.testing.assert_frame_equal(*cuts, check_dtype=False)


def test_without_sessions_the_strategies_of_the_run_are_shown_alone(folder: Path) -> None:
    found = gather_quality([], STRATEGIES, [WINDOW], results=folder)
    assert set(found.rows["strategy"]) == set(STRATEGIES)
    assert set(found.rows["session"]) == {session.id for session in SESSIONS}
    assert set(found.rows["metric"]) == {"sound", *METRICS}
    for draw in (charts.pareto, charts.profile, charts.agreement):
        assert "2 sessions" in draw(found.rows).alt  # type: ignore[attr-defined,operator]
    assert not len(found.needs) and not len(found.rounds)


def test_a_run_without_the_table_has_it_computed(folder: Path, tmp_path: Path) -> None:
    plain = RunFolder(tmp_path, "y")
    plain.finish(run(SESSIONS[:1], plan("raw", [WINDOW], tokenizer="rough")), {"run": "y"})
    found = gather_quality(SESSIONS[:1], ["layered"], [WINDOW], results=tmp_path, cuts_each=1,
                           budgets=[], summariser="fallback", tokenizer="rough")
    assert set(found.rows["strategy"]) == {"layered"}
    assert found.rows[found.rows["view"] == "cut"]["request"].nunique() == 1


def test_gather_reads_the_table_of_a_run_that_has_it(folder: Path, tmp_path: Path) -> None:
    found = gather(folder, [], [], [])
    assert found.quality is not None
    assert len(found.quality) == len(results.read(folder, "quality"))
