"""The table of quality on disk: there when asked for, explained, gone when it no longer holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from compactlab import results
from compactlab.cli import main
from compactlab.columns import KEPT, QUALITY, RUNS, TABLES
from compactlab.errors import BadRun
from compactlab.quality.profile import MEASURES
from compactlab.results import Rows, RunFolder, Tables, with_kept
from tests.quality.test_table import story
from tests.test_results import determines, row, rows


def both(*sessions: str) -> Tables:
    return results.tables([rows(name) for name in sessions], quality=True)


def test_the_table_is_read_when_it_is_there_and_folders_without_it_still_read(
        tmp_path: Path) -> None:
    RunFolder(tmp_path / "with", "a", quality=True).finish(both("s1", "s2"), {"run": "a"})
    found = results.read(tmp_path / "with", "quality", session="s2", metric="frr")
    assert list(found.columns) == [column.name for column in TABLES["quality"]]
    assert len(found) == 1
    assert len(results.read_quality(tmp_path / "with")) == 4  # type: ignore[arg-type]
    RunFolder(tmp_path / "without", "b").finish(results.tables([rows()]), {"run": "b"})
    assert len(results.read(tmp_path / "without")) == 1
    assert results.read_quality(tmp_path / "without") is None
    with pytest.raises(BadRun, match=r"no table of quality.*--quality"):
        results.read(tmp_path / "without", "quality")


def test_a_new_run_without_it_takes_away_the_old_table(tmp_path: Path) -> None:
    RunFolder(tmp_path, "old", quality=True).finish(both("s1"), {"run": "old"})
    RunFolder(tmp_path, "new").finish(results.tables([rows("s2")]), {"run": "new"})
    assert results.read_quality(tmp_path) is None
    assert not (tmp_path / "quality.parquet").exists()


def test_the_manifest_explains_its_columns_and_metrics_only_when_it_is_there() -> None:
    sizes = {name: table.num_rows for name, table in both("s1").items()}
    found = results.make_manifest(determines(), rows=sizes)
    assert found["rows"]["quality"] == 2
    assert [c["name"] for c in found["columns"]["quality"]][-len(QUALITY):] == [
        column.name for column in QUALITY]
    assert [m["name"] for m in found["metrics"]] == ["sound", *(m.name for m in MEASURES)]
    assert json.loads(json.dumps(found)) == found
    plain = results.make_manifest(determines(), rows={"runs": 1})
    assert "quality" not in plain["columns"] and "metrics" not in plain


def test_a_kept_session_without_the_table_that_was_asked_for_is_worked_again(
        tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "r", "x", quality=True)
    with folder.working():
        folder.keep("0", both("s1"))
        folder.keep("1", results.tables([rows()]))
        kept = folder.kept("0")
        assert kept is not None and kept.quality is not None and kept.quality.num_rows == 2
        assert folder.kept("1") is None
        (folder.partial / "0" / "quality.arrow").write_bytes(b"")
        assert folder.kept("0") is None


# --- what was kept, by hand ---------------------------------------------------------------------


def figures(*given: tuple[int, str, float | None], **more: Any) -> list[tuple[Any, ...]]:
    """Rows of the view `cut`: (request, metric, value)."""
    return [row(QUALITY, **({"view": "cut", "request": request, "headline": True, "flag": "",
                             "metric": metric, "value": value} | more))
            for request, metric, value in given]


def replayed(session: str, given: list[tuple[Any, ...]], window: int | None = 1,
             served: float = 1.0) -> Rows:
    common = {"format": "f", "head_kind": "in_log", "strategy": "s", "settings": "",
              "summariser": "x", "tokenizer": "t", "status": "ok", "stops": 0, "hard_stops": 0}
    return Rows(row(RUNS, session=session, window=window, served_share=served, **common),
                quality=given)


HAND = [
    replayed("s1", [*figures((3, "frr", 0.5), (9, "frr", 0.9), (3, "bound_frr", 0.4)),
                    *figures((5, "frr", 0.0), headline=False, flag="few needs"),
                    *figures((5, "frr", 0.1), view="compaction"),
                    *figures((7, "frr", None), (7, "bound_frr", None))]),
    replayed("s2", figures((3, "frr", 0.1), (3, "bound_frr", 0.1))),
    replayed("s3", figures((3, "frr", 0.8)), served=0.5),
    replayed("s4", figures((3, "frr", 0.0), headline=False, flag="few needs")),
    replayed("s1", figures((3, "frr", 1.0)), window=None),
]


def hand() -> tuple[pd.DataFrame, pd.DataFrame]:
    made = results.tables(HAND, quality=True)
    assert made.quality is not None
    return results.to_pandas(made.runs), results.to_pandas(made.quality)


def test_what_a_replay_kept_is_the_mean_over_its_headline_cuts() -> None:
    runs, quality = hand()
    found = with_kept(runs, quality)
    assert list(found.columns) == [*runs.columns, *(column.name for column in KEPT)]
    assert found["frr"].fillna(-1).tolist() == [0.7, 0.1, 0.8, -1, 1.0]
    assert found["bound_frr"].fillna(-1).tolist() == [0.4, 0.1, -1, -1, -1]
    assert found["cuts"].fillna(0).tolist() == [2, 1, 1, 0, 1]
    assert list(found["session"]) == list(runs["session"])
    assert with_kept(runs, None) is runs


def test_the_overview_averages_over_sessions_that_were_served_whole() -> None:
    runs, quality = hand()
    found = results.overview(runs, quality)
    assert found["frr"].tolist() == [pytest.approx((0.7 + 0.1) / 2), 1.0]
    assert found["bound_frr"].iloc[0] == pytest.approx((0.4 + 0.1) / 2)
    assert found["frr_sessions"].tolist() == [2, 1]
    assert "frr" not in results.overview(runs)


def test_an_empty_table_gives_missing_figures() -> None:
    runs, quality = hand()
    found = results.overview(runs, quality[:0])
    assert found["frr"].isna().all()
    assert found["frr_sessions"].tolist() == [0, 0]


# --- the command --------------------------------------------------------------------------------


@pytest.fixture
def sessions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    from compactlab.formats.own import save

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    save(tmp_path / "in.jsonl", [story(1), story(2)])
    return tmp_path


def type_in(*more: str) -> int:
    return main(["run", "in.jsonl", "--windows", "8K", "--summariser", "fallback",
                 "--tokenizer", "rough", *more])


def test_a_run_with_quality_is_the_same_again_with_more_workers_and_tells_what_was_kept(
        sessions: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert type_in("--quality", "--out", "one") == 0
    said = capsys.readouterr().out
    shown = results.overview(results.read("one"), results.read_quality("one"))
    mine = shown[shown["strategy"] == "compressor"].iloc[0]
    assert f"{mine['frr']:.2f} n={mine['frr_sessions']}" in said
    assert f"{mine['bound_frr']:.2f}" in said
    assert "Upper bounds on what a model would recall" in said
    assert type_in("--quality", "--out", "two", "--workers", "2") == 0
    for path in sorted((sessions / "one").iterdir()):
        assert path.read_bytes() == (sessions / "two" / path.name).read_bytes()
    capsys.readouterr()
    assert type_in("--quality", "--out", "one", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert not found["fresh"]
    assert found["overview"][0]["frr_sessions"] == 2


def test_a_run_without_it_is_another_run_and_says_nothing_of_it(
        sessions: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert type_in("--out", "r") == 0
    assert "kept" not in capsys.readouterr().out
    assert not (sessions / "r" / "quality.parquet").exists()
    assert type_in("--quality", "--out", "r") == 2
    assert "holds another run" in capsys.readouterr().err
    assert type_in("--quality", "--out", "r", "--force") == 0
    assert results.read_manifest("r")["settings"]["quality"] == {"cuts": 5, "horizon": 50}
    assert type_in("--out", "r", "--force") == 0
    assert not (sessions / "r" / "quality.parquet").exists()


def test_an_interrupted_run_goes_on_with_what_was_measured_and_gives_the_same_bytes(
        sessions: Path, capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch) -> None:
    from compactlab.bench import work

    def refused(*_: object) -> None:
        raise BadRun("the disk is full")

    assert type_in("--quality", "--out", "whole") == 0
    with monkeypatch.context() as patched:
        patched.setattr(RunFolder, "finish", refused)
        assert type_in("--quality", "--out", "r") == 2
    (sessions / "r.partial" / "000001" / "quality.arrow").unlink()
    measured = []
    measure = work.quality_rows
    monkeypatch.setattr(
        work, "quality_rows", lambda done: measured.append(done.session.id) or measure(done))
    capsys.readouterr()
    assert type_in("--quality", "--out", "r") == 0
    assert "going on: 1 of 2 sessions are done already" in capsys.readouterr().err
    assert set(measured) == {"story 2"}
    for path in sorted((sessions / "whole").iterdir()):
        assert path.read_bytes() == (sessions / "r" / path.name).read_bytes()


def test_show_tells_what_one_compaction_left_of_what_was_needed(
        sessions: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from compactlab.formats import load
    from compactlab.quality.profile import profile
    from compactlab.replay import replay

    how = ["show", "in.jsonl", "--session", "1", "--window", "8K", "--tokenizer", "rough",
           "--summariser", "fallback"]
    done = replay(load("in.jsonl")[0], "compressor", window=8_000, tokenizer="rough",
                  summariser="fallback")
    mine = profile(done, done.made[0])
    assert main([*how, "--quality"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert f"needed later: FRR {mine['frr']:.2f} of {mine['frr_n']} needs" in said
    assert main([*how, "--quality", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["quality"]
    assert found["frr"] == mine["frr"] and list(found) == list(mine)
    assert main([*how, "--json"]) == 0
    assert "quality" not in json.loads(capsys.readouterr().out)
