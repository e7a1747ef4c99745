"""The command line: what a user types, what he sees, and one sentence for each mistake."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from compactlab import __version__, results
from compactlab.bench import plan
from compactlab.bench import run as bench_run
from compactlab.cli import main, parse
from compactlab.cli.options import SUMMARISERS
from compactlab.cli.text import safe, short
from compactlab.errors import BadSetting
from compactlab.formats import load, own
from compactlab.summarise import names as summarisers
from tests.small_sessions import chat, write_chat

ROOT = Path(__file__).parent.parent
COMMANDS = ("run", "show", "compact", "explain", "report", "doctor", "sessions list",
            "sessions import", "sessions record")
ESC = "\x1b"
HOSTILE = (f"{ESC}[31mred{ESC}[0m {ESC}]0;title\x07 {ESC}]8;;http://x{ESC}\\link{ESC}]8;;{ESC}\\ "
           "[bold]markup[/bold] :smile: \u202ereversed\u202c bell\x07 back\x08 \x9b2J null\x00")


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
         tmp_path: Path) -> Any:
    """Run a command line in the test's folder: (exit code, output, errors)."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")

    def run(*arguments: object) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main([str(a) for a in arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return run


def rough(*arguments: object) -> list[object]:
    """A run that needs no vocabulary."""
    return ["run", *arguments, "--tokenizer", "rough", "--summariser", "fallback"]


# --- help and versions ----------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_every_help_shows_an_example(command: str, said: Any) -> None:
    code, out, _ = said(*command.split(), "--help")
    assert code == 0
    examples = [line for line in out.splitlines() if line.startswith("  compactlab ")]
    assert examples
    assert not command or all(line.startswith(f"  compactlab {command}") or command == "report"
                              for line in examples)


def test_the_help_names_every_summariser() -> None:
    assert all(name in SUMMARISERS for name in summarisers())


def test_the_version_is_shown(said: Any) -> None:
    assert said("--version")[:2] == (0, f"compactlab {__version__}\n")


def test_the_help_is_quick_and_python_m_works() -> None:
    took = []
    for _ in range(3):
        start = time.perf_counter()
        done = subprocess.run([sys.executable, "-m", "compactlab", "--help"], cwd=ROOT,
                              capture_output=True, text=True, check=True)
        took.append(time.perf_counter() - start)
    assert "What would a context-compaction strategy" in done.stdout
    # 0.25 s on a quiet machine; what may not happen is that pandas (1 s) comes along
    assert min(took) < 0.9


# --- mistakes -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--strategies", "compresor"], "choose one of .*compressor, .*layered, .*raw"),
        (["--summariser", "gpt"], "choose one of extractive, fail, fallback, sized"),
        (["--tokenizer", "o200k"], "choose one of auto, .*o200k_base.*rough"),
        (["--windows", "0"], "window '0': needs a positive whole number"),
        (["--windows", "-1"], "window '-1': needs a positive whole number"),
        (["--windows", "many"], "window 'many'"),
        (["--windows", "1.0005K"], "window '1.0005K': .*such as 32000, 32K, 1.5K or 1M"),
        (["--windows", ""], "no window: give some in tokens"),
        (["--strategies", ""], "no strategy: choose some of raw, escalating, .*recorded, or all"),
        (["--strategies", " ,"], "no strategy: choose some of"),
        (["--set", "treshold=1"], "'treshold': choose one of .*threshold"),
        (["--set", "protect_last_n=0"], "protect_last_n = 0: out of range"),
        (["--set", "threshold"], "write it as name=value"),
        (["--set", "on_stop=never"], "choose one of as_if_served, end, next_turn"),
        (["--workers", "0"], "workers"),
        (["--wndows", "1"], "--wndows.*--windows"),
        (["nowhere.jsonl"], "nowhere.jsonl: no such file"),
    ],
)
def test_a_mistake_costs_one_sentence_that_names_the_choices(
        arguments: list[str], sentence: str, said: Any, tmp_path: Path) -> None:
    write_chat(tmp_path / "a.json", turns=1)
    code, out, err = said("run", "a.json", *arguments)
    assert code == 2
    assert out == ""
    assert re.search(sentence, err)
    assert err.count("\n") == 1
    assert err.startswith("compactlab: ")
    assert not (tmp_path / "results").exists()


