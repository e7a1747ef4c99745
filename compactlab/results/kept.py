"""From the long table of quality to a figure a replay: what the agent needed later and had."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compactlab.columns import DTYPES, KEPT, KEY

if TYPE_CHECKING:
    import pandas as pd

NAMES = [column.name for column in KEY]


def with_kept(runs: pd.DataFrame, quality: pd.DataFrame | None) -> pd.DataFrame:
    """The runs with the columns `columns.KEPT`; as they are where there is no such table."""
    if quality is None:
        return runs
    found = runs.merge(kept(quality), how="left", on=NAMES)
    return found.astype({column.name: DTYPES[column.type] for column in KEPT})


def kept(quality: pd.DataFrame) -> pd.DataFrame:
    """One row a replay that has a headline cut: its key, and the columns `columns.KEPT`."""
    import pandas as pd

    rows = quality[(quality["view"] == "cut") & quality["headline"]].dropna(subset=["value"])
    parts = {}
    for metric in ("frr", "bound_frr"):
        group = rows[rows["metric"] == metric].groupby(NAMES, sort=False, dropna=False)["value"]
        parts[metric] = group.mean()
        parts.setdefault("cuts", group.size())
    found = pd.DataFrame({column.name: parts[column.name] for column in KEPT}, dtype="Float64")
    found.index = found.index.set_names(NAMES)
    return found.reset_index()
