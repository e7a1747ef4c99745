"""The simulated prompt cache: what was read and written for each request, and why tokens missed."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

from compactlab.charts import paper
from compactlab.columns import CAUSES
from compactlab.errors import BadTable
from compactlab.results.shares import pooled_hits
from compactlab.words import joined, kilo, percent, points, window_name

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PARTS = (  # in the order of the prompt: column, name, colour, hatch
    ("cache_read", "read from the cache", "#9ECAE1", ""),
    ("cache_write_5m", "written for 5 min", paper.ORANGE, ""),
    ("cache_write_1h", "written for 1 h", paper.VERMILLION, ""),
    ("uncached", "plain input", "#BDBDBD", "....."),
)
CAUSE_LOOKS = {  # name, colour and hatch
    "first": ("first of the session", paper.LIGHT, ""),
    "expired": ("expired", paper.PURPLE, ""),
    "diverged": ("prompt changed before it", paper.ORANGE, ""),
    "lookback": ("out of the look-back", paper.SKY, ""),
    "below_min": ("under the minimum", "#F0F0F0", "////"),
    "in_flight": ("not yet available", paper.GREEN, ""),
    "no_mark": ("never written", paper.BLUE, ""),
    "event": ("event (resume, restart)", paper.VERMILLION, ""),
    "unexplained": ("unexplained", paper.BLACK, ""),
}
PANEL_HEIGHT, SINGLE_HEIGHT, FRAME_HEIGHT = 1.45, 2.6, 1.3  # inches
LINE_HEIGHT, BAR = 0.3, 0.66
HEADROOM = 1.15
ROOM = 1.8  # what is higher than so many windows is cut off
MANY = 30  # marks: from here on they are drawn smaller and paler
MOST_NAMES = 4  # of models, in a caption
SILENT_TICK = 0.035  # of the panel's height


def simulated(runs: pd.DataFrame) -> pd.DataFrame:
    """The runs that have a simulated cache, with whole key columns; the others are left out.

    Raises BadTable for a table without the columns, as an older run has it.
    """
    if "cache_read" not in runs or "cost" not in runs:
        raise BadTable("these runs have no cache columns: an older version made them, run it again")
    found = paper.with_key(runs)
    return found[found["cost"].notna()]


def cache_caption(runs: pd.DataFrame, *more: str) -> str:
    """What every figure of the cache says: simulated how, at whose prices, of which day."""
    models = _names(runs, "price_model")
    told = (f"simulated, layout {_names(runs, 'cache_layout')}, TTL {_names(runs, 'cache_ttl')}",
            f"prices of {models} as of {_days(runs)}", _trust(runs))
    return paper.caption(runs, *told, *more)


def _trust(runs: pd.DataFrame) -> str:
    """How far the simulator is from the bills of these recordings, as they were."""
    if "hit_rate_error" not in runs:
        return ""
    errors = paper.numbers(runs.drop_duplicates("session")["hit_rate_error"].dropna()).tolist()
    return off_the_bill(errors)


def off_the_bill(errors: Sequence[float]) -> str:
    """The error of simulated hit rates in words, from one value (share) a session with a bill."""
    if not errors:
        return "no bill to check hit rates against"
    middle = points(median(map(abs, errors)))
    return f"hit rates {middle} off the bill (median, n = {len(errors)})"


def _names(runs: pd.DataFrame, column: str) -> str:
    return joined(map(paper.plain, runs[column].dropna()), MOST_NAMES)


def _days(runs: pd.DataFrame) -> str:
    found = sorted({str(value) for value in runs["prices_as_of"].dropna()})
    if len(found) < 2:
        return "".join(found) or "no day"
    first, last = found[0].partition(" ")[0], found[-1].partition(" ")
    return f"{first} to {last[0]}{last[1]}{last[2]}"


# -- hits ------------------------------------------------------------------------------------------


def hits(requests: pd.DataFrame, compactions: pd.DataFrame, runs: pd.DataFrame) -> Figure:
    """What the cache served of each prompt of one session: a row a strategy, a column a window.

    Takes rows of the three tables. The height of the area is the prompt that was sent; its parts
    are read, written for five minutes or an hour, or plain input. Grey line: nothing compacted.
    Raises BadTable for rows of several sessions.
    """
    known = simulated(runs)
    requests, compactions = paper.with_key(requests), paper.with_key(compactions)
    sessions = paper.in_order(requests["session"])
    if len(sessions) > 1:
        raise BadTable(f"hits are shown of one session; these rows are of {len(sessions)}")
    strategies, windows = paper.in_order(requests["label"]), sorted(set(requests["window"]))
    rows, columns = max(len(strategies), 1), max(len(windows), 1)
    height = SINGLE_HEIGHT if rows == 1 else PANEL_HEIGHT
    with paper.style():
        figure, grid = paper.paper(FRAME_HEIGHT + height * rows, rows, columns, sharex=True,
                                   sharey="col")
        for row, strategy in enumerate(strategies):
            grid[row][0].set_ylabel("prompt tokens")
            for column, window in enumerate(windows):
                mine, made = (t[(t["label"] == strategy) & (t["window"] == window)]
                              for t in (requests, compactions))
                axes = grid[row][column]
                _hits_panel(axes, mine.sort_values("request"), made, window)
                axes.set_title(f"{paper.plain(strategy)} · {window_name(window)}"
                               f"{_rate(mine)}")
        for column, window in enumerate(windows):
            grid[0][column].set_ylim(0, _top(requests[requests["window"] == window], window))
            paper.token_axis(grid[0][column].yaxis)
            grid[-1][column].set_xlabel("request")
        if not strategies:
            paper.blank(grid[0][0], "no request to show")
        told = f"session {paper.plain(sessions[0])}" if sessions else ""
        about = known[known["session"].isin(sessions)]
        return paper.finish(figure, "What the prompt cache served of each request",
                            cache_caption(about, told), _hits_legend(requests, compactions))


def _rate(requests: pd.DataFrame) -> str:
    """The share that was read, over the requests that were sent."""
    hits = pooled_hits(requests)
    return "" if hits is None else f" · {percent(hits)} read"


def _hits_panel(axes: Axes, requests: pd.DataFrame, made: pd.DataFrame, window: int) -> None:
    import numpy as np

    where = paper.numbers(requests["request"])
    edges = np.repeat(where, 2)
    edges[0::2] -= 0.5
    edges[1::2] += 0.5
    height = np.zeros(len(edges))
    for name, _, colour, hatch in PARTS:
        tokens = np.repeat(paper.numbers(requests[name]), 2)
        if np.nansum(tokens):
            axes.fill_between(edges, height, height + tokens, facecolor=colour, linewidth=0,
                              hatch=hatch, edgecolor=paper.GREY, label=name)
        height = height + tokens
    axes.plot(where, paper.numbers(requests["raw_tokens"]), color=paper.INK, linewidth=0.7,
              label="raw")
    axes.grid(axis="y")
    if window:
        axes.axhline(window, color=paper.INK, linewidth=1, linestyle=(0, (4, 3)), label="window")
    tops = dict(zip(where.tolist(), height[::2].tolist(), strict=True))
    expired = where[(requests["cause"].astype("string").fillna("") == "expired").to_numpy(bool)]
    axes.plot(expired, [tops[n] for n in expired.tolist()], linestyle="none", marker="o",
              color="white", markersize=4, markeredgecolor=paper.PURPLE, zorder=6, label="expired")
    _compaction_marks(axes, made)


def _compaction_marks(axes: Axes, made: pd.DataFrame) -> None:
    where, silent = paper.numbers(made["request"]), paper.truths(made["silent"])
    changed = paper.truths(made["changed"])
    loud, quiet = where[changed & ~silent], where[changed & silent]
    up = axes.get_xaxis_transform()
    axes.plot(loud, [0.97] * len(loud), transform=up, linestyle="none", marker="v",
              color=paper.INK, markersize=5 if len(loud) <= MANY else 3, zorder=7,
              label="compaction")
    axes.vlines(quiet, 1 - SILENT_TICK, 1, transform=up, color=paper.INK, linewidth=1,
                alpha=0.4 if len(quiet) <= MANY else 0.2, label="silent")


def _top(requests: pd.DataFrame, window: int) -> float:
    sent = float(paper.numbers(requests["tokens"].dropna()).max(initial=0.0))
    raw = float(paper.numbers(requests["raw_tokens"].dropna()).max(initial=0.0))
    return HEADROOM * (max(sent, window, min(raw, ROOM * window)) if window else max(sent, raw, 1))


def _hits_legend(requests: pd.DataFrame, compactions: pd.DataFrame) -> list[Any]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = [
        Patch(facecolor=colour, hatch=hatch, edgecolor=paper.GREY, linewidth=0, label=label)
        for name, label, colour, hatch in PARTS if paper.numbers(requests[name].dropna()).any()]
    handles.append(Line2D([], [], color=paper.INK, linewidth=0.7, label="nothing compacted"))
    handles.append(Line2D([], [], color=paper.INK, linewidth=1, linestyle=(0, (4, 3)),
                          label="window"))

    def mark(marker: str, label: str, face: str = paper.INK, edge: str = paper.INK) -> Line2D:
        return Line2D([], [], linestyle="none", marker=marker, color=face, markersize=5,
                      markeredgecolor=edge, label=label)

    changed, silent = (paper.truths(compactions[name]) for name in ("changed", "silent"))
    if (changed & ~silent).any():
        handles.append(mark("v", "compaction"))
    if (changed & silent).any():
        handles.append(mark("|", "silent compaction"))
    if (requests["cause"].astype("string").fillna("") == "expired").any():
        handles.append(mark("o", "mostly expired before it", "white", paper.PURPLE))
    return handles


# -- misses ----------------------------------------------------------------------------------------


def misses(runs: pd.DataFrame) -> Figure:
    """Prompt tokens that were sent before and yet not read, by cause: a panel a window.

    Takes the table `runs`; sums over sessions, as a share of the prompt tokens of the same runs.
    `first` are the first prompts of a session, which nothing could have read.
    """
    known = simulated(runs)
    windows, labels = sorted(set(known["window"])), paper.in_order(known["label"])
    with paper.style():
        figure, grid = paper.paper(1.75 + LINE_HEIGHT * max(len(labels), 2), 1,
                                   max(len(windows), 1), sharex=True, sharey=True)
        seen: set[str] = set()
        for axes, window in zip(grid[0], windows, strict=False):
            axes.set_title(f"window {window_name(window)}")
            for place, label in enumerate(labels):
                mine = known[(known["window"] == window) & (known["label"] == label)]
                seen |= _miss_bar(axes, place, mine)
            axes.set_yticks(range(len(labels)), [paper.plain(label) for label in labels])
            axes.set_ylim(len(labels) - 0.5, -0.5)
            axes.tick_params(axis="y", length=0)
            axes.margins(x=0.16)
            axes.set_xlabel("share of the prompt tokens")
            axes.grid(axis="x")
        if windows:
            grid[0][0].set_xlim(left=0)
            paper.share_axis(grid[0][0].xaxis)
        else:
            paper.blank(grid[0][0], "no run with a simulated cache")
        return paper.finish(figure, "Tokens sent before and not read from the cache, by cause",
                            cache_caption(known), _cause_legend(seen))


def _miss_bar(axes: Axes, place: int, runs: pd.DataFrame) -> set[str]:
    """One stacked bar; the causes that it holds."""
    prompt = sum(float(paper.numbers(runs[name]).sum()) for name, *_ in PARTS)
    if not prompt:
        axes.text(0.0, place, " none served", va="center", size=7, color=paper.GREY)
        return set()
    found = {cause: float(paper.numbers(runs[f"miss_{cause}"]).sum()) for cause in CAUSES}
    start = 0.0
    for cause, tokens in found.items():
        if tokens:
            _, colour, hatch = CAUSE_LOOKS[cause]
            axes.barh([place], [tokens / prompt], BAR, left=[start], color=colour, hatch=hatch,
                      edgecolor=paper.GREY, linewidth=0, label=cause)
            start += tokens / prompt
    axes.annotate(kilo(sum(found.values())), (start, place), xytext=(3, 0), va="center",
                  textcoords="offset points", size=7, color=paper.INK)
    return {cause for cause, tokens in found.items() if tokens}


def _cause_legend(seen: set[str]) -> list[Any]:
    from matplotlib.patches import Patch

    return [Patch(facecolor=colour, hatch=hatch, edgecolor=paper.GREY, linewidth=0, label=name)
            for cause, (name, colour, hatch) in CAUSE_LOOKS.items() if cause in seen]
