"""Break-even: after how many requests a compaction has paid for itself, formula and simulated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compactlab.charts import paper
from compactlab.charts.caching import cache_caption, simulated
from compactlab.errors import BadTable
from compactlab.words import NONE, dollars, kilo, window_name

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HEIGHT = 4.4  # inches
NEVER = 2.2  # times the largest figure: where points without one stand
TICKS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 100_000)


def paid(compactions: pd.DataFrame) -> pd.DataFrame:
    """The rows of `compactions` that carry a price, with whole key columns.

    Raises BadTable for a table without the columns, as an older run has it.
    """
    if "break_even" not in compactions:
        raise BadTable("these compactions have no price: an older version made them, run it again")
    found = paper.with_key(compactions)
    return found[found["paid_once"].notna()]


def break_even(compactions: pd.DataFrame, runs: pd.DataFrame) -> Figure:
    """A point for all compactions before a request: requests until even, formula and simulated.

    On the line both agree; off it the session had cache misses that the formula does not know.
    At the edges: never by the formula, or not before the next compaction or the session's end.
    """
    found, known = paid(compactions), simulated(runs)
    labels = paper.in_order(found["label"])
    closed, seen = paper.numbers(found["break_even"]), paper.numbers(found["break_even_simulated"])
    right, top = (max([10.0, *v[v == v].tolist()]) for v in (closed, seen))
    with paper.style():
        figure, grid = paper.paper(HEIGHT)
        axes: Axes = grid[0][0]
        for name, (colour, marker) in paper.look_of(labels).items():
            mine = (found["label"] == name).to_numpy(dtype=bool)
            axes.plot(_placed(closed[mine], right), _placed(seen[mine], top), linestyle="none",
                      marker=marker, color=colour, markersize=5, alpha=0.45, label=name)
        if len(found):
            _frame(axes, right, top)
        else:
            paper.blank(axes, "nothing was compacted in a session with a simulated cache")
        told = f"n = {len(found)} requests with compactions before them"
        return paper.finish(figure, "Requests until a compaction has paid for itself",
                            cache_caption(known, told), _legend(labels))


def _placed(values: paper.Floats, most: float) -> paper.Floats:
    import numpy as np

    return np.where(np.isnan(values), most * NEVER, np.maximum(values, 1.0))


def _frame(axes: Axes, right: float, top: float) -> None:
    both = min(right, top)
    axes.plot([1, both], [1, both], color=paper.GREY, linewidth=0.9, label="equal")
    for most, scale, edge, ticks, name in (
            (right, axes.set_xscale, axes.axvline, axes.set_xticks, "never"),
            (top, axes.set_yscale, axes.axhline, axes.set_yticks, "not before\nthe next one")):
        scale("log")
        edge(most * (1 + NEVER) / 2, color=paper.LIGHT, linewidth=0.9, linestyle=":")
        known = [tick for tick in TICKS if tick <= most]
        ticks([*known, most * NEVER], [*map(kilo, known), name])
    axes.minorticks_off()
    axes.set_xlabel("requests, by the formula")
    axes.set_ylabel("requests, as simulated")


def _legend(labels: list[str]) -> list[Any]:
    from matplotlib.lines import Line2D

    looks = paper.look_of(labels)
    return [*(Line2D([], [], color=looks[name][0], marker=looks[name][1], markersize=5,
                     linestyle="none", label=paper.plain(name)) for name in labels),
            Line2D([], [], color=paper.GREY, linewidth=0.9, label="formula and simulation agree")]


def break_even_table(compactions: pd.DataFrame) -> pd.DataFrame:
    """A line a window and strategy: what compactions cost, what they save, when they are even.

    Medians count those that never pay; `paid back` = before the next compaction or the end. USD
    are means.
    """
    import pandas as pd

    found, lines = paid(compactions).sort_values("window", kind="stable"), []
    for (window, label), group in found.groupby(["window", "label"], sort=False):
        seen = paper.numbers(group["break_even_simulated"])
        lines.append({
            "window": window_name(int(str(window))), "strategy": label,
            "compacted": len(group),
            "paid once": dollars(paper.numbers(group["paid_once"]).mean(), 4),
            "saved by each request": dollars(paper.numbers(group["saved_each"]).mean(), 4),
            "even after, by the formula": _median(group["break_even"]),
            "even after, as simulated": _median(group["break_even_simulated"]),
            "paid back": f"{int((seen == seen).sum())} of {len(group)}"})
    return pd.DataFrame(lines).set_index(["window", "strategy"]) if lines else pd.DataFrame()


def _median(column: pd.Series[Any]) -> str:
    """The median with missing values as infinite: `never` where most never pay."""
    import numpy as np

    values = paper.numbers(column)
    middle = float(np.median(np.where(np.isnan(values), np.inf, values))) if len(values) else np.nan
    if middle != middle:
        return NONE
    return "never" if middle == np.inf else f"{middle:,.0f}"
