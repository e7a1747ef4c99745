"""A session of a file that a user names, and files that commands write."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from compactlab.errors import BadFile, BadSession

if TYPE_CHECKING:
    from compactlab.session import Session


def check_new(path: Path, force: bool) -> None:
    """BadFile where the file is there already, unless it may be replaced."""
    if path.exists() and not force:
        raise BadFile(f"{path} is there already: name another file with --out, or use --force")


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """BadFile where the file cannot be written."""
    try:
        yield
    except OSError as error:
        raise BadFile(f"{path} cannot be written: {error.strerror or error}") from error


def one(path: Path, which: str = "") -> Session:
    """One session of a file: the only one, or the one with the id (or number from 1) `which`.

    BadSession names the ids of a file with several sessions.
    """
    from compactlab.formats import load

    found = load(path)
    if not which and len(found) == 1:
        return found[0]
    by_name = {session.id: session for session in found}
    by_name |= {str(n): session for n, session in enumerate(found, 1)}
    if which in by_name:
        return by_name[which]
    ids = ", ".join(session.id for session in found[:10])
    more = f" and {len(found) - 10} more" if len(found) > 10 else ""
    asked = f"no session {which!r}" if which else "several sessions: choose one with --session"
    raise BadSession(f"{path}: {asked}; its sessions are {ids}{more}")
