"""One process at a time in a folder: a lock that ends with the process that holds it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO

MOST_TRIES = 100  # each one lost to a process that ended and took the folder away just then


def take(path: Path) -> IO[str] | None:
    """Lock the file `path`, made with its folder if need be; None where another process has it.

    The lock lasts until the file is closed. Systems without such locks do without. Raises OSError
    where the file cannot be made.
    """
    for _ in range(MOST_TRIES):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            file = path.open("a")
        except FileNotFoundError:
            continue
        if not _locked(file.fileno()):
            file.close()
            return None
        if _is_at(file, path):
            return file
        file.close()
    return None


def _is_at(file: IO[str], path: Path) -> bool:
    """Whether the open file is still the one that stands there."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def _locked(handle: int) -> bool:
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True
