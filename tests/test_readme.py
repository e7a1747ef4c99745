"""The README keeps its word: its commands and its code run, and it names everything there is."""

from __future__ import annotations

import json
import os
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from compactlab import results
from compactlab.cli import main
from compactlab.formats import importers
from compactlab.report import finding
from compactlab.strategies.presets import names as strategies
from compactlab.summarise import names as summarisers

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    """The fenced blocks of a language, in order."""
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.M | re.S)


def commands() -> list[str]:
    """What a reader would type behind a `$`."""
    lines = [line for block in blocks("console") for line in block.splitlines()]
    assert all(line.startswith("$ compactlab ") for line in lines)
    return [line.removeprefix("$ ") for line in lines]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the shipped sessions, and a home with one Claude Code session."""
    for name in ("datasets", "notebooks"):
        if not (ROOT / name).is_dir():
            pytest.skip(f"there is no {name}/ yet")
        (tmp_path / name).symlink_to(ROOT / name)
    if not list((ROOT / "datasets").glob("*.jsonl.gz")):
        pytest.skip("no session is shipped yet")
    log = tmp_path / "home" / ".claude" / "projects" / "my-project" / "session.jsonl"
    log.parent.mkdir(parents=True)
    log.write_text("".join(json.dumps(line) + "\n" for line in claude_lines()), "utf-8")
    for variable in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "PI_CODING_AGENT_DIR"):
        monkeypatch.delenv(variable, raising=False)
    # The home is where the tokenizer's cache would lie, too.
    monkeypatch.setenv("COMPACTLAB_CACHE_DIR", os.environ.get("COMPACTLAB_CACHE_DIR")
                       or str(Path.home() / ".cache" / "compactlab"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def claude_lines() -> list[dict[str, Any]]:
    """A short Claude Code log: three questions, three answers with usage."""
    found: list[dict[str, Any]] = []
    parent = None
    for turn in range(3):
        for role in ("user", "assistant"):
            message: dict[str, Any] = {"role": role, "content": f"{role} {turn} " * 50}
            if role == "assistant":
                usage = {"input_tokens": 9000 + 200 * turn, "output_tokens": 100}
                message |= {"id": f"msg_{turn}", "model": "claude", "usage": usage,
                            "content": [{"type": "text", "text": message["content"]}]}
            uuid = f"{role}-{turn}"
            found.append({
                "type": role, "uuid": uuid, "parentUuid": parent, "sessionId": "s",
                "timestamp": f"2026-01-01T00:0{turn}:00.000Z", "cwd": "/project",
                "isSidechain": False, "message": message})
            parent = uuid
    return found


def type_in(command: str) -> int:
    """Run a command line as a shell would hand it over."""
    words = shlex.split(command.replace(" ~", f" {Path.home()}"))
    return main(words[1:])


def test_the_commands_run(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    typed = [command for command in commands() if not command.startswith("compactlab report")]
    assert len(typed) >= 6
    for command in typed:
        assert type_in(command) == 0, command
    out, err = capsys.readouterr()
    assert err == ""
    assert "claude-code: 1 session" in out
    assert (place / "results" / "mine" / "manifest.json").is_file()
    assert (place / "smaller.json").is_file()
    assert_the_finding_is_quoted(place / "results")


def assert_the_finding_is_quoted(folder: Path) -> None:
    """The README quotes the first sentence of the demo's report, whose run is among these."""
    found = {path.parent: results.read_manifest(path.parent)["settings"]
             for path in folder.glob("*/manifest.json")}
    demo = next(path for path, settings in found.items()
                if settings["windows"] == [32_000, 64_000, 128_000] and settings["quality"])
    first = finding(results.read(demo), results.read_quality(demo))[0]
    quoted = " ".join(" ".join(re.findall(r"^> (.*)$", README, re.M)).split())
    assert first in quoted, f"quote it in README.md: {first}"


@pytest.mark.slow
def test_every_command_runs_the_report_too(place: Path) -> None:
    for command in commands():
        assert type_in(command) == 0, command
    assert (place / "results" / "mine" / "report.html").is_file()


def test_the_code_runs(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {"__name__": "readme"}
    assert len(blocks("python")) >= 3
    for block in blocks("python"):
        exec(compile(block, "README.md", "exec"), names)
    assert (place / "sawtooth.png").stat().st_size > 10_000
    assert "protect_last_n" in capsys.readouterr().out


def test_the_make_targets_exist() -> None:
    lines = [line for block in blocks("sh") for line in block.splitlines()]
    targets = [line.split()[1] for line in lines if line.startswith("make ")]
    assert targets[:2] == ["demo", "test"]
    makefile = (ROOT / "Makefile").read_text("utf-8")
    assert all(re.search(rf"^{target}:", makefile, re.M) for target in targets)


def test_every_strategy_format_and_summariser_is_named() -> None:
    named = set(re.findall(r"`([\w-]+)`", README))
    missing = {*strategies(), *summarisers(), *(i.NAME for i in importers())} - named
    assert not missing


def test_links_and_pictures_lead_somewhere() -> None:
    targets = re.findall(r"\]\(([^)#\s]+)\)", README)
    assert any(target.endswith(".png") for target in targets)
    assert [t for t in targets if "://" not in t and not (ROOT / t).exists()] == []