def test_a_command_that_is_none_is_answered_with_the_nearest(said: Any) -> None:
    code, _, err = said("rum")
    assert code == 2
    assert "'run'" in err


def test_a_fault_of_its_own_is_one_sentence_too(tmp_path: Path) -> None:
    code = ("import sys, compactlab.cli as c, compactlab.cli.app as app\n"
            "def build(): raise ZeroDivisionError('x')\n"
            "app.build = build\nsys.exit(c.main([]))")
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True,
                          check=False)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "ZeroDivisionError" in done.stderr


# --- run ------------------------------------------------------------------------------------------


def test_a_run_writes_tables_and_prints_them_by_format(said: Any, tmp_path: Path) -> None:
    write_chat(tmp_path / "a.json", turns=8)
    write_chat(tmp_path / "b.json", turns=3)
    (tmp_path / "notes.md").write_text("# not a session")
    (tmp_path / "torn.json").write_text('{"messages": [')
    code, out, err = said(*rough("--sessions", ".", "--windows", "2K,4000", "--out", "r"))
    assert (code, err) == (0, "")
    assert list(results.read(tmp_path / "r")["strategy"].unique()) == [
        "raw", "escalating", "compressor", "layered"]
    assert "openai-chat: 2 sessions, system prompt in the log" in out
    assert "no importer" in out
    assert "notes.md" in out
    assert "torn.json" in out
    assert "never whether the task would have succeeded" in out
    assert len(results.read(tmp_path / "r")) == 2 * 4 * 2
    manifest = results.read_manifest(tmp_path / "r")
    assert [f["name"] for f in manifest["files"]] == ["a.json", "b.json"]
    assert {n["name"] for n in manifest["not_read"]} == {"notes.md", "torn.json"}
    assert str(tmp_path) not in json.dumps(manifest)
    assert manifest["settings"]["windows"] == [2000, 4000]


def test_the_same_run_again_does_nothing_and_says_so(said: Any, tmp_path: Path) -> None:
    write_chat(tmp_path / "a.json", turns=3)
    command = rough("a.json", "--windows", "2K")
    first = said(*command)
    folder = next((tmp_path / "results").iterdir())
    times = {p.name: p.stat().st_mtime_ns for p in folder.iterdir()}
    code, out, _ = said(*command)
    assert code == 0
    assert "nothing was done (--force does it again)" in out
    assert out.splitlines()[:5] == first[1].splitlines()[:5]
    assert {p.name: p.stat().st_mtime_ns for p in folder.iterdir()} == times
    said(*command, "--force")
    assert {p.name: p.stat().st_mtime_ns for p in folder.iterdir()} != times


def test_another_run_is_not_replaced_unless_forced(said: Any, tmp_path: Path) -> None:
    write_chat(tmp_path / "a.json", turns=3)
    said(*rough("a.json", "--windows", "2K", "--out", "r"))
    code, _, err = said(*rough("a.json", "--windows", "4K", "--out", "r"))
    assert code == 2
    assert "holds another run" in err
    assert said(*rough("a.json", "--windows", "4K", "--out", "r", "--force"))[0] == 0
    assert list(results.read(tmp_path / "r")["window"].unique()) == [4000]


def test_workers_and_a_second_folder_change_no_row(said: Any, tmp_path: Path) -> None:
    for n in range(3):
        write_chat(tmp_path / f"{n}.json", turns=3 + n, seed=n)
    said(*rough("--sessions", "*.json", "--windows", "2K", "--out", "one"))
    said(*rough("--sessions", "*.json", "--windows", "2K", "--out", "two", "--workers", "2",
                "--force"))
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()


