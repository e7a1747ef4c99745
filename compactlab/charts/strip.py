"""The strip: one compaction before and after, every message a cell as wide as its tokens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from compactlab.charts import paper
from compactlab.fates import FATES, Fates, Row, Side
from compactlab.words import kilo, plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROLE_COLOURS = {
    "system": paper.GREY, "user": paper.ORANGE, "assistant": paper.SKY, "tool": paper.GREEN,
    "summary": paper.PURPLE,
}
HATCHES = {"kept": "", "cleared": "////", "truncated": "\\\\\\\\", "summarised": "xxxx",
           "dropped": "....", "new": "++"}
GONE = ("cleared", "summarised", "dropped")  # drawn paler: nothing of its own text is left
PALE = 0.45
HEIGHT = 3.0  # inches
CELL, BEFORE, AFTER = 0.56, 1.0, 0.0  # height of the cells, and where the two rows lie
EDGE_FROM = 0.006  # of the width: narrower cells have no edge, which would cover them


def strip(fates: Fates, about: Mapping[str, Any]) -> Figure:
    """One compaction: above the messages before it, below those after it, on one token scale.

    Colour is the role, hatching the fate; grey bands lead from kept messages to where they stand
    afterwards. `about` is the run's row of the table `runs` (`Replay.summary`), for the caption.
    """
    import pandas as pd

    run = paper.with_key(pd.DataFrame([dict(about)]))
    total = max(sum(row.tokens for row in fates.side(side)) for side in ("before", "after"))
    with paper.style():
        figure, grid = paper.paper(HEIGHT)
        axes: Axes = grid[0][0]
        if not fates.rows:
            paper.blank(axes, "nothing was compacted")
            return paper.finish(figure, "One compaction, before and after", paper.caption(run))
        before, after = _places(fates, "before"), _places(fates, "after")
        _bands(axes, before, after)
        for places, height in ((before, BEFORE), (after, AFTER)):
            _cells(axes, places, height, EDGE_FROM * total)
        axes.set_xlim(0, total or 1)
        axes.set_ylim(-0.45, BEFORE + 0.45)
        axes.set_yticks([BEFORE, AFTER], [_label(fates, "before"), _label(fates, "after")])
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        axes.set_xlabel("tokens of system prompt and messages, oldest first")
        paper.token_axis(axes.xaxis)
        title = f"One compaction by {paper.plain(fates.strategy)}"
        title += "" if fates.level is None else f", level {fates.level}"
        title += "" if fates.request is None else f", in front of request {fates.request}"
        return paper.finish(figure, title, paper.caption(run, _sum(fates)), _legend(fates))


Place = tuple[float, Row]


def _places(fates: Fates, side: Side) -> list[Place]:
    """Where each cell of a side begins, in tokens."""
    found: list[Place] = []
    start = 0
    for row in fates.side(side):
        found.append((start, row))
        start += row.tokens
    return found


def _cells(axes: Axes, places: list[Place], height: float, edge_from: float) -> None:
    """One collection for each look, since a session has thousands of messages."""
    looks: dict[tuple[str, str, bool], list[tuple[float, float]]] = {}
    for start, row in places:
        look = (colour_key(row), row.fate, row.tokens >= edge_from)
        looks.setdefault(look, []).append((start, row.tokens))
    for (role, fate, edged), cells in looks.items():
        face = ROLE_COLOURS.get(role, paper.GREY)
        axes.broken_barh(cells, (height - CELL / 2, CELL), facecolor=pale(face, fate),
                         edgecolor=paper.INK if HATCHES[fate] else "white", hatch=HATCHES[fate],
                         linewidth=0, zorder=3, label=f"{role} {fate}")
        if edged:
            axes.broken_barh(cells, (height - CELL / 2, CELL), facecolor="none",
                             edgecolor="white", linewidth=0.8, zorder=4)


def _bands(axes: Axes, before: list[Place], after: list[Place]) -> None:
    """A band from each unbroken run of kept messages to where it stands afterwards."""
    from matplotlib.patches import Polygon

    pairs = zip([p for p in before if p[1].fate == "kept"],
                [p for p in after if p[1].fate == "kept"], strict=False)
    top, bottom = BEFORE - CELL / 2, AFTER + CELL / 2
    runs: list[list[float]] = []
    for (left_b, row_b), (left_a, row_a) in pairs:
        right_b, right_a = left_b + row_b.tokens, left_a + row_a.tokens
        if runs and runs[-1][1] == left_b and runs[-1][3] == left_a:
            runs[-1][1], runs[-1][3] = right_b, right_a
        else:
            runs.append([left_b, right_b, left_a, right_a])
    for left_b, right_b, left_a, right_a in runs:
        corners = [(left_b, top), (right_b, top), (right_a, bottom), (left_a, bottom)]
        axes.add_patch(Polygon(corners, closed=True, facecolor=paper.LIGHT, alpha=0.6,
                               linewidth=0, zorder=1))


def colour_key(row: Row) -> str:
    """What a cell's colour stands for: the role, and for a summary that it is one."""
    return "summary" if row.kind == "summary" else row.role


def pale(colour: str, fate: str) -> tuple[float, float, float]:
    """The colour of a cell, mixed with white where nothing of its own text is left."""
    from matplotlib.colors import to_rgb

    part = PALE if fate in GONE else 0.0
    red, green, blue = (part + (1 - part) * value for value in to_rgb(colour))
    return red, green, blue


def _label(fates: Fates, side: Side) -> str:
    rows = fates.side(side)
    count = len({row.index for row in rows})
    return f"{side}\n{kilo(sum(row.tokens for row in rows))} tokens\n{plural(count, 'message')}"


def _sum(fates: Fates) -> str:
    parts = [f"{fate} {kilo(tokens)}" for fate, tokens in fates.tokens("before").items()]
    new = fates.tokens("after").get("new", 0)
    by = " · this summary by the fallback" if fates.fallback else ""
    return "of the tokens before: " + ", ".join(parts) + f"; new {kilo(new)}" + by


def _legend(fates: Fates) -> list[Any]:
    from matplotlib.patches import Patch

    roles = {colour_key(row) for row in fates.rows}
    kinds = {row.fate for row in fates.rows}
    handles = [Patch(facecolor=colour, label=role) for role, colour in ROLE_COLOURS.items()
               if role in roles]
    return handles + [
        Patch(facecolor=pale("#BBBBBB", fate), edgecolor=paper.INK, hatch=HATCHES[fate],
              linewidth=0.4, label=fate)
        for fate in FATES if fate in kinds
    ]
