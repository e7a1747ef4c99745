"""The bytes of a recorded file, plain or gzipped."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from pathlib import Path

from compactlab.errors import BadSession

GZIP_MAGIC = b"\x1f\x8b"
CHUNK = 1 << 20
GZIP_WINDOW = 31  # zlib's way of asking for a gzip header


def read_bytes(path: Path) -> bytes:
    """The content of a file, un-gzipped where it is gzipped (known by its first bytes).

    BadSession where there is no such file, it cannot be read, or its gzip is broken.
    """
    data = _read(path)
    try:
        return gzip.decompress(data) if data[:2] == GZIP_MAGIC else data
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise BadSession(f"{path}: the gzip file is cut off or broken ({error})") from error


def read_head(path: Path, size: int) -> bytes:
    """At most the first `size` bytes of a file, un-gzipped; BadSession as in `read_bytes`."""
    head = _read(path, size)
    if head[:2] != GZIP_MAGIC:
        return head
    try:
        return zlib.decompressobj(GZIP_WINDOW).decompress(head, size)
    except zlib.error as error:
        raise BadSession(f"{path}: the gzip file is broken ({error})") from error


def _read(path: Path, size: int = -1) -> bytes:
    if not path.is_file():
        raise BadSession(f"{path}: {'is no file' if path.exists() else 'there is no such file'}")
    try:
        with path.open("rb") as file:
            return file.read(size)
    except OSError as error:
        raise BadSession(f"{path}: cannot be read ({error.strerror})") from error


def stem(path: Path) -> str:
    """The file's name without `.gz` and without its last suffix."""
    name = path.name.removesuffix(".gz")
    return Path(name).stem or name


def data_hash(path: Path) -> str:
    """sha256 of a file's bytes. Raises OSError."""
    found = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            found.update(chunk)
    return found.hexdigest()