def test_a_run_speaks_json(said: Any, tmp_path: Path) -> None:
    write_chat(tmp_path / "a.json", turns=4)
    command = rough("a.json", "--windows", "2K", "--strategies", "raw,layered", "--json")
    code, out, _ = said(*command)
    found = json.loads(out)
    assert (code, found["fresh"], found["not_read"]) == (0, True, [])
    assert [row["strategy"] for row in found["overview"]] == ["raw", "layered"]
    assert set(found["overview"][0]) == set(results.overview(results.read(found["folder"])).columns)
    assert json.loads(said(*command)[1])["fresh"] is False


def test_no_session_at_all_is_an_error_that_lists_the_files(said: Any, tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("# not a session")
    code, out, err = said(*rough("."))
    assert code == 2
    assert "notes.md" in out
    assert "sessions list" in err


def test_files_after_sessions_are_read_too_and_each_file_once(said: Any, tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_chat(tmp_path / f"{name}.json", turns=1)
    said(*rough("--sessions", "a.json", "b.json", "*.json", tmp_path, "--out", "r",
                "--strategies", "raw"))
    assert len(results.read(tmp_path / "r", window=32000)) == 2


def test_a_sweep_over_a_setting_has_a_row_for_each_value(said: Any, tmp_path: Path) -> None:
    write_chat(tmp_path / "a.json", turns=4)
    said(*rough("a.json", "--strategies", "layered", "--windows", "8K", "--set",
                "keep_recent=1,2,3", "--out", "r"))
    assert list(results.read(tmp_path / "r")["settings"]) == [
        f'{{"keep_recent": {n}}}' for n in (1, 2, 3)]


# --- interrupted runs -----------------------------------------------------------------------------


def _started(folder: Path, *more: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "compactlab", *map(str, rough(
        "--sessions", folder / "in", "--windows", "2K,3K", "--out", folder / "r", *more))]
    return subprocess.Popen(command, cwd=folder / "code", stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, start_new_session=True)


def _finished_sessions(folder: Path) -> int:
    return len([p for p in (folder / "r.partial").glob("*") if p.name.isdigit()])


def _interrupt(folder: Path, signal: int, *more: str) -> subprocess.Popen[str]:
    """Start a run, wait until some sessions are finished, and send its process group a signal."""
    process = _started(folder, *more)
    deadline = time.monotonic() + 60
    while _finished_sessions(folder) < 2 and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert process.poll() is None, process.communicate()
    os.killpg(process.pid, signal)
    return process


SESSIONS = 12


def _many(folder: Path) -> None:
    """Many sessions, and the code beside them: a copy, since the code is part of a run's id."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "compactlab", folder / "code" / "compactlab", ignore=ignored)
    (folder / "in").mkdir()
    for n in range(SESSIONS):
        write_chat(folder / "in" / f"{n:02d}.json", turns=20, calls=6, words=60, seed=n)


def test_a_killed_run_goes_on_where_it_was_and_gives_the_same_tables(tmp_path: Path) -> None:
    _many(tmp_path)
    _interrupt(tmp_path, signal.SIGKILL).communicate()
    assert not (tmp_path / "r").exists()
    before = _finished_sessions(tmp_path)
    again = _started(tmp_path)
    _, err = again.communicate(timeout=120)
    assert again.returncode == 0
    assert f"going on: {before} of {SESSIONS} sessions are done already" in err
    assert not (tmp_path / "r.partial").exists()
    sessions = [load(file)[0] for file in sorted((tmp_path / "in").iterdir())]
    planned = plan(["raw", "escalating", "compressor", "layered"], [2000, 3000],
                   tokenizer="rough", summariser="fallback")
    for name, table in bench_run(sessions, planned).items():
        assert results.read(tmp_path / "r", name).equals(results.to_pandas(table))


@pytest.mark.parametrize("workers", ["1", "2"])
def test_an_interrupted_run_says_how_to_go_on_in_one_line(tmp_path: Path, workers: str) -> None:
    _many(tmp_path)
    process = _interrupt(tmp_path, signal.SIGINT, "--workers", workers)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.strip().splitlines() == ["interrupted: the same command goes on where it was"]
    assert _finished_sessions(tmp_path) >= 2
    assert not (tmp_path / "r").exists()


def test_a_run_whose_sessions_changed_starts_anew(tmp_path: Path) -> None:
    _many(tmp_path)
    _interrupt(tmp_path, signal.SIGKILL).communicate()
    write_chat(tmp_path / "in" / "00.json", turns=1)
    again = _started(tmp_path)
    _, err = again.communicate(timeout=120)
    assert again.returncode == 0
    assert "going on" not in err


def test_a_full_disk_costs_one_sentence_and_no_half_result(tmp_path: Path) -> None:
    import resource

    write_chat(tmp_path / "a.json", turns=30)
    command = [sys.executable, "-m", "compactlab", *map(str, rough(
        tmp_path / "a.json", "--windows", "2K", "--out", tmp_path / "r"))]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)))
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "File too large" in done.stderr
    assert not (tmp_path / "r").exists()


def test_output_into_a_closed_pipe_ends_quietly(tmp_path: Path) -> None:
    write_chat(tmp_path / "a.json", turns=2)
    line = (f"{sys.executable} -m compactlab run {tmp_path / 'a.json'} --tokenizer rough "
            f"--out {tmp_path / 'r'} | true")
    done = subprocess.run(["bash", "-c", line], cwd=ROOT, capture_output=True, text=True,
                          check=False)
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr


# --- show, explain, compact -----------------------------------------------------------------------


def test_show_gives_each_message_its_fate_and_the_summary(said: Any, tmp_path: Path) -> None:
    write_chat(tmp_path / "a.json", turns=8)
    code, out, _ = said("show", "a.json", "--window", "6K", "--tokenizer", "rough",
                        "--summariser", "fallback", "--set", "protect_last_n=4")
    assert code == 0
    assert "compaction 1 of" in out
    for word in ("before: ", "after: ", "summarised", "kept", "new", "summary by fallback"):
        assert word in out
    found = json.loads(said("show", "a.json", "--window", "6K", "--tokenizer", "rough", "--json",
                            "--summariser", "fallback", "--set", "protect_last_n=4")[1])
    assert found["before"] > found["after"] > 0
    assert {m["side"] for m in found["messages"]} == {"before", "after"}
    assert found["summary"] in out


def test_show_numbers_compactions_and_counts_silent_ones_on_demand(
        said: Any, tmp_path: Path) -> None:
    write_chat(tmp_path / "a.json", turns=8)
    code, out, _ = said("show", "a.json", "--strategy", "layered", "--tokenizer", "rough")
    assert code == 0
    assert "silent ones (--silent)" in out
    code, out, _ = said("show", "a.json", "--strategy", "layered", "--tokenizer", "rough",
                        "--silent", "-n", "2", "--all")
    assert "compaction 2 of" in out
    assert "cleared" in out
    code, _, err = said("show", "a.json", "--strategy", "layered", "--tokenizer", "rough",
                        "--silent", "-n", "99")
    assert code == 2
    assert "numbered from 1" in err
    code, out, _ = said("show", "a.json", "--strategy", "raw", "--tokenizer", "rough")
    assert "raw made no compaction" in out
    assert said("show", "a.json", "--strategy", "raw", "--tokenizer", "rough", "--json")[0] == 0


def test_recorded_text_cannot_speak_to_the_terminal(said: Any, tmp_path: Path) -> None:
    messages = chat(turns=6)
    for message in messages:
        if message["role"] != "system":
            message["content"] = HOSTILE + message["content"]
    name = "a\x1b[2J.json"
    (tmp_path / name).write_text(json.dumps({"messages": messages}))
    (tmp_path / f"{name}.md").write_text("no session")
    shown = said("show", name, "--window", "6K", "--tokenizer", "rough", "--all",
                 "--set", "protect_last_n=4")
    ran = said(*rough(".", "--windows", "4K", "--out", "r"))
    listed = said("sessions", "list", ".")
    missing = said("show", "b\x1b[31m.json")
    for code, out, err in (shown, ran, listed, missing):
        assert code in (0, 2)
        assert not set(out + err) & {ESC, "\x07", "\x08", "\x00", "\x9b", "\u202e"}
    assert "[bold]markup[/bold] :smile:" in shown[1]


def test_a_text_is_made_harmless_but_keeps_its_lines() -> None:
    assert safe("a\tb\nc\r\nd") == "a\tb\nc\nd"
    assert safe(f"{ESC}[1;31mred{ESC}[0m") == "red"
    assert safe(f"{ESC}]0;owned\x07x") == "x"
    assert safe("\u202eabc\ud800\x07") == "\\u202eabc\\ud800\\x07"
    assert short("word " * 100, 20) == "word word word word…"


def test_explain_shows_every_setting_and_what_follows_from_the_window(said: Any) -> None:
    from compactlab.strategies.presets import PRESETS

    for name, preset in PRESETS.items():
        code, out, _ = said("explain", name, "--window", "200000")
        assert code == 0
        assert preset.help in out
        assert all(setting.name in out for setting in preset.settings())
    found = json.loads(said("explain", "compressor", "--window", "200K", "--json")[1])
    derived = found["members"][0]["derived"]
    assert (derived["threshold_tokens"], derived["tail_budget"]) == (100_000, 20_000)
    assert derived["summary_ceiling"] == 10_000
    half = json.loads(said("explain", "compressor", "--window", "200K", "--set", "threshold=0.25",
                           "--json")[1])
    assert half["members"][0]["derived"]["threshold_tokens"] == 50_000
    setting = next(s for s in half["members"][0]["settings"] if s["name"] == "threshold")
    assert (setting["value"], setting["default"], setting["low"]) == (0.25, 0.5, 0.0)
    listed = json.loads(said("explain", "--json")[1])
    assert [p["strategy"] for p in listed] == list(PRESETS)
    code, _, err = said("explain", "compresor")
    assert (code, err.count("\n")) == (2, 1)


@pytest.mark.parametrize(
    ("as_", "form", "suffix"),
    [("", "openai-chat", "json"), ("own", "own", "jsonl"),
     ("anthropic", "anthropic-messages", "json")],
)
def test_compact_writes_the_format_asked_for(
        as_: str, form: str, suffix: str, said: Any, tmp_path: Path) -> None:
    write_chat(tmp_path / "a.json", turns=8)
    code, out, _ = said("compact", "a.json", "--window", "6K", "--tokenizer", "rough",
                        "--set", "protect_last_n=4", *(["--as", as_] if as_ else []))
    assert code == 0
    assert f"({form})" in out
    written = load(tmp_path / f"a.compacted.{suffix}")[0]
    original = load(tmp_path / "a.json")[0]
    assert len(written.messages) < len(original.messages)
    assert written.messages[-1].text == original.messages[-1].text
    assert "Task 0" in "".join(m.text for m in written.messages)


def test_a_compacted_log_comes_out_in_the_own_format(
        corpus: Path, said: Any, tmp_path: Path) -> None:
    log = sorted((corpus / "charming-with-claude").glob("*.jsonl"))[0]
    code, out, _ = said("compact", log, "--window", "64K", "--summariser", "fallback",
                        "-o", "small.jsonl.gz", "--json")
    found = json.loads(out)
    assert (code, found["format"]) == (0, "own")
    assert found["after"] < found["before"]
    assert len(load(tmp_path / "small.jsonl.gz")[0].messages) == found["messages_after"]


def test_compact_keeps_files_that_are_there_and_says_when_nothing_changed(
        said: Any, tmp_path: Path) -> None:
    write_chat(tmp_path / "a.json", turns=1)
    code, out, _ = said("compact", "a.json", "--tokenizer", "rough")
    assert code == 0
    assert "changed nothing: empty_middle" in out
    code, _, err = said("compact", "a.json", "--tokenizer", "rough")
    assert code == 2
    assert "is there already" in err
    assert said("compact", "a.json", "--tokenizer", "rough", "--force")[0] == 0
    code, _, err = said("compact", "a.json", "--as", "chatml", "-o", "x")
    assert code == 2
    assert "choose one of anthropic, openai, own" in err
    code, _, err = said("compact", "a.json", "-o", "none/x.json", "--tokenizer", "rough")
    assert code == 2
    assert "none/x.json cannot be written" in err
    assert said("compact", "a.json", "--strategy", "raw", "-o", "y", "--tokenizer", "rough")[1] \
        .startswith("raw does not answer to a manual compaction")


def test_a_file_with_several_sessions_asks_which(said: Any, tmp_path: Path) -> None:
    sessions = [load(write_chat(tmp_path / f"{n}.json", turns=n))[0] for n in (1, 2)]
    own.save(tmp_path / "two.jsonl", sessions)
    code, _, err = said("compact", "two.jsonl", "--tokenizer", "rough")
    assert code == 2
    assert sessions[1].id in err
    assert said("compact", "two.jsonl", "--session", "2", "--tokenizer", "rough")[0] == 0
    code, _, err = said("show", "two.jsonl", "--session", "three")
    assert code == 2
    assert "no session 'three'" in err


# --- sessions, doctor, report ---------------------------------------------------------------------


def test_sessions_are_listed_the_largest_first(said: Any, tmp_path: Path) -> None:
    for n in (1, 4, 2):
        write_chat(tmp_path / f"{n}.json", turns=n)
    (tmp_path / "odd.jsonl").write_text('{"odd": 1}\n')
    code, out, _ = said("sessions", "list", ".", "--limit", "2")
    assert code == 0
    lines = [line for line in out.splitlines() if ".json" in line]
    assert [line.split()[-1] for line in lines if "odd" not in line] == ["4.json", "2.json"]
    assert "1 more: --limit 0 shows all 3." in out
    assert "odd.jsonl" in out
    found = json.loads(said("sessions", "list", ".", "--json")[1])
    assert [Path(s["file"]).name for s in found["sessions"]] == ["4.json", "2.json", "1.json"]
    assert found["sessions"][0]["rough_tokens"] > found["sessions"][1]["rough_tokens"]
    assert [Path(f["file"]).name for f in found["not_read"]] == ["odd.jsonl"]


def test_sessions_in_the_usual_places_are_found(
        said: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "PI_CODING_AGENT_DIR"):
        monkeypatch.setenv(variable, str(tmp_path / "none"))
    assert "No session found" in said("sessions", "list")[1]
    place = tmp_path / "claude" / "projects" / "p"
    place.mkdir(parents=True)
    write_chat(place / "a.json", turns=1)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    assert "a.json" in said("sessions", "list")[1]


def test_import_writes_one_file_of_the_own_format(said: Any, tmp_path: Path) -> None:
    for n in (1, 2):
        write_chat(tmp_path / f"{n}.json", turns=n)
    code, out, _ = said("sessions", "import", "1.json", "2.json", "-o", "all.jsonl.gz")
    assert code == 0
    assert "written to all.jsonl.gz" in out
    imported = load(tmp_path / "all.jsonl.gz")
    assert [s.messages for s in imported] == [load(tmp_path / f"{n}.json")[0].messages
                                              for n in (1, 2)]
    code, _, err = said("sessions", "import", "1.json", "-o", "all.jsonl.gz")
    assert (code, err.count("\n")) == (2, 1)
    code, _, err = said("sessions", "import", "1.json", "-o", "none/all.jsonl")
    assert code == 2
    assert "cannot be written" in err


def test_record_passes_a_recipes_fault_on(said: Any, tmp_path: Path) -> None:
    (tmp_path / "r.yaml").write_text("steps: 5\n")
    code, _, err = said("sessions", "record", "r.yaml")
    assert code == 2
    assert "r.yaml" in err


def test_the_doctor_finds_this_machine_sound(said: Any) -> None:
    found = {f["what"]: f for f in json.loads(said("doctor", "--json")[1])}
    assert not [f for f in found.values() if f["ok"] is False]
    assert "o200k_base" in found["vocabulary"]["detail"]
    assert {"cache folder", "token store", "formats", "fonts", "notebook kernel"} <= set(found)
    assert "claude-code" in found["formats"]["detail"]


def test_the_doctor_names_what_is_wrong(
        said: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("COMPACTLAB_CACHE_DIR", str(tmp_path / "file"))
    code, out, _ = said("doctor")
    assert code == 1
    assert "FAILED" in out


def test_the_doctor_tells_what_is_in_a_file_and_what_was_left_out(
        said: Any, tmp_path: Path) -> None:
    write_chat(tmp_path / "a.json", turns=2)
    code, out, _ = said("doctor", "--session", "a.json")
    assert code == 0
    assert "openai-chat" in out
    assert "nothing was left out" in out
    found = json.loads(said("doctor", "--session", "a.json", "--json")[1])["sessions"][0]
    assert (found["turns"], found["requests"], found["tool_calls"]) == (2, 8, 6)
    assert found["head_kind"] == "in_log"
    assert said("doctor", "--session", "b.json")[0] == 2


def test_the_doctor_counts_what_a_log_holds_beside_the_session(corpus: Path, said: Any) -> None:
    log = corpus / "pi-mono" / "before-compaction.jsonl"
    found = json.loads(said("doctor", "--session", log, "--json")[1])["sessions"][0]
    assert found["recorded_compactions"] == 2
    assert found["requests_with_usage"] == found["requests"] == 471
    assert found["skipped"]


def test_report_wants_a_finished_run(said: Any, tmp_path: Path) -> None:
    code, _, err = said("report", tmp_path)
    assert code == 2
    assert "holds no finished run" in err


# --- parts ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "tokens"), [("32000", 32000), ("32K", 32000), ("32_000", 32000), ("1M", 1_000_000),
                         ("1.5K", 1500), ("1.28k", 1280), ("0.5M", 500_000), ("1.0005M", 1_000_500),
                         ("2.0", 2), ("1_000.5K", 1_000_500)])
def test_a_window_is_read(text: str, tokens: int) -> None:
    assert parse.window(text) == tokens


@pytest.mark.parametrize("text", ["", "0", "-1", "1.0005K", "0.0001K", "1.5", "1.K", ".5K",
                                  "1.5.5K", "K", "32,000", "ten", "0K", "1e3", "9" * 5000])
def test_a_window_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(BadSetting, match="needs a positive whole number"):
        parse.window(text)


def test_settings_are_read_as_values() -> None:
    found = parse.settings(["a=1", "b-c=0.5", "d=true", "e=none", "f=x y", "g=1,2", "h=end"])
    assert found == {"a": 1, "b_c": 0.5, "d": True, "e": None, "f": "x y", "g": [1, 2],
                     "h": "end"}
    assert parse.settings(["x.threshold=0.5"]) == {"x.threshold": 0.5}
    with pytest.raises(BadSetting, match="given twice"):
        parse.settings(["a=1", "a=2"])
    for wrong in ("=1", "a", "a b=1", "1=2"):
        with pytest.raises(BadSetting, match="name=value"):
            parse.settings([wrong])
