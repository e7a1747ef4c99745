"""Paths, folders and globs that a user names, as recorded files read into sessions."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from compactlab.errors import BadSession, NoImporter
from compactlab.formats import load
from compactlab.formats.files import data_hash
from compactlab.session import Session

NO_IMPORTER = "no importer"


@dataclass(frozen=True)
class Read:
    """Sessions in the order of their files, and what there is to say of each file.

    `by_id`: the file of each session id (the first, where it comes again). `files`: name, sha256,
    format and number of sessions of each file read; `not_read`: (path, reason) of each other.
    """

    sessions: tuple[Session, ...]
    by_id: dict[str, Path]
    files: tuple[dict[str, Any], ...]
    not_read: tuple[tuple[Path, str], ...]


def expand(named: Iterable[str]) -> list[Path]:
    """The files behind paths, folders (with all below them) and globs, each once, in order.

    Hidden files and folders inside a named folder are left out. Raises BadSession for a name
    behind which there is nothing.
    """
    found: list[Path] = []
    for name in named:
        path = Path(name).expanduser()
        if path.is_dir():
            files = _below(path)
        elif path.exists():
            files = [path]
        else:
            # Path.glob takes no absolute pattern
            matches = sorted(glob.glob(str(path), recursive=True))  # noqa: PTH207
            files = [f for m in map(Path, matches) for f in (_below(m) if m.is_dir() else [m])]
        if not files:
            raise BadSession(f"{name}: no such file or folder, or nothing in it that "
                             "can be read")
        found.extend(files)
    # `realpath`, since a link to itself is an error for `Path.resolve`.
    return list({os.path.realpath(path): path for path in found}.values())


def _below(folder: Path) -> list[Path]:
    files = (p for p in folder.rglob("*") if p.is_file())
    return sorted(p for p in files
                  if not any(part.startswith(".") for part in p.relative_to(folder).parts))


def read_all(paths: Iterable[Path], step: Callable[[], object] = lambda: None) -> Read:
    """Read every file; one that cannot be read costs itself, and says why."""
    sessions: list[Session] = []
    by_id: dict[str, Path] = {}
    files: list[dict[str, Any]] = []
    not_read: list[tuple[Path, str]] = []
    for path in paths:
        try:
            found = load(path)
            files.append({"name": path.name, "sha256": data_hash(path),
                          "format": found[0].format, "sessions": len(found)})
            sessions.extend(found)
            by_id = {session.id: path for session in found} | by_id
        except NoImporter:
            not_read.append((path, NO_IMPORTER))
        except BadSession as error:
            not_read.append((path, str(error).removeprefix(f"{path}: ")))
        except OSError as error:
            not_read.append((path, error.strerror or type(error).__name__))
        step()
    return Read(tuple(sessions), by_id, tuple(files), tuple(not_read))
