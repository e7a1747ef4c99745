"""Who is ahead of whom, as a small table: paired by session, with intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compactlab.quality.pairs import METRICS, in_words, pairs
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

    found = pairs(rows)
    found = found[found["budget"].isna() | (found["budget"] == budget)]
    lines: dict[tuple[str, ...], dict[str, str]] = {}
    for row in found.to_dict("records"):
        own, tokens = pd.isna(row["budget"]), row["window"]
        window = window_name(0 if pd.isna(tokens) else int(tokens))
        at = (str(row["format"]), window if own else NONE,
              "own" if own else percent(float(row["budget"])),
              f"{row['first']} - {row['second']}")
        cells = {str(name): value for name, value in row.items()}
        lines.setdefault(at, {})[str(row["metric"])] = in_words(cells)
    table = pd.DataFrame([[*at, *(line.get(m, NONE) for m in METRICS)]
                          for at, line in lines.items()],
                         columns=["format", "window", "budget", "pair", *METRICS])
    return table.set_index(["format", "window", "budget", "pair"])
