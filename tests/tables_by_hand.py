"""Small tables in the documented columns, made by hand: what charts and reports are tested with."""

from __future__ import annotations

from typing import Any

import pandas as pd

from compactlab.columns import TABLES

KEY = {
    "session": "s1", "format": "own", "strategy": "escalating", "settings": "", "window": 32_000,
    "summariser": "extractive", "tokenizer": "o200k_base",
}
RUN = KEY | {
    "requests": 4, "turns": 1, "compactions": 1, "noops": 0, "silent": 0, "effective_rate": 1.0,
    "max_level": 0, "stops": 0, "hard_stops": 0, "stop_reason": None, "requests_unserved": 0,
    "served_share": 1.0, "peak_tokens": 30_000, "raw_tokens": 100_000, "tokens": 60_000,
    "token_reduction": 0.4, "head": 2_000, "head_kind": "inferred", "orphaned": 0,
    "time": "recorded", "status": "ok", "reason": None, "invariants_broken": "",
}
REQUEST = KEY | {
    "request": 0, "turn": 0, "raw_tokens": 10_000, "tokens": 10_000, "trigger": None,
    "level": None, "served": True, "after_recorded_compaction": False,
}
COMPACTION = KEY | {
    "request": 1, "turn": 0, "trigger": "overflow", "member": "escalate", "level": 0,
    "before": 30_000, "after": 12_000, "reduction": 0.6, "effective": True, "summary_tokens": 500,
    "messages_before": 20, "messages_after": 9, "tool_results_cleared": 0,
    "tool_results_truncated": 0, "reason": None, "silent": False, "changed": True,
}
QUALITY = KEY | {
    "view": "cut", "request": 1, "compaction": None, "headline": True, "flag": "",
    "metric": "frr", "value": 0.5, "n": 12,
}
NO_OP = {
    "after": 30_000, "reduction": 0.0, "effective": False, "summary_tokens": None,
    "reason": "under_budget", "changed": False,
}


def _table(name: str, default: dict[str, Any], rows: tuple[dict[str, Any], ...]) -> pd.DataFrame:
    columns = [column.name for column in TABLES[name]]
    assert set(default) <= set(columns), "the row made by hand has columns that the table lacks"
    return pd.DataFrame([default | row for row in rows], columns=columns)


def runs(*rows: dict[str, Any]) -> pd.DataFrame:
    """The table `runs`: each row is RUN with what is given changed."""
    return _table("runs", RUN, rows)


def requests(*rows: dict[str, Any]) -> pd.DataFrame:
    """The table `requests`."""
    return _table("requests", REQUEST, rows)


def quality(*rows: dict[str, Any]) -> pd.DataFrame:
    """The table `quality`; missing values are NA, as they are when it is read."""
    return _table("quality", QUALITY, rows).astype({"value": "Float64"})


def compactions(*rows: dict[str, Any]) -> pd.DataFrame:
    """The table `compactions`."""
    return _table("compactions", COMPACTION, rows)
