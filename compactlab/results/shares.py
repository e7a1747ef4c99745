"""Several runs together: which of them were served whole, and what is pooled over all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

CLASSES = ("cache_read", "cache_write_5m", "cache_write_1h", "uncached")  # of a prompt's tokens


def whole(runs: pd.DataFrame) -> pd.Series[bool]:
    """Which rows of the table `runs` had every request served."""
    share = runs["served_share"].astype("Float64").fillna(0)
    return ((runs["status"] == "ok") & (share >= 1)).astype(bool)


def pooled_effective(runs: pd.DataFrame) -> float | None:
    """All effective compactions / (all compactions + no-ops); None where nothing was tried."""
    tried = runs["compactions"] + runs["noops"]
    total = tried.sum()
    effective = (runs["effective_rate"].astype("Float64").fillna(0) * tried).sum()
    return float(effective / total) if total else None


def pooled_hits(table: pd.DataFrame) -> float | None:
    """Prompt tokens read from the cache / all prompt tokens, of `runs` or `requests`."""
    prompt = sum(float(table[name].sum()) for name in CLASSES)
    return float(table["cache_read"].sum()) / prompt if prompt else None
