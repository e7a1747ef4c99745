"""One run's folder: finished sessions kept while it runs, everything written at once at the end."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compactlab.columns import TABLES, WHEN_ASKED
from compactlab.errors import BadRun, UnknownName
from compactlab.files import passing, write_bytes
from compactlab.results.lock import take
from compactlab.results.tables import Tables, to_pandas

if TYPE_CHECKING:
    import pandas as pd

MANIFEST = "manifest.json"
REPORT = "report.html"
RUN_FILE = "run.json"
LOCK_FILE = "lock"


@dataclass(frozen=True)
class RunFolder:
    """The folder of the run `run`; beside it `<folder>.partial` while the run is not finished.

    `quality`: whether that table was asked for. Every method raises BadRun, in one sentence, where
    the disk does not let it.
    """

    folder: Path
    run: str
    quality: bool = False

    @property
    def partial(self) -> Path:
        """Where the rows of finished sessions lie until all are finished."""
        named = self.folder if self.folder.name not in ("", "..") else self.folder.resolve()
        return named.with_name(f"{named.name}.partial")

    def is_finished(self) -> bool:
        """Whether this very run lies in the folder, complete."""
        return _run_in(self.folder / MANIFEST) == self.run

    def check_free(self, replace: bool = False) -> None:
        """Raise BadRun when the folder holds another run, or files that are not ours.

        `replace` takes the place of any run, but of nothing else.
        """
        if not self.folder.is_dir():
            if self.folder.exists():
                raise BadRun(f"{self.folder} is a file, not a folder for results")
            return
        is_a_run = (self.folder / MANIFEST).exists()
        if replace and is_a_run:
            return
        other = _run_in(self.folder / MANIFEST)
        if other not in (None, self.run):
            raise BadRun(f"{self.folder} holds another run ({other}): name another folder with "
                         "--out, or replace it with --force")
        foreign = [p.name for p in self.folder.iterdir() if not _is_ours(p.name, is_a_run)]
        if foreign:
            raise BadRun(f"{self.folder} holds files that are not of a run (such as "
                         f"{min(foreign)}): name another folder with --out")

    @contextmanager
    def working(self, replace: bool = False) -> Iterator[None]:
        """Hold the partial folder for this process; what another run left in it goes.

        A run that another process has finished meanwhile stands, unless `replace`.
        """
        with _sentence(self.partial):
            held = take(self.partial / LOCK_FILE)
        if held is None:
            raise BadRun(self._busy())
        with held:
            self._check_still_free(replace)
            with _sentence(self.partial):
                self._clear_of_others()
            yield

    def _busy(self) -> str:
        other = _run_in(self.partial / RUN_FILE)
        if other == self.run:
            return (f"another process is working on this very run ({other}) in {self.folder}: "
                    "wait until it ends, then the same command shows what it found")
        return (f"another run{f' ({other})' if other else ''} is at work in {self.folder}: wait "
                "until it ends, or name another folder with --out")

    def _check_still_free(self, replace: bool) -> None:
        try:
            self.check_free(replace)
        except BadRun:
            if not (self.partial / RUN_FILE).exists():  # made just now, for the lock
                shutil.rmtree(self.partial, ignore_errors=True)
            raise

    def _clear_of_others(self) -> None:
        if _run_in(self.partial / RUN_FILE) == self.run:
            return
        for path in self.partial.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            elif path.name != LOCK_FILE:
                path.unlink()
        write_bytes(self.partial / RUN_FILE, _json({"run": self.run}).encode())

    def kept(self, key: str) -> Tables | None:
        """The tables of a session that an earlier, interrupted start of this run finished."""
        import pyarrow as pa
        from pyarrow import feather

        names = [name for name in TABLES if self.quality or name not in WHEN_ASKED]
        try:
            return Tables(**{name: feather.read_table(self.partial / key / f"{name}.arrow")
                             for name in names})
        except (OSError, pa.ArrowInvalid):
            return None

    def keep(self, key: str, tables: Tables) -> None:
        """Keep a finished session's tables: all are there, or none."""
        from pyarrow import feather

        with _sentence(self.partial):
            making = Path(tempfile.mkdtemp(dir=self.partial, prefix=f"{key}."))
            for name, table in tables.items():
                feather.write_feather(table, making / f"{name}.arrow", compression="lz4")
            shutil.rmtree(self.partial / key, ignore_errors=True)
            making.rename(self.partial / key)

    def finish(self, tables: Tables, manifest: Mapping[str, Any]) -> None:
        """Write the tables and, last, the manifest; then the partial folder goes.

        New files are complete before the first old one is touched, so a full disk costs nothing.
        """
        writers: list[tuple[str, Callable[[Path], Any]]] = [
            (f"{name}.parquet", _parquet_writer(table)) for name, table in tables.items()
        ]
        speaking = (MANIFEST, REPORT, *(f"{name}.parquet" for name in WHEN_ASKED))
        writers.append((MANIFEST, lambda path: path.write_text(_json(manifest), "utf-8")))
        with _sentence(self.folder), ExitStack() as stack:
            self.folder.mkdir(parents=True, exist_ok=True)
            made = {name: stack.enter_context(passing(self.folder / name)) for name, _ in writers}
            for name, write in writers:
                write(made[name])
            # the manifest last: without it notebooks are not ours to take away
            for old in sorted(self.folder.iterdir(), key=lambda p: p.name == MANIFEST):
                if old.name in speaking or old.suffix == ".ipynb":
                    old.unlink()  # they would speak of rows that are gone
            for name, path in made.items():
                path.replace(self.folder / name)
        shutil.rmtree(self.partial, ignore_errors=True)


