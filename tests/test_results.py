"""The tables of a run: documented columns, same bytes for same rows, whole or not at all."""

from __future__ import annotations

import json
import multiprocessing
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from compactlab import results
from compactlab.columns import COMPACTIONS, KEY, QUALITY, REQUESTS, RUNS, TABLES, Column, frame
from compactlab.errors import BadRun, UnknownName
from compactlab.results import Rows, RunFolder
from compactlab.results.tables import checked

SAMPLE: dict[str, Any] = {"string": "a", "int": 7, "float": 0.5, "bool": True}


def row(columns: tuple[Column, ...], **values: Any) -> tuple[Any, ...]:
    """A row of these columns: a value of the right type, or the one given."""
    return tuple(values.get(c.name, SAMPLE[c.type]) for c in columns)


def rows(session: str = "s1", requests: int = 3) -> Rows:
    return Rows(
        row(RUNS, session=session, max_level=None, status="ok", served_share=1.0),
        [row(REQUESTS, request=n, level=None if n else 0) for n in range(requests)],
        [row(COMPACTIONS, request=1, summary_tokens=None)],
        [row(QUALITY, metric=name, compaction=None) for name in ("frr", "bound_frr")],
    )


def determines(**settings: Any) -> dict[str, Any]:
    return results.determined_by(settings, [{"name": "a.jsonl", "sha256": "0" * 64}], "rough")


def test_tables_have_the_documented_columns_in_order_and_keys_in_front() -> None:
    made = results.tables([rows("s1"), rows("s2", requests=2)])
    for name, table in made.items():
        assert table.column_names == [c.name for c in TABLES[name]]
    assert made.runs["session"].to_pylist() == ["s1", "s2"]
    assert made.requests["session"].to_pylist() == ["s1"] * 3 + ["s2"] * 2
    assert made.requests["request"].to_pylist() == [0, 1, 2, 0, 1]
    assert made.requests["level"].to_pylist() == [0, None, None, 0, None]
    assert len(KEY) == 7


