"""How far off the calibrated counter is, over a whole folder of sessions, by format."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import Any

from compactlab.cli.text import say, say_json, show_table
from compactlab.errors import CompactlabError
from compactlab.words import percent


def show_counters(folder: Path, as_json: bool) -> None:
    """One line a format: sessions, requests, median and largest error of the prompt totals."""
    from compactlab.formats.named import expand

    found: dict[str, list[tuple[float, int]]] = {}
    other = unread = 0
    for path in expand([str(folder)]):
        errors, rest, fine = _errors(path)
        unread += not fine
        other += rest
        for name, error, n in errors:
            found.setdefault(name, []).append((error, n))
    rows = [_row(name, values) for name, values in sorted(found.items())]
    if as_json:
        say_json({"formats": rows, "without_usage": other, "not_read": unread})
        return
    names = list(rows[0]) if rows else []
    show_table([n.replace("_", " ") for n in names], [[_cell(row[n]) for n in names]
                                                      for row in rows], whole=["format"])
    say(f"{other} sessions without enough usage to calibrate on, {unread} files not read. The "
        "error is the mean absolute error of the prompt totals; the first request, and the first "
        "behind each recorded compaction, are anchors and left out.")


def _errors(path: Path) -> tuple[list[tuple[str, float, int]], int, bool]:
    """(format, error, n) of a file's calibrated sessions, how many are not, whether it was read."""
    from compactlab.formats import load
    from compactlab.index import index

    try:
        indexes = [index(session) for session in load(path)]
    except CompactlabError:
        return [], 0, False
    fitted = [(i.session.format, i.calibration.error, i.calibration.n) for i in indexes
              if i.calibration is not None]
    return fitted, len(indexes) - len(fitted), True


def _row(name: str, values: list[tuple[float, int]]) -> dict[str, Any]:
    errors = [error for error, _ in values]
    return {"format": name, "sessions": len(values), "requests": sum(n for _, n in values),
            "median_error": median(errors), "largest_error": max(errors)}


def _cell(value: Any) -> str:
    return percent(value, 2) if isinstance(value, float) else str(value)
