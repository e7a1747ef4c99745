"""The commands `cache validate`, `cache check` and `quality`, on small and on recorded sessions."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from compactlab.cli import main, parse
from tests.caching.test_bridge import session

SHIPPED = Path(__file__).parents[1] / "datasets" / "jinja2-lost-branch.jsonl.gz"


def test_worked_vectors_give_no_difference(cases: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cache", "check", str(cases / "cache_vectors.json")]) == 0
    assert "0 differences" in capsys.readouterr().out


def test_a_changed_figure_is_named_and_fails(
    cases: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = json.loads((cases / "cache_vectors.json").read_text("utf-8"))
    expected = found["vectors"][0]["variants"][0]["requests"][0]["expect"]
    name = next(iter(expected))
    expected[name] = 123_456_789
    changed = tmp_path / "changed.json"
    changed.write_text(json.dumps(found), "utf-8")
    assert main(["cache", "check", str(changed)]) == 1
    shown = capsys.readouterr().out
    assert "123456789" in shown and "1 differences" in shown


def test_what_is_no_file_of_vectors_costs_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = tmp_path / "x.json"
    wrong.write_text("[]")
    assert main(["cache", "check", str(wrong)]) == 2
    assert "no file of cache vectors" in capsys.readouterr().err


def test_recorded_usage_is_met(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(corpus / "charming-with-claude")
    assert main(["cache", "validate", folder, "--json"]) == 0
    rows = [r for r in json.loads(capsys.readouterr().out)["sessions"] if r["question"] == "A"]
    assert len(rows) == 10
    read = sum(r["read"] for r in rows)
    assert abs(sum(r["read_simulated"] for r in rows) - read) <= 0.01 * read
    requests = sum(r["requests"] for r in rows)
    assert sum(r["close"] * r["requests"] for r in rows) >= 0.95 * requests


def test_quality_is_the_same_twice_and_has_the_controls(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    command = ["quality", str(SHIPPED), "--strategies", "compressor", "--cuts", "1"]
    shown = []
    for _ in range(2):
        assert main(command) == 0
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1]
    for name in ("compressor", "keep_newest", "random_lines", "anchor_dump", "bound frr", "n=1"):
        assert name in shown[0]


def test_quality_rows_can_be_had_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["quality", str(SHIPPED), "--strategies", "layered", "--cuts", "1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    metrics = {row["metric"] for row in found["summary"]}
    assert metrics >= {"size", "frr", "bound_frr", "constraint_retention"}
    assert {row["verdict"] for row in found["pairs"]} == {"not separable"}, "one session"


def test_a_run_says_how_far_its_simulated_cache_can_be_trusted(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = sorted((corpus / "charming-with-claude").glob("*.jsonl"))[0]
    assert main(["run", str(file), "--strategies", "raw", "--windows", "200K", "--out",
                 str(tmp_path / "billed")]) == 0
    assert "1 session with a bill comes out" in " ".join(capsys.readouterr().out.split())
    assert main(["run", str(Path("datasets", "jinja2-lost-branch.jsonl.gz")), "--strategies",
                 "layered", "--windows", "64K", "--out", str(tmp_path / "made")]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "error of the simulated cache: not known" in said
    assert "other readings change a run's cost by" in said


@pytest.mark.parametrize(("more", "told"), [
    (["--strategies", "compressr"], "unknown strategy 'compressr'"),
    (["--summariser", "nobody"], "nobody"),
    (["--out", "nowhere/rows.parquet"], "rows.parquet cannot be written: no folder nowhere")])
def test_what_quality_cannot_do_is_said_before_the_work(
    more: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["quality", str(SHIPPED), *more]) == 2
    assert told in " ".join(capsys.readouterr().err.split())


def test_files_without_a_session_are_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "note.txt").write_text("nothing")
    assert main(["quality", str(tmp_path)]) == 2
    assert "no session with a request in 1 file" in capsys.readouterr().err
    assert main(["cache", "validate", str(tmp_path), str(SHIPPED)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "1 session without usage left out" in said
    assert "no importer: 1 file, left out" in said


def test_budgets_are_per_cents(capsys: pytest.CaptureFixture[str]) -> None:
    assert parse.shares(["5, 0.5%", "20"]) == [0.005, 0.05, 0.2]
    for text in ("0", "101", "five", "1e3", "-2", ",", "५"):
        assert main(["quality", str(SHIPPED), "--budgets", text]) == 2
        assert "such as" in capsys.readouterr().err


@pytest.mark.parametrize(("options", "told"), [
    (["ttl="], "write it as name=value"), (["summariser_model="], "write it as name=value"),
    (["ttl=5m", "ttl=1h"], "a run takes one value"), (["prise=1"], "choose one of layout")])
def test_options_of_the_cache_are_one_value_each(
    options: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [part for option in options for part in ("--cache", option)]
    assert main(["run", str(SHIPPED), *given]) == 2
    assert told in " ".join(capsys.readouterr().err.split())


def test_no_cache_is_a_layout_too() -> None:
    assert parse.cache(["layout=none"]).layout == "none"


def test_what_cannot_be_compared_is_left_out_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from compactlab.formats import own
    from tests.test_bench_billed import renamed

    good = renamed(session(3), "claude-opus-5", input=400, cache_read=300, output=9)
    strange = msgspec.structs.replace(renamed(session(3), "grok-4", input=400, cache_read=300),
                                      id="strange", name="strange")
    own.save(tmp_path / "both.jsonl", [good, strange])
    assert main(["cache", "validate", str(tmp_path), "--observed"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "claude-opus-5" in said
    assert "not compared: strange: unknown provider" in said
    assert "validates nothing but the rest" in said
    assert main(["cache", "validate", str(tmp_path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [left["session"] for left in found["left_out"]] == ["strange"]
    assert found["observed"] is False


def recorded(path: Path, read: int) -> None:
    """A session of two requests as Claude Code writes it."""
    usage = {"input_tokens": 3, "cache_read_input_tokens": read, "output_tokens": 5,
             "cache_creation_input_tokens": 100}
    lines, before = [], None
    for n in range(4):
        said = {"role": "user", "content": f"question {n}"} if n % 2 == 0 else {
            "role": "assistant", "id": f"m{n}", "model": "claude-opus-4-6", "usage": usage,
            "content": [{"type": "text", "text": f"answer {n}"}]}
        lines.append({"type": said["role"], "uuid": f"u{n}", "parentUuid": before,
                      "sessionId": path.stem, "timestamp": f"2026-09-01T00:00:0{n}Z",
                      "message": said})
        before = f"u{n}"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.mark.parametrize("tokens", [10**30, 10**18])
def test_usage_beyond_all_sense_leaves_out_its_session_alone(
    tokens: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recorded(tmp_path / "good.jsonl", 200)
    recorded(tmp_path / "vast.jsonl", tokens)
    assert main(["cache", "validate", str(tmp_path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {one["requests"] for one in found["sessions"]} == {2}
    (left,) = found["left_out"]
    assert left["session"] == "vast.jsonl"
    assert "over 1,000,000,000 tokens" in left["reason"]
    assert main(["cache", "validate", str(tmp_path)]) == 0
    assert "not compared: vast.jsonl: request 0" in " ".join(capsys.readouterr().out.split())
