"""Switches: how a fault of a described system is mended, and those that several systems share."""

from __future__ import annotations

from typing import Any

from compactlab.setting import setting

FIX = "a fault of the described system, mended here; see the table of switches"


def switch(help: str, default: Any = False, *, fixed: Any = True, **how: Any) -> Any:
    """A setting that keeps the described fault by default, and mends it at its fixed value."""
    return setting(default, help, group="fix", fixed=fixed, source=FIX, **how)


def mask_secrets() -> Any:
    """For members that ask a summariser."""
    return switch("secrets in summaries are masked")


def refuse_growth() -> Any:
    """For members that summarise."""
    return switch("a compaction that would grow the history is not made")


def strike_limit() -> Any:
    """For members that rest where they do not help; see `Situation.struck_out`."""
    return switch("ineffective passes in a row after which it rests; 0 = never", 0, fixed=2,
                  unit="passes", low=0)
