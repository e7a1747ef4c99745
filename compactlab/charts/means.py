"""Means of token reduction over sessions, with bootstrap intervals: what the charts draw."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compactlab.charts import paper
from compactlab.results.shares import whole
from compactlab.statistics import estimate

if TYPE_CHECKING:
    import pandas as pd


def means(runs: pd.DataFrame, *by: str) -> pd.DataFrame:
    """Mean token reduction of each group `by` (columns of `runs`, window and `label` among them).

    A run counts when its status is ok and every request was served (`n`, `mean`, `low`, `high`);
    runs served in part are apart (`n_partial`, `mean_partial`), the rest is `n_failed`. `low` and
    `high` bound the 95 % bootstrap interval over sessions; missing where n < 2.
    """
    import pandas as pd

    rows = []
    for key, group in runs.groupby(list(by), sort=False):
        ran = group[(group["status"] == "ok") & group["token_reduction"].notna()]
        values, served = paper.numbers(ran["token_reduction"]), whole(ran).to_numpy()
        mean, part = estimate(values[served].tolist()), values[~served]
        rows.append((*key, mean.sessions, *mean[:3], len(part),
                     float(part.mean()) if len(part) else float("nan"), len(group) - len(ran)))
    columns = [*by, "n", "mean", "low", "high", "n_partial", "mean_partial", "n_failed"]
    return pd.DataFrame(rows, columns=columns)
