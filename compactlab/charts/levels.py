"""Escalation: the share of effective compactions by level, and how far requests had to go."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from compactlab.charts import paper
from compactlab.charts.sawtooth import LEVEL_COLOURS
from compactlab.words import percent, window_name

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

EFFECTIVE, SMALL = "effective", "saved under 10 %"
LINE_HEIGHT, FRAME_HEIGHT = 0.3, 1.75  # inches
BAR = 0.66
TICKS = (0.0, 0.5, 1.0)
NARROW = 0.11  # of the axis: a segment narrower than this has no room for its number
UNLEVELLED = "#BDBDBD"
REASON_LOOKS = (  # colour and hatch; as many as there are reasons of a no-op
    (paper.LIGHT, "...."), ("#BDBDBD", "////"), ("#969696", "...."), ("#F0F0F0", "xxxx"),
    ("#BDBDBD", "----"), ("#737373", "...."), (paper.LIGHT, "||||"), ("#F0F0F0", "////"))
REFUSED_HATCH = "\\\\\\\\"  # white lines, unlike a reason's

Segment = tuple[str, str, str, float]  # name, colour, hatch, count


def effective_rate(compactions: pd.DataFrame) -> Figure:
    """How many compactions were effective (saved at least a tenth), by strategy and level.

    Takes the table `compactions`; silent ones are left out, no-ops count and are shown by reason.
    A panel a window; the number at the end is effective of all.
    """
    everything = paper.with_key(compactions)
    loud = everything[~paper.truths(everything["silent"])]
    reasons = sorted({_reason(value) for value in loud[~paper.truths(loud["changed"])]["reason"]})
    looks = {name: REASON_LOOKS[i % len(REASON_LOOKS)] for i, name in enumerate(reasons)}
    level = paper.numbers(loud["level"])
    loud = loud.assign(line=[_line(name, value) for name, value in zip(loud["label"], level,
                                                                       strict=True)])

    def segments(rows: pd.DataFrame) -> list[Segment]:
        changed, good = paper.truths(rows["changed"]), paper.truths(rows["effective"])
        reason = rows["reason"].map(_reason)
        found = [(EFFECTIVE, paper.BLUE, "", float((changed & good).sum())),
                 (SMALL, paper.ORANGE, "", float((changed & ~good).sum()))]
        return found + [
            (f"no-op: {name}", *looks[name], float((~changed & (reason == name)).sum()))
            for name in reasons
        ]

    told = f"{len(loud)} compactions and no-ops, silent ones left out"
    return _bars(loud, segments, "Effective compactions by level",
                 paper.caption(loud if len(loud) else everything, told), share_of=EFFECTIVE)


def levels(requests: pd.DataFrame, compactions: pd.DataFrame) -> Figure:
    """The highest level with which each request was compacted, and whether it was served then.

    Takes the tables `requests` and `compactions`. Shown are strategies that have levels, and of
    them the requests that were compacted at one, or refused without (`no level`: only no-ops). A
    panel a window; hatched: refused in the end. The number at the end is served of all.
    """
    everything, loud = paper.with_key(requests), paper.with_key(compactions)
    escalating = set(loud[loud["level"].notna()]["label"])
    tried = everything["level"].notna() | (everything["tokens"].notna()
                                           & ~paper.truths(everything["served"]))
    needed = everything[tried & everything["label"].isin(escalating)]
    needed = needed.assign(line=needed["label"], reached=paper.numbers(needed["level"]))
    reached = sorted({int(level) for level in needed["reached"].dropna()})

    def segments(rows: pd.DataFrame) -> list[Segment]:
        level, served = paper.numbers(rows["reached"]), paper.truths(rows["served"])
        found = [
            (f"level {n}{', refused' if refused else ''}",
             LEVEL_COLOURS[min(n, len(LEVEL_COLOURS) - 1)], REFUSED_HATCH if refused else "",
             float(((level == n) & (served != refused)).sum()))
            for refused in (False, True) for n in reached
        ]
        none = float((level != level).sum())
        return [*found, ("no level, refused", UNLEVELLED, REFUSED_HATCH, none)]

    told = f"{len(needed)} requests that were over the window"
    return _bars(needed, segments, "Escalation level reached by request",
                 paper.caption(needed if len(needed) else everything, told), share_of="level",
                 but="refused")


def _reason(value: object) -> str:
    return str(value) if isinstance(value, str) else "no reason given"


def _line(strategy: str, level: float) -> str:
    return strategy if level != level else f"{strategy}, level {level:.0f}"


def _bars(table: pd.DataFrame, segments: Callable[[pd.DataFrame], list[Segment]], title: str,
          caption: str, *, share_of: str, but: str = "\0") -> Figure:
    """Stacked bars of shares, one for each `line` of the table, in a panel for each window."""
    windows = sorted(set(table["window"]))
    lines = sorted(set(table["line"]), key=lambda line: (_first(table, line), line))
    shown: dict[str, Segment] = {}
    with paper.style():
        figure, grid = paper.paper(FRAME_HEIGHT + LINE_HEIGHT * max(len(lines), 2), 1,
                                   max(len(windows), 1), sharex=True, sharey=True)
        for axes, window in zip(grid[0], windows, strict=False):
            axes.set_title(f"window {window_name(window)}")
            for place, line in enumerate(lines):
                found = segments(table[(table["window"] == window) & (table["line"] == line)])
                shown.update((s[0], s) for s in found if s[3])
                counted = sum(s[3] for s in found if s[0].startswith(share_of) and but not in s[0])
                _bar(axes, place, found, counted)
            axes.set_yticks(range(len(lines)), [paper.plain(line) for line in lines])
            axes.set_ylim(len(lines) - 0.5, -0.5)
            axes.set_xlim(0, 1)
            axes.set_xticks(TICKS, [percent(share) for share in TICKS])
            axes.tick_params(axis="y", length=0)
        if not windows:
            paper.blank(grid[0][0], "none in these tables")
        return paper.finish(figure, title, caption, _legend(shown, segments, table))


def _first(table: pd.DataFrame, line: str) -> int:
    """Where the strategy of a line first stands, so that its levels stay together."""
    strategy = table[table["line"] == line]["label"].iloc[0]
    return int((table["label"] == strategy).to_numpy().argmax())


def _bar(axes: Axes, place: int, segments: list[Segment], counted: float) -> None:
    total = sum(segment[3] for segment in segments)
    start = 0.0
    for name, colour, hatch, count in segments:
        share = count / total if total else 0.0
        if count:
            axes.barh([place], [share], BAR, left=[start], color=colour, hatch=hatch,
                      edgecolor="white" if hatch == REFUSED_HATCH else paper.INK,
                      linewidth=0, label=name)
        if share >= NARROW:
            behind = {"facecolor": colour, "linewidth": 0, "pad": 1} if hatch else None
            axes.text(start + share / 2, place, f"{count:.0f}", ha="center", va="center", size=7,
                      color="white" if is_dark(colour) else paper.INK, bbox=behind)
        start += share
    if total:
        axes.annotate(f"{counted:.0f}/{total:.0f}", (1, place), xytext=(3, 0), va="center",
                      textcoords="offset points", size=7, color=paper.INK, annotation_clip=False)
    else:
        axes.text(0.02, place, "none", va="center", size=7, color=paper.GREY)


def is_dark(colour: str) -> bool:
    """Whether a text on it is to be white."""
    from matplotlib.colors import to_rgb

    red, green, blue = to_rgb(colour)
    return 0.3 * red + 0.59 * green + 0.11 * blue < 0.5


def _legend(shown: dict[str, Segment], segments: Callable[[pd.DataFrame], list[Segment]],
            table: pd.DataFrame) -> list[Any]:
    from matplotlib.patches import Patch

    order = [segment[0] for segment in segments(table)]
    return [Patch(facecolor=shown[name][1], hatch=shown[name][2], label=name,
                  edgecolor="white" if shown[name][2] == REFUSED_HATCH else paper.INK, linewidth=0)
            for name in order if name in shown]
