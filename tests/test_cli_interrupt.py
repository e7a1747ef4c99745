"""Ctrl-C at any moment: one line, exit code 130, no process left behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.small_sessions import write_chat

ROOT = Path(__file__).parent.parent
GOES_ON = "interrupted: the same command goes on where it was\n"
# Interrupts the process when the module that MODULE names is looked for, as Ctrl-C then would.
AT_IMPORT = """
import os, signal, sys

class Finder:
    def find_spec(self, name, *_):
        if name == MODULE:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Finder())
"""
# Put beside the code as sitecustomize: a worker that starts interrupts itself and all others.
AT_START_OF_A_WORKER = """
import os, signal, sys

if any("popen_loky" in word for word in sys.orig_argv):
    os.killpg(os.getpgrp(), signal.SIGINT)
"""
MAIN = "import sys\nfrom compactlab.cli import main\n"


def typed(folder: Path, *arguments: str, before: str = "", after: str = "",
          path: str = "") -> subprocess.CompletedProcess[str]:
    """A command line in a process of its own, which is killed when it takes too long."""
    code = f"{before}\n{MAIN}code = main()\n{after}\nsys.exit(code)"
    places = os.pathsep.join(filter(None, (path, str(ROOT))))
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments], cwd=folder, text=True, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": places})
    try:
        out, err = process.communicate(timeout=60)
    finally:
        left = alive(process.pid)
        if left:
            os.killpg(process.pid, signal.SIGKILL)
    assert not left, f"{left} processes are still there"
    return subprocess.CompletedProcess(arguments, process.returncode, out, err)


def alive(group: int) -> int:
    """How many processes of a group have not ended."""
    listed = subprocess.run(["ps", "-A", "-o", "pgid=,stat="], capture_output=True, text=True,
                            check=True).stdout
    return len([line for line in listed.splitlines() if re.match(rf"\s*{group}\s+[^Z\s]", line)])


RUN = ("run", "a.json", "--strategies", "raw", "--tokenizer", "rough", "--out", "r")


@pytest.mark.parametrize(
    ("module", "arguments", "said"),
    [
        ("typer", RUN, GOES_ON),
        ("compactlab.cli.run", RUN, GOES_ON),
        ("compactlab.formats", RUN, GOES_ON),
        ("compactlab.bench", RUN, GOES_ON),
        ("joblib", (*RUN, "b.json", "--workers", "2"), GOES_ON),
        ("compactlab.quality.table", ("quality", "a.json"), "interrupted\n"),
        ("compactlab.formats.openai_chat", ("quality", "a.json"), "interrupted\n"),
        ("compactlab.formats.openai_chat", ("cache", "validate", "a.json"), "interrupted\n"),
        ("compactlab.formats.find", ("sessions", "list", "."), "interrupted\n"),
    ],
)
def test_an_interrupt_while_modules_are_loaded_or_files_are_read_costs_one_line(
        tmp_path: Path, module: str, arguments: tuple[str, ...], said: str) -> None:
    for name in ("a.json", "b.json"):
        write_chat(tmp_path / name, turns=2)
    done = typed(tmp_path, *arguments, before=AT_IMPORT.replace("MODULE", repr(module)))
    assert (done.returncode, done.stdout, done.stderr) == (130, "", said)
    assert not (tmp_path / "r").exists()


def test_an_interrupt_while_workers_start_costs_one_line_and_leaves_no_process(
        tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(AT_START_OF_A_WORKER)
    for name in ("a.json", "b.json"):
        write_chat(tmp_path / name, turns=2)
    command = (*RUN, "b.json", "--workers", "2")
    done = typed(tmp_path, *command, path=str(tmp_path / "site"))
    assert (done.returncode, done.stdout, done.stderr) == (130, "", GOES_ON)
    again = typed(tmp_path, *command)
    assert (again.returncode, again.stderr) in ((0, ""), (0, "going on: 1 of 2 sessions are done "
                                                             "already\n"))


def test_an_interrupt_that_python_would_lose_in_a_callback_counts(tmp_path: Path) -> None:
    before = """
import weakref, time
import compactlab.cli.app as app

class Thing: pass

def callback(_): raise KeyboardInterrupt

def work(_):
    thing = Thing()
    kept = weakref.ref(thing, callback)
    del thing
    time.sleep(10)

app.work = work
"""
    done = typed(tmp_path, *RUN, before=before)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", GOES_ON)


def test_an_interrupt_after_the_work_is_let_pass_and_a_second_one_is_not(tmp_path: Path) -> None:
    interrupt = "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n"
    once = typed(tmp_path, "--version", after=interrupt)
    assert (once.returncode, once.stderr) == (0, "")
    twice = typed(tmp_path, "--version", after=interrupt * 2)
    assert (twice.returncode, twice.stderr) == (-signal.SIGINT, "")
