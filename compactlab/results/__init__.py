"""The tables of a run on disk: written whole or not at all, read back as pandas frames."""

from compactlab.results.folder import (
    MANIFEST,
    RunFolder,
    read,
    read_manifest,
    read_quality,
)
from compactlab.results.kept import with_kept
from compactlab.results.manifest import code_hash, determined_by, make_manifest, run_id
from compactlab.results.overview import overview
from compactlab.results.tables import Rows, Tables, frame, join, tables

__all__ = [
    "MANIFEST",
    "Rows",
    "RunFolder",
    "Tables",
    "code_hash",
    "determined_by",
    "frame",
    "join",
    "make_manifest",
    "overview",
    "read",
    "read_manifest",
    "read_quality",
    "run_id",
    "tables",
    "with_kept",
]
