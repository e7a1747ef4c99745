"""The saw-tooth: prompt tokens of each request under the window, with compactions and refusals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from compactlab.charts import paper
from compactlab.errors import BadTable
from compactlab.words import kilo, window_name

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from compactlab.charts.paper import Floats, Truths

LEVEL_COLOURS = ("#FDD49E", "#FC8D59", "#D7301F", "#7F0000")  # light to dark, in grey too
NO_LEVEL = "compaction"
HEADROOM = 1.1
WHOLE, ROOM = 2.3, 1.8  # what is above WHOLE windows is cut off at ROOM: the rest would be flat
PANEL_HEIGHT, SINGLE_HEIGHT, FRAME_HEIGHT = 1.45, 2.6, 1.3  # inches
DOT, SMALL_DOT, MANY = 5.5, 3.5, 30  # points; smaller when a panel has more than so many
SILENT_TICK = 0.035  # of the panel's height


def sawtooth(requests: pd.DataFrame, compactions: pd.DataFrame,
             about: Mapping[str, Any] | None = None) -> Figure:
    """Prompt tokens by request of one session: a row of panels a strategy, a column a window.

    Takes rows of the tables `requests` and `compactions`; of one replay also without the key
    columns, then `about` is its row of `runs` (`Replay.summary`). Thin grey line:
    nothing compacted. Dots: compactions, by level; hollow: no-ops; ticks below: silent ones.
    Crosses: requests refused; shaded: not served. What is far above the window is cut off, and a
    panel says up to where it goes on. Raises BadTable for rows of several sessions.
    """
    requests, compactions = (paper.with_key(t, about) for t in (requests, compactions))
    sessions = paper.in_order(requests["session"])
    if len(sessions) != 1:
        raise BadTable(f"a saw-tooth shows one session; these rows are of {len(sessions)}")
    strategies = paper.in_order(requests["label"])
    windows = sorted(paper.in_order(requests["window"]))
    looks = paper.look_of(strategies)
    panel_height = SINGLE_HEIGHT if len(strategies) == 1 else PANEL_HEIGHT
    with paper.style():
        figure, axes = paper.paper(FRAME_HEIGHT + panel_height * len(strategies), len(strategies),
                                   len(windows), sharex=True, sharey="col")
        for column, window in enumerate(windows):
            top = _top(requests[requests["window"] == window], window)
            for row, strategy in enumerate(strategies):
                panel, sent = axes[row][column], _of(requests, strategy, window)
                _panel(panel, sent, _of(compactions, strategy, window), window, top,
                       looks[strategy][0])
                _say_cut(panel, sent, top)
                panel.set_title(f"{paper.plain(strategy)} · {window_name(window)}")
            axes[0][column].set_ylim(0, top)
            paper.token_axis(axes[0][column].yaxis)
            axes[-1][column].set_xlabel("request")
        for row in range(len(strategies)):
            axes[row][0].set_ylabel("prompt tokens")
        told = f"session {paper.plain(sessions[0])}, {requests['request'].nunique()} requests"
        return paper.finish(figure, "Prompt tokens of each request",
                            paper.caption(requests, told), _legend(requests, compactions))


def _of(table: pd.DataFrame, strategy: str, window: int) -> pd.DataFrame:
    return table[(table["label"] == strategy) & (table["window"] == window)]


def _top(requests: pd.DataFrame, window: int) -> float:
    highest = max(float(paper.numbers(requests[name].dropna()).max(initial=0.0))
                  for name in ("raw_tokens", "tokens"))
    cut = window and highest > WHOLE * window
    return HEADROOM * max(float(window), ROOM * window if cut else highest)


def _panel(axes: Axes, requests: pd.DataFrame, compactions: pd.DataFrame, window: int,
           top: float, colour: str) -> None:
    requests = requests.sort_values("request")
    where, tokens = paper.numbers(requests["request"]), paper.numbers(requests["tokens"])
    served = paper.truths(requests["served"])
    axes.plot(where, paper.numbers(requests["raw_tokens"]), color=paper.GREY, linewidth=0.8,
              label="raw")
    line = tokens.copy()
    line[~served] = float("nan")
    axes.plot(where, line, color=colour, linewidth=1.4, zorder=3, label="sent")
    refused = ~served & (tokens == tokens)
    axes.plot(where[refused], tokens[refused].clip(max=top / HEADROOM), linestyle="none",
              marker="x", markersize=6 if refused.sum() <= MANY else 4, markeredgewidth=1.3,
              color=paper.VERMILLION, zorder=6, label="refused")
    for start, end in spans(where, ~served):
        axes.axvspan(start - 0.5, end + 0.5, color=paper.VERMILLION, alpha=0.09, linewidth=0)
    if window:
        axes.axhline(window, color=paper.INK, linewidth=1, linestyle=(0, (4, 3)), label="window")
    axes.grid(axis="y")
    _marks(axes, compactions, dict(zip(where.tolist(), tokens.tolist(), strict=True)), colour)


def _say_cut(axes: Axes, requests: pd.DataFrame, top: float) -> None:
    """How far what leaves the panel goes on, above its corner."""
    sent = "sent" if paper.truths(requests["served"]).all() else "refused"
    highest = {name: float(paper.numbers(requests[column].dropna()).max(initial=0.0))
               for name, column in ((paper.RAW, "raw_tokens"), (sent, "tokens"))}
    told = [f"{name} goes on to {kilo(most)}" for name, most in highest.items() if most > top]
    if told:
        axes.set_title(", ".join(told), loc="right", fontsize=7.5, fontweight="normal",
                       color=paper.GREY)


def spans(where: Floats, inside: Truths) -> list[tuple[float, float]]:
    """First and last place of each unbroken stretch that is inside."""
    found: list[tuple[float, float]] = []
    last_inside = False
    for place, flag in zip(where.tolist(), inside.tolist(), strict=True):
        if flag:
            found.append((found.pop()[0] if last_inside else place, place))
        last_inside = flag
    return found


def _marks(axes: Axes, compactions: pd.DataFrame, tokens: dict[float, float], colour: str) -> None:
    """Dots where a compaction was made, at the height of the prompt that was then sent."""
    where, levels = paper.numbers(compactions["request"]), paper.numbers(compactions["level"])
    silent, changed = paper.truths(compactions["silent"]), paper.truths(compactions["changed"])
    quiet = where[silent & changed]
    axes.vlines(quiet, 0, SILENT_TICK, transform=axes.get_xaxis_transform(), color=colour,
                alpha=0.35 if len(quiet) <= MANY else 0.15, linewidth=1, label="silent")
    size = DOT if (~silent).sum() <= MANY else SMALL_DOT
    for request, level, made in sorted(zip(where[~silent].tolist(), levels[~silent].tolist(),
                                           changed[~silent].tolist(), strict=True)):
        height = tokens.get(request, float("nan"))
        face = level_colour(level, colour) if made else "white"
        axes.plot([request], [height if height == height else 0], marker="o", markersize=size,
                  color=face, zorder=5, linestyle="none", markeredgewidth=size / 7,
                  markeredgecolor=paper.INK, label="compaction" if made else "no-op")


def level_colour(level: float, otherwise: str) -> str:
    """The colour of an escalation level; `otherwise` where there is none."""
    if level != level:
        return otherwise
    return LEVEL_COLOURS[min(int(level), len(LEVEL_COLOURS) - 1)]


def _legend(requests: pd.DataFrame, compactions: pd.DataFrame) -> list[Any]:
    """Only what the panels hold, levels apart."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    def dot(face: str, name: str, marker: str = "o", edge: str = paper.INK) -> Line2D:
        return Line2D([], [], linestyle="none", marker=marker, color=face, markersize=DOT,
                      markeredgecolor=edge, label=name)

    handles: list[Any] = [
        Line2D([], [], color=paper.BLUE, linewidth=1.4, label="sent"),
        Line2D([], [], color=paper.GREY, linewidth=0.8, label="nothing compacted (raw)"),
        Line2D([], [], color=paper.INK, linewidth=1, linestyle=(0, (4, 3)), label="window"),
    ]
    loud = compactions[~paper.truths(compactions["silent"])]
    changed = loud[paper.truths(loud["changed"])]
    levels = paper.numbers(changed["level"])
    if (levels != levels).any():
        handles.append(dot(paper.BLUE, "compaction"))
    handles += [dot(level_colour(level, ""), f"level {level:.0f}")
                for level in sorted(set(levels[levels == levels].tolist()))]
    if len(changed) < len(loud):
        handles.append(dot("white", "no-op"))
    if len(loud) < len(compactions):
        handles.append(dot(paper.BLUE, "silent compaction", "|", paper.BLUE))
    if not paper.truths(requests["served"]).all():
        handles.append(dot(paper.VERMILLION, "refused", "x", paper.VERMILLION))
        handles.append(Patch(color=paper.VERMILLION, alpha=0.15, linewidth=0, label="not served"))
    return handles
