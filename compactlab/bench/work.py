"""One task of a bench: a session with all its strategies, replayed into tables."""

from __future__ import annotations

import os
import signal
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import product

import msgspec

from compactlab.bench.cache import columns_of
from compactlab.bench.plan import Plan, Variant
from compactlab.columns import KEY, TABLES
from compactlab.counting import texts_of
from compactlab.errors import BadRun, BadSetting, CompactlabError, NoVocabulary
from compactlab.index import Index
from compactlab.quality.replayed import quality_rows
from compactlab.replay import Replay, index, replay
from compactlab.results.tables import Rows, Tables, checked, join, tables
from compactlab.session import Session
from compactlab.summarise import find as find_summariser
from compactlab.tokens import counter

OnDone = Callable[[int, Tables], object]
REASON_LENGTH = 300
_SETTINGS_AT = [column.name for column in KEY].index("settings")


def run(
    sessions: Sequence[Session],
    planned: Plan,
    *,
    workers: int = 1,
    on_done: OnDone | None = None,
    kept: Mapping[int, Tables] | None = None,
) -> Tables:
    """The tables of a bench, that of quality if it is planned.

    `kept` are tables by position that need no work any more.
    `on_done(position, tables)` is called as each session is finished, the largest ones first.
    """
    if workers < 1:
        raise BadSetting(f"workers = {workers}: needs 1 or more")
    named = unique_ids(sessions)
    found = dict(kept or {})
    todo = [at for at in range(len(named)) if at not in found]
    todo.sort(key=lambda at: size(named[at]), reverse=True)
    tasks = [(at, named[at]) for at in todo]
    for at, made in _worked(tasks, planned, min(workers, len(tasks))):
        found[at] = made
        if on_done:
            on_done(at, made)
    return join([found[at] for at in range(len(named))]
                or [tables((), quality=planned.quality)])


def size(session: Session) -> int:
    """Characters of a session's texts: what the work on it grows with."""
    return sum(len(text) for message in session.messages for text in texts_of(message))


def unique_ids(sessions: Sequence[Session]) -> list[Session]:
    """The sessions with `#2`, `#3`, … behind ids that came before: rows are told apart by id."""
    seen: dict[str, int] = {}
    found = []
    for session in sessions:
        seen[session.id] = times = seen.get(session.id, 0) + 1
        other = msgspec.structs.replace(session, id=f"{session.id}#{times}")
        found.append(session if times == 1 else other)
    return found


def work(session: Session, planned: Plan) -> Tables:
    """One task: the tables of one session, with a row of status `error` where a replay fails."""
    store: Index | None = None
    rows = []
    for variant, window in product(planned.variants, planned.windows):
        try:
            store = store if store is not None else index(session, planned.tokenizer)
            done = _replayed(session, variant, window, planned, store)
            rows.append(checked(_rows(done, variant, planned)))
        except NoVocabulary:  # not the session's fault, and the same for all
            raise
        except Exception as error:  # noqa: BLE001  # the one broad catch: a session costs its rows
            rows.append(_failed(session, variant, window, planned, error))
    return tables(rows, quality=planned.quality)


def _replayed(session: Session, variant: Variant, window: int | None, planned: Plan,
              store: Index) -> Replay:
    return replay(session, variant.pipeline, window=window, summariser=planned.summariser,
                  tokenizer=planned.tokenizer, store=store, **planned.options)


def _rows(done: Replay, variant: Variant, planned: Plan) -> Rows:
    row = list(done.run_row)
    row[_SETTINGS_AT] = variant.settings
    more = columns_of(done, planned.cache)
    return Rows(
        [*row, *more.run],
        [(*sent, *paid) for sent, paid in zip(done.sent, more.requests, strict=True)],
        [(*made, *paid) for made, paid in zip(done.compaction_rows, more.compactions, strict=True)],
        quality_rows(done) if planned.quality else ())


def _failed(session: Session, variant: Variant, window: int | None, planned: Plan,
            error: Exception) -> Rows:
    """The row of a replay that failed: who, under what, and why, in one line."""
    text = " ".join(str(error).split())
    if not isinstance(error, CompactlabError):
        text = f"{type(error).__name__}: {text}" if text else type(error).__name__
    known = {
        "session": session.id,
        "format": session.format,
        "strategy": variant.pipeline.name,
        "settings": variant.settings,
        "window": window,
        "summariser": find_summariser(planned.summariser)[0],
        "tokenizer": counter(planned.tokenizer).name,
        "status": "error",
        "reason": text[:REASON_LENGTH],
    }
    return Rows([known.get(column.name) for column in TABLES["runs"]])


def _worked(tasks: Sequence[tuple[int, Session]], planned: Plan,
            workers: int) -> Iterator[tuple[int, Tables]]:
    """(position, tables) of each task, in the order in which they are finished."""
    if workers <= 1:
        yield from ((at, work(session, planned)) for at, session in tasks)
        return
    from joblib import Parallel, delayed
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    pool = Parallel(n_jobs=workers, return_as="generator_unordered", batch_size=1,
                    pre_dispatch=f"{workers} + 1")
    with warnings.catch_warnings():
        # what joblib says of tasks left undone when the user interrupts it
        warnings.filterwarnings("ignore", message=r"\d+ tasks ", category=UserWarning)
        done: Generator[tuple[int, Tables]] | None = None
        try:
            with _interrupts_wait():  # the processes start here
                done = pool(delayed(_at)(at, session, planned) for at, session in tasks)
            yield from done
        except TerminatedWorkerError as error:
            raise BadRun("a worker process was ended from outside, perhaps for want of memory: "
                         "try again with fewer workers") from error
        finally:
            if done is not None:
                done.close()  # ends the processes, if they are still at work


@contextmanager
def _interrupts_wait() -> Iterator[None]:
    """Ctrl-C comes through at the end; processes started meanwhile never see it.

    A terminal sends it to all of them, and one that is still starting would print a traceback.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    from multiprocessing.resource_tracker import ensure_running

    from joblib.externals.loky.backend import resource_tracker as lokys

    with _without_warnings():
        lokys.ensure_running()
    ensure_running()  # starting it later would end the wait
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _without_warnings() -> Iterator[None]:
    """For the process that cleans up behind the workers: what it says of an interrupt is noise."""
    before = os.environ.get("PYTHONWARNINGS")
    os.environ["PYTHONWARNINGS"] = "ignore::UserWarning"
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONWARNINGS"]
        else:
            os.environ["PYTHONWARNINGS"] = before


def _at(at: int, session: Session, planned: Plan) -> tuple[int, Tables]:
    return at, work(session, planned)
