"""What commands say where it is easily said wrong: nothing to replay, one of a thing, more."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from compactlab.cli import main
from tests.small_sessions import write_chat


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
         tmp_path: Path) -> Any:
    """Run a command line in the test's folder: its output, after it succeeded."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> str:
        capsys.readouterr()
        assert main(arguments) == 0
        return capsys.readouterr().out

    return run


def test_a_run_says_which_sessions_hold_no_request(said: Any, tmp_path: Path) -> None:
    write_chat(tmp_path / "a.json", turns=8)
    rough = ("--tokenizer", "rough")
    written = said("compact", "a.json", "--as", "own", "-o", "small.jsonl", *rough)
    assert "small.jsonl (own): messages alone, there is no request to replay" in written
    run = ("run", "a.json", "small.jsonl", "--strategies", "raw,layered", *rough, "--out", "r")
    out = said(*run)
    line = next(line for line in out.splitlines() if line.startswith("not replayed"))
    assert line.startswith("not replayed: there is no model request in 1 of 2 sessions, only ")
    assert line.endswith(": a#2")
    assert json.loads(said(*run, "--json"))["without_requests"] == ["a#2"]
    alone = ("run", "a.json", "--strategies", "raw", *rough, "--out", "s")
    assert "not replayed" not in said(*alone)
    assert json.loads(said(*alone, "--json"))["without_requests"] == []
