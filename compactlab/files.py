"""Files written whole or not at all: what was there before stays until all is written."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

READABLE_BY_ALL = 0o644


@contextmanager
def passing(target: Path) -> Iterator[Path]:
    """A new file beside `target` to be written and renamed; what was not renamed is removed."""
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp")
    os.close(handle)
    made = Path(name)
    try:
        made.chmod(READABLE_BY_ALL)  # mkstemp's 0600 would shut others out
        yield made
    finally:
        made.unlink(missing_ok=True)


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file whole or not at all; a device or a pipe is written to as it is.

    Raises OSError.
    """
    target = path.resolve()  # a link stays one
    if target.exists() and not target.is_file():
        target.write_bytes(data)
        return
    with passing(target) as made:
        made.write_bytes(data)
        made.replace(target)