def read(folder: Path | str, table: str = "runs", **where: Any) -> pd.DataFrame:
    """One table of a finished run as pandas; `where` keeps rows: `strategy="raw"`, `window=[…]`.

    Types are nullable, missing is NA. Raises BadRun for a folder without a finished
    run or without the table of quality, UnknownName for a table or a column that is not
    documented in `columns.TABLES`.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    read_manifest(folder)
    if table not in TABLES:
        raise UnknownName("table", table, TABLES)
    path = Path(folder) / f"{table}.parquet"
    if table in WHEN_ASKED and not path.exists():
        raise BadRun(f"{folder} has no table of {table}: it was not asked for (run again with "
                     f"--{table})")
    try:
        found = to_pandas(pq.read_table(path))
    except (OSError, pa.ArrowInvalid) as error:
        raise BadRun(f"{path} cannot be read ({error}): run again with --force") from error
    for name, value in where.items():
        if name not in found:
            raise UnknownName("column", name, found.columns)
        several = isinstance(value, Iterable) and not isinstance(value, str)
        found = found[found[name].isin(list(value) if several else [value])]
    return found.reset_index(drop=True)


def read_quality(folder: Path | str) -> pd.DataFrame | None:
    """The table `quality` of a finished run; None where it was not asked for. BadRun as `read`."""
    there = (Path(folder) / "quality.parquet").exists()
    return read(folder, "quality") if there else None


def read_manifest(folder: Path | str) -> dict[str, Any]:
    """The manifest of a finished run; BadRun where there is none."""
    path = Path(folder) / MANIFEST
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise BadRun(f"{folder} holds no finished run: {MANIFEST} is missing or broken") from error
    if not isinstance(found, dict):
        raise BadRun(f"{path} is not the manifest of a run")
    return found


def _run_in(path: Path) -> str | None:
    """The run id that a manifest (or a partial folder's file) names; None without one."""
    try:
        found = json.loads(path.read_text("utf-8"))
        return str(found["run"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _is_ours(name: str, is_a_run: bool) -> bool:
    """A notebook is ours only in the folder of a run: it goes when the run is replaced."""
    ours = (MANIFEST, REPORT, *(f"{table}.parquet" for table in TABLES))
    return name in ours or name.endswith((".png", ".tmp")) or (
        is_a_run and name.endswith(".ipynb"))


def _json(value: Mapping[str, Any]) -> str:
    text = json.dumps(value, indent=1, ensure_ascii=False) + "\n"
    return text.encode("utf-8", "replace").decode()  # a file's name need not be UTF-8


def _parquet_writer(table: Any) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        import pyarrow.parquet as pq

        pq.write_table(table, path, compression="zstd")

    return write


@contextmanager
def _sentence(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise BadRun(f"the results cannot be written to {folder}: "
                     f"{error.strerror or error}") from error
