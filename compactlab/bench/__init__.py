"""Sessions x strategies x settings x windows, replayed into tables; a bad session costs its rows.

One task is one session with all its strategies and settings: its messages are counted once, and
columns come back from a worker process, not objects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compactlab.bench.plan import REPLAY_OPTIONS, Plan, plan
from compactlab.bench.work import run, size
from compactlab.formats import load
from compactlab.results.kept import with_kept
from compactlab.results.tables import to_pandas
from compactlab.session import Session
from compactlab.summarise import DEFAULT_SUMMARISER
from compactlab.tokens import AUTO

if TYPE_CHECKING:
    from pandas import DataFrame

    from compactlab.strategies.presets import StrategyLike
    from compactlab.strategy import Summariser

__all__ = ["REPLAY_OPTIONS", "Plan", "bench", "plan", "run", "size"]


def bench(
    sessions: Session | Path | str | Iterable[Session | Path | str],
    strategies: StrategyLike | Sequence[StrategyLike],
    windows: int | Sequence[int | None] | None,
    *,
    summariser: str | Summariser = DEFAULT_SUMMARISER,
    tokenizer: str = AUTO,
    quality: bool = False,
    workers: int = 1,
    progress: bool | None = None,
    **settings: Any,
) -> DataFrame:
    """Replay every session under every strategy, setting and window: the table `runs`.

    Sessions are values or files; `windows` are tokens, None = no window. Rows come session by
    session in the order given, then by strategy, then by window, whatever the number of
    `workers` (processes). With `quality` each row also says what was kept of what the agent needed
    later: `columns.KEPT` (`run(sessions, plan(…, quality=True)).quality` has every metric).
    `progress` None draws a bar in a terminal, True in a notebook too. See
    `plan` for strategies and settings. Raises UnknownName, BadSetting, BadSession, and BadRun
    where a worker is ended from outside.
    """
    planned = plan(strategies, windows, summariser=summariser, tokenizer=tokenizer,
                   quality=quality, **settings)
    loaded = _loaded(sessions)
    with _bar(len(loaded), progress) as step:
        done = run(loaded, planned, workers=workers, on_done=lambda *_: step())
    return with_kept(to_pandas(done.runs),
                     None if done.quality is None else to_pandas(done.quality))


def _loaded(sessions: Session | Path | str | Iterable[Session | Path | str]) -> list[Session]:
    if isinstance(sessions, Session | Path | str):
        sessions = [sessions]
    found: list[Session] = []
    for item in sessions:
        found.extend([item] if isinstance(item, Session) else load(item))
    return found


@contextmanager
def _bar(total: int, progress: bool | None) -> Iterator[Callable[[], object]]:
    """A bar over sessions on the error stream, and what moves it on by one.

    It is off outside a terminal unless asked for: an executed notebook must not keep its pieces.
    """
    from tqdm.auto import tqdm

    disable = None if progress is None else not progress
    with tqdm(total=total, unit="session", disable=disable) as made:
        yield made.update
