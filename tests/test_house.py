"""The rules of the house: import order, light start, clean files, plain notebooks, small pieces."""

from __future__ import annotations

import ast
import gzip
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "compactlab"

# A room (a module or a package of compactlab) imports only from rooms before itself.
ROOMS = (
    "errors",
    "files",
    "setting",
    "columns",
    "statistics",
    "words",
    "session",
    "counting",
    "fold",
    "history",
    "cursor",
    "log",
    "vocabulary",
    "token_store",
    "tokens",
    "overflow",
    "calibrate",
    "strategy",
    "pieces",
    "strategies",
    "summarise",
    "formats",
    "index",
    "walk",
    "replay",
    "agent",
    "engines",
    "config",
    "caching",
    "pricing",
    "quality",
    "fates",
    "results",
    "record",
    "bench",
    "tune",
    "cluster",
    "charts",
    "widgets",
    "notebook",
    "report",
    "cli",
)
# The two doors: what `import compactlab` offers, and `python -m compactlab`.
DOORS = ("__init__", "__main__")

# Slow to import: only inside the functions that use them.
HEAVY = (
    "pandas",
    "matplotlib",
    "pyarrow",
    "papermill",
    "nbconvert",
    "anthropic",
    "tiktoken",
    "scipy",
)

MAX_FILE_LINES = 300
MAX_FUNCTION_LINES = 60
MAX_CELL_LINES = 15


# --- the order of the rooms ---------------------------------------------------------------------


