"""The tables of a comparison for a notebook: of a finished run, or of sessions replayed at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from compactlab.errors import BadSession

if TYPE_CHECKING:
    import pandas as pd

    from compactlab.formats.named import Read
    from compactlab.session import Session


SHOWN_IDS = 10


@dataclass(frozen=True)
class Gathered:
    """The tables (see `columns.TABLES`), and (file name, reason) of each file not read.

    `quality` is there where a run measured it.
    """

    runs: pd.DataFrame
    requests: pd.DataFrame
    compactions: pd.DataFrame
    not_read: tuple[tuple[str, str], ...] = ()
    quality: pd.DataFrame | None = None

    @property
    def longest(self) -> Gathered:
        """The rows of the one session with the most requests."""
        counts = self.runs.groupby("session", sort=False)["requests"].max()
        return self.only(str(counts.fillna(0).idxmax()))

    def only(self, session: str) -> Gathered:
        """The rows of one session."""
        runs, requests, compactions = (
            table[table["session"] == session]
            for table in (self.runs, self.requests, self.compactions))
        return Gathered(runs, requests, compactions)


def gather(
    results: Path | str | None,
    sessions: Sequence[Path | str],
    strategies: Sequence[str],
    windows: Sequence[int],
    *,
    summariser: str = "extractive",
    tokenizer: str = "auto",
) -> Gathered:
    """The tables of the run in the folder `results`; without one, the sessions are replayed.

    `sessions` are files, folders (with all below them) and globs; windows are tokens. A file that
    cannot be read is named in `not_read`. Raises BadRun for a folder without a finished run,
    BadSession when there is no session, UnknownName and BadSetting with the valid choices.
    """
    if results is not None:
        from compactlab.results import read, read_quality

        return Gathered(read(results, "runs"), read(results, "requests"),
                        read(results, "compactions"), quality=read_quality(results))
    from compactlab.bench import plan, run
    from compactlab.results.tables import to_pandas

    planned = plan(list(strategies), list(windows), summariser=summariser, tokenizer=tokenizer)
    found = _read(sessions)
    if not found.sessions:
        raise BadSession(f"no session in {', '.join(map(str, sessions)) or 'an empty list'}")
    made = run(found.sessions, planned)
    return Gathered(to_pandas(made.runs), to_pandas(made.requests), to_pandas(made.compactions),
                    tuple((path.name, why) for path, why in found.not_read))


def one_session(path: Path | str, session_id: str = "") -> Session:
    """The session `session_id` of a file (a glob will do), or its first; BadSession for another."""
    read = _read([path])
    found = [session for session in read.sessions if session_id in ("", session.id)]
    if not found:
        what = f"no session {session_id!r}" if session_id else "no session"
        why = "; ".join(f"{file.name}: {reason}" for file, reason in read.not_read)
        ids = ", ".join(session.id for session in read.sessions[:SHOWN_IDS])
        raise BadSession(f"{path}: {what}; " + (why or f"its sessions are {ids}"))
    return found[0]


def longest_sessions(named: Sequence[Path | str], most: int) -> tuple[Session, ...]:
    """The `most` sessions with the most requests, of files, folders and globs.

    Sessions that are derived from texts, and those without a request, are left out. Nothing named
    gives none; BadSession where what is named holds none.
    """
    if not named:
        return ()
    from compactlab.bench.work import unique_ids

    fit = [session for session in unique_ids(_read(named).sessions)
           if session.requests and not session.derived]
    if not fit:
        raise BadSession(f"no session with requests in {', '.join(map(str, named))}")
    return tuple(sorted(fit, key=lambda session: -len(session.requests))[:most])


def _read(named: Iterable[Path | str]) -> Read:
    from compactlab.formats.named import expand, read_all

    return read_all(expand(map(str, named)))
