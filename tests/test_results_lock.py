"""Two runs and one folder: who came first goes on, the other is told what to do."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from compactlab import results
from compactlab.cli import main
from compactlab.errors import BadRun
from compactlab.results import RunFolder
from compactlab.results.lock import take
from tests.small_sessions import write_chat


def _hold(folder: RunFolder, held: Any, release: Any) -> None:
    with folder.working():
        (folder.partial / "000000").mkdir()  # what it has done so far
        held.set()
        release.wait(60)


@contextmanager
def at_work(folder: RunFolder) -> Iterator[None]:
    """The run of a folder is being done by another process."""
    context = multiprocessing.get_context("spawn")
    held, release = context.Event(), context.Event()
    process = context.Process(target=_hold, args=(folder, held, release))
    process.start()
    try:
        assert held.wait(60)
        yield
    finally:
        release.set()
        process.join()


def test_the_same_run_and_another_one_are_told_apart_and_what_was_done_stays(
        tmp_path: Path) -> None:
    first, second = RunFolder(tmp_path / "r", "one"), RunFolder(tmp_path / "r", "two")
    with at_work(first):
        with pytest.raises(BadRun, match=r"this very run \(one\) in .*wait until it ends"), \
                first.working():
            pass
        with pytest.raises(BadRun, match=r"another run \(one\) is at work in .*--out"), \
                second.working(replace=True):
            pass
        assert (first.partial / "000000").is_dir()
    with second.working():
        assert not (first.partial / "000000").exists()


def test_a_second_run_into_a_folder_at_work_is_told_so(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write_chat(tmp_path / "a.json", turns=1)
    command = ["run", str(file), "--strategies", "raw", "--tokenizer", "rough", "--out",
               str(tmp_path / "r")]
    with at_work(RunFolder(tmp_path / "r", "one")):
        assert main(command) == 2
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1)
        assert "another run (one) is at work in" in err
        assert "wait until it ends, or name another folder with --out" in err
    assert main(command) == 0


def test_a_run_that_was_finished_meanwhile_stands(tmp_path: Path) -> None:
    first, second = RunFolder(tmp_path / "r", "one"), RunFolder(tmp_path / "r", "two")
    second.check_free()
    first.finish(results.tables([]), {"run": "one"})
    with pytest.raises(BadRun, match=r"holds another run \(one\)"), second.working():
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["r"]
    with first.working():  # the same run may be made once more
        pass
    with second.working(replace=True):
        pass


def test_nothing_but_a_run_is_ever_replaced(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str]) -> None:
    file = write_chat(tmp_path / "a.json", turns=1)
    mine = tmp_path / "notebooks" / "mine.ipynb"
    mine.parent.mkdir()
    mine.write_text("{}")
    command = ["run", str(file), "--strategies", "raw", "--tokenizer", "rough", "--out"]
    for more in ((), ("--force",)):
        assert main([*command, str(mine.parent), *more]) == 2
        assert "files that are not of a run (such as mine.ipynb)" in capsys.readouterr().err
    assert mine.exists()
    assert not (tmp_path / "notebooks.partial").exists()
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert main([*command, "."]) == main([*command, ".", "--force"]) == 0
    assert len(results.read(tmp_path / "here")) == 3
    assert {path.name for path in tmp_path.iterdir()} == {"a.json", "here", "notebooks"}


def test_a_lock_is_of_the_file_that_stands_there(tmp_path: Path) -> None:
    first = take(tmp_path / "p" / "lock")
    assert first is not None
    assert take(tmp_path / "p" / "lock") is None
    (tmp_path / "p" / "lock").unlink()
    second = take(tmp_path / "p" / "lock")
    assert second is not None
    first.close()
    assert take(tmp_path / "p" / "lock") is None
    second.close()