def room_of(path: Path) -> str:
    """The room of a source file: the first name below the package."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_rooms(source: str, package: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """Line and room of each import from compactlab; lazy and type-only ones count too.

    `package` is the dotted package of the file, against which relative imports are read.
    """
    for node in ast.walk(ast.parse(source)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            base = ".".join([*above, *([node.module] if node.module else [])])
            names = [f"{base}.{alias.name}" for alias in node.names]
        for name in names:
            parts = name.split(".")
            if parts[0] == "compactlab" and parts[1:2] != ["__version__"]:
                yield node.lineno, parts[1] if len(parts) > 1 else ""


def order_faults(room: str, source: str, package: tuple[str, ...]) -> list[str]:
    """What a file of a room imports that does not come before the room."""
    if room not in ROOMS:
        return [f"the room {room!r} has no place in ROOMS"]
    before = ROOMS[: ROOMS.index(room)]
    return [
        f"line {line}: {room} imports {other or 'compactlab itself'}"
        for line, other in sorted(set(imported_rooms(source, package)))
        if other != room and other not in before
    ]


def test_a_room_imports_only_from_rooms_above_itself() -> None:
    faults = []
    for path in sorted(PACKAGE.rglob("*.py")):
        if room_of(path) not in DOORS:
            package = path.relative_to(ROOT).parent.parts
            found = order_faults(room_of(path), path.read_text(encoding="utf-8"), package)
            faults += [f"{path.relative_to(ROOT)}: {fault}" for fault in found]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize(
    "source",
    [
        "from compactlab.cli import main",
        "import compactlab.replay as r",
        "from ..charts import strip",
        "from .. import charts",
        "from compactlab import load",
        "if TYPE_CHECKING:\n    from compactlab.replay import Replay",
        "def f():\n    from compactlab import bench",
    ],
)
def test_the_order_check_sees_an_import_from_below(source: str) -> None:
    assert order_faults("pieces", source, ("compactlab", "pieces"))


def test_the_order_check_lets_rooms_above_and_siblings_pass() -> None:
    source = "from compactlab.session import Message\nfrom . import prune\nfrom .prune import cut"
    assert not order_faults("pieces", source, ("compactlab", "pieces"))


# --- a light start ------------------------------------------------------------------------------


def test_the_command_line_starts_without_heavy_modules() -> None:
    code = "import sys, compactlab, compactlab.cli.app; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert not loaded & set(HEAVY)


# --- what is committed --------------------------------------------------------------------------


@cache
def committed() -> tuple[Path, ...]:
    """Every file that git knows here; links and files taken away are left out."""
    done = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        pytest.skip(f"not a git checkout: {done.stderr.strip()}")
    paths = [ROOT / name for name in done.stdout.split("\0") if name]
    return tuple(path for path in paths if path.is_file() and not path.is_symlink())


def private_words() -> re.Pattern[str]:
    """Machine paths, registry hosts, the folder beside the clone; never whole in this file."""
    no_path_before = r"(?<![\w.)\]}~-])"
    machine = [
        r"/home/" + r"\w",
        r"/Users/" + r"\w",
        r"\b[A-Za-z]:\\+Users\\+\w",
        *(no_path_before + "/" + folder + r"/(?=\w|\.\w)" for folder in ("root", "work")),
    ]
    hosts = [
        "py" + r"pi\.(?:org|python\.org)",
        "python" + r"hosted\.org",
        "registry" + r"\.(?:npm|yarn)",
        "npm" + r"js\.(?:org|com)",
        "deb" + r"\.debian\.org",
        "anaconda" + r"\.(?:org|com)",
        "proxy" + r"\.golang\.org",
    ]
    beside = [r"\.\./" + "shared" + r"\b"]
    return re.compile("|".join([*machine, *hosts, *beside]))


def text_of(path: Path) -> str:
    """The text of a file, unzipped if it is gzipped; bytes that are no text come out as signs."""
    data = path.read_bytes()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    return data.decode("utf-8", "replace")


def test_no_committed_file_names_a_machine_path_a_registry_or_the_workplace() -> None:
    pattern = private_words()
    faults = []
    for path in committed():
        name = path.relative_to(ROOT).as_posix()
        if name == ".ci/run":  # the one file that knows where CI keeps the corpus
            continue
        for number, line in enumerate(text_of(path).splitlines(), 1):
            if found := pattern.search(line):
                faults.append(f"{name}:{number}: {found[0]!r} in ...{line[:120]}")
    assert not faults, "\n".join([*faults, "(a test that needs such a text builds it from pieces)"])


@pytest.mark.parametrize(
    "pieces",
    [
        ("see /ho", "me/alice/x"),
        ("'/Us", "ers/bob'"),
        ("C:\\\\Us", "ers\\\\bob"),
        ("open(/ro", "ot/.cache)"),
        ("in /wo", "rk/main"),
        ("https://py", "pi.org/simple"),
        ("registry", ".npm"),
        ("cd ..", "/shared/corpus"),
    ],
)
def test_the_search_for_private_words_finds_them(pieces: tuple[str, str]) -> None:
    assert private_words().search("".join(pieces))


@pytest.mark.parametrize(
    "pieces",
    [("/project/wo", "rk/x.py"), ("a/ro", "ot/b"), ("/ho", "me/"), ("framework/ro", "ot")],
)
def test_the_search_for_private_words_lets_other_paths_pass(pieces: tuple[str, str]) -> None:
    assert not private_words().search("".join(pieces))


def notebook_faults(notebook: dict[str, object]) -> list[str]:
    """What a notebook holds that a committed one may not."""
    faults = []
    tagged = 0
    cells = notebook["cells"]
    assert isinstance(cells, list)
    for number, cell in enumerate(cells, 1):
        source = "".join(cell["source"])
        tagged += "parameters" in cell.get("metadata", {}).get("tags", [])
        if len(source.splitlines()) > MAX_CELL_LINES:
            faults.append(f"cell {number} is over {MAX_CELL_LINES} lines")
        if cell.get("outputs") or cell.get("execution_count"):
            faults.append(f"cell {number} has outputs")
        if cell["cell_type"] == "code" and re.search(r"^\s*(async\s+)?(def|class)\s", source, re.M):
            faults.append(f"cell {number} defines something")
    if tagged != 1:
        faults.append(f"{tagged} cells are tagged `parameters` instead of one")
    return faults


def test_committed_notebooks_only_load_call_and_show() -> None:
    faults = []
    for path in committed():
        if path.suffix == ".ipynb":
            found = notebook_faults(json.loads(path.read_text(encoding="utf-8")))
            faults += [f"{path.relative_to(ROOT)}: {fault}" for fault in found]
    assert not faults, "\n".join(faults)


def test_the_notebook_check_finds_each_fault() -> None:
    cell = {"cell_type": "code", "metadata": {}, "outputs": [{}], "source": ["def f():\n"] * 16}
    assert len(notebook_faults({"cells": [cell]})) == 4


# --- small pieces -------------------------------------------------------------------------------


def size_faults(source: str) -> list[str]:
    """A file or a function that is too long, and a module that does not say what it is for."""
    tree = ast.parse(source)
    faults = []
    lines = len(source.splitlines())
    if lines > MAX_FILE_LINES:
        faults.append(f"{lines} lines (at most {MAX_FILE_LINES})")
    if not ast.get_docstring(tree):
        faults.append("no sentence at the top that says what the module is for")
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno:
            lines = node.end_lineno - node.lineno + 1
            if lines > MAX_FUNCTION_LINES:
                faults.append(f"{node.name} has {lines} lines (at most {MAX_FUNCTION_LINES})")
    return faults


def test_files_and_functions_are_small_and_modules_say_what_they_are_for() -> None:
    faults = []
    for path in sorted(PACKAGE.rglob("*.py")):
        found = size_faults(path.read_text(encoding="utf-8"))
        faults += [f"{path.relative_to(ROOT)}: {fault}" for fault in found]
    assert not faults, "\n".join(faults)


def test_the_size_check_finds_each_fault() -> None:
    assert len(size_faults("def long():\n" + "    pass\n" * 300)) == 3
