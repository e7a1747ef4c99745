"""Token reduction by strategy and window, over all sessions or format by format."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import TYPE_CHECKING, Any

from compactlab.charts import paper
from compactlab.charts.means import means
from compactlab.words import HEAD_NAMES, plural, window_name

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMNS = ((3, 16), (2, 27))  # panels in a row, as long as each has no more points than that
PANEL_HEIGHT, FRAME_HEIGHT = 2.3, 1.2  # inches
SPREAD = 0.72  # of the room of a window that its strategies share
ASIDE = 0.22  # of a strategy's room: the hollow mark stands left of the filled one


def reduction(runs: pd.DataFrame, *, by_format: bool = False) -> Figure:
    """Mean token reduction (table `runs`): a panel a kind of head, or a format and kind of head.

    Filled: mean over the sessions served whole, with its 95 % bootstrap interval, and their
    number where it is not the panel's n. Hollow, in brackets: sessions of which requests were
    refused; they are in no mean. Hidden heads of different kinds are never pooled. `raw`, which
    reduces nothing, is drawn only when alone.
    """
    runs = paper.with_key(runs)
    everything, runs = runs, runs[runs["status"] == "ok"]
    if (runs["strategy"] != paper.RAW).any():
        runs = runs[runs["strategy"] != paper.RAW]
    facets = ["format", "head_kind"] if by_format else ["head_kind"]
    panels = [(key, group) for key, group in runs.groupby(facets, sort=True)]
    labels = paper.in_order(runs["label"])
    points = len(labels) * runs["window"].nunique()
    most = next((count for count, room in COLUMNS if points <= room), 1)
    columns = min(most, len(panels)) or 1
    lines = ceil(len(panels) / columns) or 1
    with paper.style():
        figure, grid = paper.paper(FRAME_HEIGHT + PANEL_HEIGHT * lines, lines, columns, sharey=True)
        flat = list(grid.flat)
        for axes, (key, group) in zip(flat, panels, strict=False):
            _panel(axes, group, labels)
            axes.set_title(_title(key, group["session"].nunique(), by_format))
        for axes in flat[max(len(panels), 1):]:
            axes.set_axis_off()
        for line in grid:
            line[0].set_ylabel("token reduction")
        if not panels:
            paper.blank(flat[0], "no run to show")
        paper.share_axis(flat[0].yaxis)
        title = "Token reduction by strategy and window" + (", by format" if by_format else "")
        caption = paper.caption(everything, _left_out(everything))
        return paper.finish(figure, title, caption, _legend(labels))


def _title(key: tuple[Any, ...], sessions: int, by_format: bool) -> str:
    head = HEAD_NAMES.get(str(key[-1]), str(key[-1]))
    name = f"{paper.plain(key[0])}\n{head}" if by_format else head
    return f"{name} · n = {sessions}"


def _left_out(table: pd.DataFrame) -> str:
    failed = int((table["status"] != "ok").sum())
    return f"{plural(failed, 'run')} impossible or failed, not drawn" if failed else ""


def _panel(axes: Axes, runs: pd.DataFrame, labels: list[str]) -> None:
    looks = paper.look_of(labels)
    windows, sessions = sorted(set(runs["window"])), runs["session"].nunique()
    found = means(runs, "window", "label")
    axes.axhline(0, color=paper.GREY, linewidth=0.8)
    axes.grid(axis="y")
    for row in found.to_dict("records"):
        step = SPREAD / max(len(labels), 1)
        place = windows.index(row["window"]) + (labels.index(row["label"]) + 0.5) * step
        _point(axes, place - SPREAD / 2, ASIDE * step, row, looks[row["label"]], sessions)
    axes.set_xticks(range(len(windows)), [window_name(w) for w in windows])
    axes.set_xlim(-0.5, len(windows) - 0.5)
    axes.set_xlabel("window")
    axes.margins(y=0.12)


def _point(axes: Axes, place: float, aside: float, row: Mapping[Any, Any],
           look: tuple[str, str], sessions: int) -> None:
    """The mean of one group with its interval; left of it those that were refused in part."""
    colour, marker = look
    if row["n"]:
        right = place + aside
        known = row["low"] == row["low"]
        if known:
            axes.vlines([right], [row["low"]], [row["high"]], color=colour, linewidth=1.6)
        axes.plot([right], [row["mean"]], marker=marker, color=colour, markersize=5.5,
                  linestyle="none", label=f"{row['label']} mean")
        if row["n"] < sessions:
            _count(axes, right, row["high"] if known else row["mean"], str(row["n"]), above=True)
    if row["n_partial"]:
        left = place - aside
        axes.plot([left], [row["mean_partial"]], marker=marker, color="white", markersize=5,
                  markeredgecolor=colour, linestyle="none", label=f"{row['label']} partial")
        _count(axes, left, row["mean_partial"], f"({row['n_partial']})", above=False)


def _count(axes: Axes, place: float, height: float, text: str, *, above: bool) -> None:
    axes.annotate(text, (place, height), xytext=(0, 4 if above else -4), ha="center",
                  textcoords="offset points", va="bottom" if above else "top", size=6.5,
                  color=paper.GREY)


def _legend(labels: list[str]) -> list[Any]:
    from matplotlib.lines import Line2D

    looks = paper.look_of(labels)
    handles = [Line2D([], [], color=looks[name][0], marker=looks[name][1], markersize=5.5,
                      linestyle="none", label=paper.plain(name)) for name in labels]
    return [*handles,
            Line2D([], [], color=paper.INK, marker="o", markersize=5, linestyle="-",
                   label="served whole: mean, 95 % interval"),
            Line2D([], [], color="white", marker="o", markersize=5, linestyle="none",
                   markeredgecolor=paper.INK, label="(n) refused in part: in no mean")]
