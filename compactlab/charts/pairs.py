"""Who is ahead of whom, as a small table: paired by session, with intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compactlab.quality.pairs import METRICS, lines, pairs
from compactlab.words import NONE, percent, window_name

if TYPE_CHECKING:
    import pandas as pd


def pairs_table(rows: pd.DataFrame, budget: float) -> pd.DataFrame:
    """A line a pair at the same cuts: strategies at their own size, the others at this budget.

    `rows` are the long table of `quality.table`. Mean difference over sessions, its 95 % interval
    (paired bootstrap), Holm-corrected Wilcoxon p from 8 sessions on; "not separable" when the
    interval holds 0.
    """
    import pandas as pd

    found = [(line.format,
              window_name(line.window or 0) if line.budget is None else NONE,
              "own" if line.budget is None else percent(line.budget), line.pair,
              *(line.said.get(metric, NONE) for metric in METRICS))
             for line in lines(pairs(rows), budget)]
    table = pd.DataFrame(found, columns=["format", "window", "budget", "pair", *METRICS])
    return table.set_index(["format", "window", "budget", "pair"])