def test_a_run_without_rows_still_has_typed_tables(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run", "x")
    folder.finish(results.tables([], quality=True), {"run": "x"})
    for name, columns in TABLES.items():
        assert list(results.read(folder.folder, name).columns) == [c.name for c in columns]


def test_the_same_rows_give_the_same_bytes_whether_in_one_part_or_many(tmp_path: Path) -> None:
    whole = results.tables([rows("s1"), rows("s2")])
    parts = results.join([results.tables([rows("s1")]), results.tables([rows("s2")])])
    manifest = results.make_manifest(determines(windows=[1]))
    for name, tables in (("a", whole), ("b", parts)):
        RunFolder(tmp_path / name, "x").finish(tables, manifest)
    for file in ("runs.parquet", "requests.parquet", "compactions.parquet", "manifest.json"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


def test_rows_are_read_back_and_chosen_by_column(tmp_path: Path) -> None:
    RunFolder(tmp_path, "x").finish(results.tables([rows("s1"), rows("s2")]), {"run": "x"})
    assert list(results.read(tmp_path)["session"]) == ["s1", "s2"]
    assert list(results.read(tmp_path, session="s2")["session"]) == ["s2"]
    assert len(results.read(tmp_path, "requests", session=["s1"], request=[0, 2])) == 2
    with pytest.raises(UnknownName, match="choose one of compactions, quality, requests, runs"):
        results.read(tmp_path, "request")
    with pytest.raises(UnknownName, match="unknown column 'sesion'"):
        results.read(tmp_path, sesion="s1")


def test_frames_have_the_types_of_a_replays_own_tables(tmp_path: Path) -> None:
    RunFolder(tmp_path, "x").finish(results.tables([rows()], quality=True), {"run": "x"})
    found = rows()
    for name, columns in TABLES.items():
        given = [found.run] if name == "runs" else getattr(found, name)
        whole = [(*found.run[: len(KEY)], *r) if name != "runs" else r for r in given]
        whole = [(*r, *[None] * (len(columns) - len(r))) for r in whole]
        pd.testing.assert_frame_equal(results.read(tmp_path, name), frame(columns, whole))


def test_a_folder_without_a_finished_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadRun, match="no finished run"):
        results.read(tmp_path)
    (tmp_path / "manifest.json").write_text("[1]")
    with pytest.raises(BadRun, match="not the manifest"):
        results.read(tmp_path)


def test_a_broken_table_is_named(tmp_path: Path) -> None:
    RunFolder(tmp_path, "x").finish(results.tables([rows()]), {"run": "x"})
    (tmp_path / "runs.parquet").write_bytes(b"PAR1 no more")
    with pytest.raises(BadRun, match=r"runs\.parquet cannot be read"):
        results.read(tmp_path)


def test_the_run_id_follows_what_determines_the_result_and_nothing_else() -> None:
    one = results.run_id(determines(windows=[1], strategies=["raw"]))
    assert one == results.run_id(determines(strategies=["raw"], windows=[1]))
    assert one != results.run_id(determines(windows=[2], strategies=["raw"]))
    assert one != results.run_id(determines(windows=[1], strategies=["raw"]) | {"code": "other"})
    manifest = results.make_manifest(determines(windows=[1], strategies=["raw"]), rows={"runs": 1})
    assert manifest["run"] == one
    assert json.loads(json.dumps(manifest)) == manifest
    assert {c["name"] for c in manifest["columns"]["runs"]} >= {"token_reduction", "head_kind"}


def test_the_tokenizer_and_the_code_are_in_the_run_id() -> None:
    files = [{"name": "a", "sha256": "1"}]
    found = {
        results.run_id(results.determined_by({}, files, name))
        for name in ("rough", "o200k_base", "cl100k_base")
    }
    assert len(found) == 3
    assert len(results.code_hash()) == 64


def test_a_finished_run_is_known_and_another_one_is_not_replaced(tmp_path: Path) -> None:
    mine, other = RunFolder(tmp_path / "r", "mine"), RunFolder(tmp_path / "r", "other")
    assert not mine.is_finished()
    mine.check_free()
    mine.finish(results.tables([rows()]), {"run": "mine"})
    assert mine.is_finished()
    assert not other.is_finished()
    with pytest.raises(BadRun, match=r"another run \(mine\).*--force"):
        other.check_free()


def test_a_folder_with_other_files_or_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(BadRun, match=r"thesis\.tex"):
        RunFolder(tmp_path, "x").check_free()
    with pytest.raises(BadRun, match="is a file"):
        RunFolder(tmp_path / "thesis.tex", "x").check_free()


def test_finished_sessions_are_kept_until_the_run_is_finished(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "r", "x")
    with folder.working():
        folder.keep("0-abc", results.tables([rows()]))
    with folder.working():
        kept = folder.kept("0-abc")
        assert kept is not None
        assert kept.requests.num_rows == 3
        assert folder.kept("1-abc") is None
        folder.finish(kept, {"run": "x"})
    assert [p.name for p in tmp_path.iterdir()] == ["r"]


def test_what_another_run_kept_is_not_used(tmp_path: Path) -> None:
    first, second = RunFolder(tmp_path / "r", "one"), RunFolder(tmp_path / "r", "two")
    with first.working():
        first.keep("0", results.tables([rows()]))
    with second.working():
        assert second.kept("0") is None


def test_a_kept_session_that_a_crash_left_broken_is_worked_again(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "r", "x")
    with folder.working():
        folder.keep("0", results.tables([rows()]))
        (folder.partial / "0" / "requests.arrow").write_bytes(b"")
        assert folder.kept("0") is None


def _hold(folder: RunFolder, held: Any, release: Any) -> None:
    with folder.working():
        held.set()
        release.wait(20)


def test_two_processes_do_not_work_on_one_run(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    held, release = context.Event(), context.Event()
    folder = RunFolder(tmp_path / "r", "x")
    process = context.Process(target=_hold, args=(folder, held, release))
    process.start()
    try:
        assert held.wait(20)
        with pytest.raises(BadRun, match="another process"), folder.working():
            pass
    finally:
        release.set()
        process.join()


def test_a_new_run_takes_away_the_pages_that_spoke_of_the_old_one(tmp_path: Path) -> None:
    RunFolder(tmp_path, "old").finish(results.tables([rows()]), {"run": "old"})
    (tmp_path / "report.html").write_text("old figures")
    RunFolder(tmp_path, "new").finish(results.tables([rows("s2")]), {"run": "new"})
    assert not (tmp_path / "report.html").exists()
    assert list(results.read(tmp_path)["session"]) == ["s2"]


FINISH = """
import resource, sys
from pathlib import Path
from tests.test_results import rows
from compactlab import errors, results
tables = results.tables([rows(f"s{n}", requests=2000) for n in range(50)])
import pyarrow.parquet
BEFORE
try:
    results.RunFolder(Path(sys.argv[1]), "new").finish(tables, {"run": "new"})
except errors.BadRun as error:
    print(error)
"""


def finish_in_a_process(folder: Path, before: str = "", drop_rights: bool = False) -> str:
    """What finishing a run in a process of its own prints."""
    root = Path(__file__).parent.parent
    done = subprocess.run(
        [sys.executable, "-c", FINISH.replace("BEFORE", before), folder],
        cwd=root, capture_output=True, text=True, check=True,
        preexec_fn=_drop_rights if drop_rights else None,
    )  # fmt: skip
    return done.stdout


def _drop_rights() -> None:
    """Take from root the right to write into read-only folders."""
    import ctypes

    for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)


def test_a_full_disk_leaves_the_old_run_as_it_was_and_no_half_files(tmp_path: Path) -> None:
    RunFolder(tmp_path, "old").finish(results.tables([rows()]), {"run": "old"})
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    limit = "resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))"
    said = finish_in_a_process(tmp_path, limit)
    assert "cannot be written" in said
    assert said.count("\n") == 1
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before


@pytest.mark.skipif(sys.platform != "linux", reason="takes rights away by prctl")
def test_a_folder_that_may_not_be_written_costs_one_sentence(tmp_path: Path) -> None:
    tmp_path.chmod(0o555)
    try:
        said = finish_in_a_process(tmp_path / "r", drop_rights=True)
    finally:
        tmp_path.chmod(0o755)
    assert "Permission denied" in said
    assert list(tmp_path.iterdir()) == []


def test_the_overview_averages_sessions_served_whole_and_pools_rates() -> None:
    def run(**values: Any) -> tuple[Any, ...]:
        common = {"format": "f", "head_kind": "inferred", "strategy": "s", "settings": "{}",
                  "summariser": "x", "tokenizer": "t", "window": 1, "status": "ok", "stops": 1,
                  "hard_stops": 0}
        return row(RUNS, **(common | values))

    table = results.tables([
        Rows(run(served_share=1.0, token_reduction=0.2, compactions=3, noops=1,
                 effective_rate=0.75)),
        Rows(run(served_share=1.0, token_reduction=0.4, compactions=0, noops=0,
                 effective_rate=None)),
        Rows(run(served_share=0.5, token_reduction=0.9, compactions=4, noops=2,
                 effective_rate=0.5)),
        Rows(run(status="impossible", served_share=None, compactions=0, noops=0, stops=0,
                 effective_rate=None, token_reduction=None)),
        Rows(run(head_kind="unknown", status="error", compactions=None, noops=None, stops=None,
                 hard_stops=None, effective_rate=None, token_reduction=None, served_share=None)),
    ])
    found = results.overview(results.to_pandas(table.runs))
    assert list(found["head_kind"]) == ["inferred", "unknown"]
    first = found.iloc[0]
    assert (first["sessions"], first["compared"], first["left_out"]) == (4, 2, 1)
    assert first["token_reduction"] == pytest.approx(0.3)
    assert first["effective_rate"] == pytest.approx((3 + 0 + 3) / 10)
    assert (first["stops"], first["impossible"], first["errors"]) == (3, 1, 0)
    assert found.iloc[1]["errors"] == 1
    assert pd.isna(found.iloc[1]["token_reduction"])


@pytest.mark.parametrize(("table", "column"), [
    ("runs", "window"), ("requests", "request"), ("compactions", "request"), ("quality", "n")])
def test_a_number_beyond_a_table_is_an_error_that_names_the_column(
        table: str, column: str) -> None:
    names = [c.name for c in TABLES[table]]
    names = names if table == "runs" else names[len(KEY):]
    row = [2**63 if name == column else None for name in names]
    with pytest.raises(OverflowError, match=column):
        checked(Rows(row) if table == "runs" else Rows([], **{table: [row]}))
