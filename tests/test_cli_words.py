"""What commands say where it is easily said wrong: nothing to replay, one of a thing, more."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from compactlab.cli import main
from compactlab.notebook.claims import published
from compactlab.report import finding
from tests.small_sessions import session, write_chat
from tests.tables_by_hand import runs


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


def test_a_compaction_that_makes_a_history_larger_is_said_to_be_more(
        said: Any, tmp_path: Path) -> None:
    write_chat(tmp_path / "a.json", turns=2, calls=5, words=1)  # placeholders are longer
    typed = ("a.json", "--strategy", "clear_tool_uses", "--tokenizer", "rough")
    assert "276 -> 390 tokens (41.3 % more), system prompt left out" in said("compact", *typed)


def test_the_findings_say_raised_where_the_best_strategy_sends_more() -> None:
    alone = finding(runs({"token_reduction": -0.03}))
    assert any("raised prompt tokens least among the strategies that served every request: by 3 %"
               in sentence for sentence in alone)


def test_the_claims_say_more_where_caching_costs_more(tmp_path: Path) -> None:
    one = session(tmp_path, turns=1, calls=1, words=9000)  # written to the cache, hardly read
    table = published([one], "compressor", 500_000, summariser="fallback", tokenizer="rough")
    assert table.iloc[0, 0] == "25 % more"


def test_a_span_is_of_one_second_or_of_several(said: Any, tmp_path: Path) -> None:
    for name, times in {"one": (5, 6), "two": (5, 7), "none": (None, None), "odd": ("NaN", "NaN"),
                        "hour": (0, 5400)}.items():
        chat = [{"role": "user", "content": "hi", "timestamp": times[0]},
                {"role": "assistant", "content": "yes", "timestamp": times[1]}]
        (tmp_path / f"{name}.json").write_text(json.dumps(chat).replace('"NaN"', "NaN"))
    lines = {line.split()[-1]: line for line in said("sessions", "list", ".").splitlines()
             if line.rstrip().endswith(".json")}
    spans = {name: " ".join(line.split()[4:-4]) for name, line in lines.items()}
    assert spans == {"one.json": "1 second", "two.json": "2 seconds", "none.json": "–",
                     "odd.json": "–", "hour.json": "1.5 hours"}
