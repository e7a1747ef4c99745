"""What determined a run: its id, and the manifest that says so beside the tables."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Mapping
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from compactlab import __version__, tokens, vocabulary
from compactlab.columns import TABLES, WHEN_ASKED, Column
from compactlab.quality.profile import explained
from compactlab.session import compact_json

ID_LENGTH = 12
PACKAGES = ("pandas", "pyarrow", "tiktoken")
CODE_SUFFIXES = frozenset({".py", ".txt", ".md"})  # the prompts are text files


def run_id(determines: Mapping[str, Any]) -> str:
    """The first 12 hex digits of the hash of what determines a result (key order is no matter)."""
    ordered = compact_json(_sorted(determines))
    return hashlib.sha256(ordered.encode()).hexdigest()[:ID_LENGTH]


def _sorted(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _sorted(value[key]) for key in sorted(value)}
    if isinstance(value, list | tuple):
        return [_sorted(item) for item in value]
    return value


@cache
def code_hash() -> str:
    """sha256 over every source and prompt file of the package, in the order of their paths."""
    package = Path(__file__).parent.parent
    found = hashlib.sha256()
    for path in sorted(package.rglob("*")):
        if path.suffix in CODE_SUFFIXES and path.is_file():
            found.update(f"{path.relative_to(package).as_posix()}\0".encode())
            found.update(hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()


def tokenizer_hash(name: str) -> str:
    """What stands for the tokenizer `name` (a counter's own name) in the run id.

    sha256 of the vocabulary where it is known, of the counts of the hard texts otherwise.
    """
    known = vocabulary.OFFLINE.get(name)
    if known:
        return known.sha256
    counts = tokens.counter(name).texts(tokens.HARD_TEXTS)
    return hashlib.sha256(repr((name, counts)).encode()).hexdigest()


def versions() -> dict[str, str]:
    """Versions of compactlab, Python and the packages that a result passes through."""
    found = {"compactlab": __version__, "python": platform.python_version()}
    return found | {name: metadata.version(name) for name in PACKAGES}


def determined_by(
    settings: Mapping[str, Any], files: list[dict[str, Any]], tokenizer: str
) -> dict[str, Any]:
    """What the run id is the hash of.

    `settings`: strategies with all their settings, windows, summariser, seed, …; `files`: name
    (without folder), sha256 and number of sessions of each file read, in order; `tokenizer`: a
    counter's own name.
    """
    counter = {"name": tokenizer, "sha256": tokenizer_hash(tokenizer)}
    return {
        "settings": dict(settings),
        "files": files,
        "tokenizer": counter | {"tiktoken": metadata.version("tiktoken")},
        "code": code_hash(),
    }


def make_manifest(
    determines: Mapping[str, Any],
    not_read: list[dict[str, str]] | None = None,
    rows: Mapping[str, int] | None = None,
) -> dict[str, Any]:
    """The manifest of a run; its `run` is the id, its `columns` explain the tables.

    `not_read`: name and reason of each file that was not read; `rows` of each table. A table that
    is written only when asked for is explained when it has rows here, its `metrics` too. It holds
    no time and no path of the machine: the same run gives the same manifest.
    """
    asked = [table for table in WHEN_ASKED if table in (rows or {})]
    docs = {table: [_documented(c) for c in columns] for table, columns in TABLES.items()
            if table in asked or table not in WHEN_ASKED}
    return {
        "run": run_id(determines),
        **determines,
        "not_read": not_read or [],
        "versions": versions(),
        "rows": dict(rows or {}),
        "columns": docs,
        **({"metrics": explained()} if asked else {}),
    }


def _documented(column: Column) -> dict[str, str]:
    return {"name": column.name, "type": column.type, "unit": column.unit, "help": column.help}
