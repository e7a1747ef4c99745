"""The table that a run ends with: strategies compared by format, head and window."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compactlab.results.kept import with_kept
from compactlab.results.shares import pooled_effective, pooled_hits, whole

if TYPE_CHECKING:
    import pandas as pd

GROUPS = ("format", "head_kind", "window", "strategy", "settings", "summariser", "tokenizer")
COLUMNS = (
    *GROUPS,
    "sessions",
    "compared",
    "left_out",
    "token_reduction",
    "effective_rate",
    "hit_rate",
    "cost",
    "cost_raw",
    "cost_saving",
    "stops",
    "hard_stops",
    "impossible",
    "errors",
)
FIGURES = ("token_reduction", "effective_rate", "hit_rate", "cost", "cost_raw", "cost_saving",
           "frr", "bound_frr")
KEPT = ("frr", "bound_frr", "frr_sessions")  # behind the others, where quality was measured


def overview(runs: pd.DataFrame, quality: pd.DataFrame | None = None) -> pd.DataFrame:
    """One row for each group of `runs` (the columns GROUPS), in the order of first appearance.

    `token_reduction` is the mean over the `compared` sessions, those that were served whole;
    `left_out` counts the others that ran. `effective_rate` is pooled: all effective compactions
    of the group / (all compactions + no-ops). Of the simulated prompt cache, over the compared
    sessions: `hit_rate` pooled, `cost` and `cost_raw` summed, `cost_saving` the mean. With
    the table `quality` also `frr` and `bound_frr`: means over the headline cuts of a session, then
    over the compared sessions; `frr_sessions` of these have one. Hidden heads of different kinds
    are never pooled.
    """
    import pandas as pd

    runs = with_kept(runs, quality)
    rows = []
    for key, group in runs.groupby(list(GROUPS), sort=False, dropna=False):
        ran = group[group["status"] == "ok"]
        compared = ran[whole(ran)]
        rows.append((
            *key,
            len(group),
            len(compared),
            len(ran) - len(compared),
            compared["token_reduction"].mean(),
            pooled_effective(ran),
            *_money(compared),
            int(ran["stops"].sum()),
            int(ran["hard_stops"].sum()),
            int((group["status"] == "impossible").sum()),
            int((group["status"] == "error").sum()),
            *(() if quality is None else _kept(compared)),
        ))
    columns = [*COLUMNS, *(() if quality is None else KEPT)]
    figures = [name for name in FIGURES if name in columns]
    return pd.DataFrame(rows, columns=columns).astype(dict.fromkeys(figures, "Float64"))


def _kept(runs: pd.DataFrame) -> tuple[Any, Any, int]:
    return runs["frr"].mean(), runs["bound_frr"].mean(), int(runs["frr"].notna().sum())


def _money(runs: pd.DataFrame) -> tuple[float | None, float | None, float | None, float | None]:
    """(hit rate, cost, raw cost, saving) of the sessions served whole: sums, and mean saving."""
    priced = runs[runs["cost"].notna() & runs["cost_raw"].notna()]
    if not len(priced):
        return None, None, None, None
    saving = priced["cost_saving"].dropna().astype(float).tolist()
    return (pooled_hits(priced), float(priced["cost"].sum()), float(priced["cost_raw"].sum()), sum(saving) / len(saving) if saving else None)
