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
from compactlab.results.tables import Rows, Tables, join, tables, to_pandas

__all__ = [
    "MANIFEST",
    "Rows",
    "RunFolder",
    "Tables",
    "code_hash",
    "determined_by",
    "join",
    "make_manifest",
    "overview",
    "read",
    "read_manifest",
    "read_quality",
    "run_id",
    "tables",
    "to_pandas",
    "with_kept",
]
