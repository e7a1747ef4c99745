"""Summary quality: recall against tokens, the profile, what each round leaves, which metrics agree.

Figures take the long table of `quality.table` with two more columns, `tokenizer` and `summariser`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from compactlab.charts import paper
from compactlab.charts.levels import is_dark
from compactlab.errors import BadTable
from compactlab.quality.controls import CONTROLS
from compactlab.quality.profile import HEADLINE, HIGH_IS_BAD, MEASURES
from compactlab.statistics import estimate
from compactlab.words import NONE, joined, kilo, percent, plural, window_name

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAMES = {"frr": "forward-reference recall", "bound_frr": "bound forward-reference recall"}
NOT_PROFILED = ("frr_newest", "bound_frr_newest", "budget")
UNBOUNDED = ("size", "refetch_tokens", "net_saving")  # no share: a number without a colour
CONTROL_STYLES: tuple[Any, ...] = ((0, (1, 1.5)), (0, (4, 2)), "-.")
OWN_SIZE = 0.0  # stands for the budget of a strategy, which has its own size
TICKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
PANEL_HEIGHT, FRAME_HEIGHT, LINE_HEIGHT = 2.5, 1.3, 0.32  # inches
FEWEST_PAIRS = 5  # contestants at cuts, for a correlation


def _checked(rows: pd.DataFrame, *names: str) -> pd.DataFrame:
    """The headline rows of the view `cut`, with their label and whole budgets."""
    lacking = [n for n in ("tokenizer", "summariser", *names) if n not in rows]
    if lacking:
        raise BadTable(f"the table of quality lacks the columns {', '.join(lacking)}")
    found = rows[(rows["view"] == "cut") & paper.truths(rows["headline"])]
    windows = paper.numbers(found["window"])
    several = len(set(windows[windows == windows].tolist())) > 1
    label = [f"{name} · {window_name(int(window))}" if several and window == window else name
             for name, window in zip(found["strategy"].astype(str), windows.tolist(), strict=True)]
    return found.assign(label=label, budget=found["budget"].astype("Float64").fillna(OWN_SIZE))


def _told(rows: pd.DataFrame, *more: str) -> str:
    """n, windows, tokenizer and summariser; then what else is to be said."""
    sessions = rows["session"].nunique()
    cuts = len(rows[["session", "request"]].drop_duplicates())
    windows = sorted({int(w) for w in paper.numbers(rows["window"]).tolist() if w == w})
    parts = [plural(sessions, "session"), plural(cuts, "cut"),
             "window " + (", ".join(map(window_name, windows)) or "none"),
             *(f"{name} {joined(rows[name])}" for name in ("tokenizer", "summariser"))]
    return " · ".join([*parts, *(text for text in more if text)])


def _by_session(rows: pd.DataFrame) -> list[float]:
    """One mean a session over its cuts, missing values left out."""
    known = rows.dropna(subset=["value"])
    return known.groupby("session", sort=True)["value"].mean().astype(float).tolist()


# -- quality against tokens ------------------------------------------------------------------------


def pareto(rows: pd.DataFrame) -> Figure:
    """Recall of what was needed later against tokens kept: a row of panels a format.

    Strategies at their own size, summarisers and controls at the budgets given; means over cuts
    within a session, then over sessions. The black steps are the Pareto front of all that is no
    control: nothing beside it keeps more in fewer tokens.
    """
    known = _checked(rows)
    formats = paper.in_order(known["format"])
    labels = paper.in_order(known[~known["strategy"].isin(list(CONTROLS))]["label"])
    lines = max(len(formats), 1)
    with paper.style():
        figure, grid = paper.paper(FRAME_HEIGHT + PANEL_HEIGHT * lines, lines, 2, sharex=True,
                                   sharey=True)
        for row, name in enumerate(formats):
            mine = known[known["format"] == name]
            for column, metric in enumerate(HEADLINE):
                axes = grid[row][column]
                _pareto_panel(axes, _points(mine, metric), labels)
                axes.set_title(f"{paper.plain(name)} · {NAMES[metric]}")
            grid[row][0].set_ylabel("weight of needs that survive")
        for axes in grid[-1]:
            axes.set_xlabel("tokens kept, share of what stood before the cut")
        if not formats:
            paper.blank(grid[0][0], "no cut with needs")
        return paper.finish(figure, "What the agent needed later and still finds, against tokens",
                            _told(known, "bars: 95 % intervals over sessions"),
                            _pareto_legend(labels, known))


Point = tuple[str, float, float, float, float]  # label, tokens, recall, low, high


def _points(rows: pd.DataFrame, metric: str) -> list[Point]:
    found = []
    for (label, _), group in rows.groupby(["label", "budget"], sort=False):
        size = _by_session(group[group["metric"] == "budget"])
        mean = estimate(_by_session(group[group["metric"] == metric]))
        if size and mean.sessions:
            found.append((str(label), sum(size) / len(size), *mean[:3]))
    return found


def _pareto_panel(axes: Axes, points: list[Point], labels: Sequence[str]) -> None:
    looks = paper.look_of(labels)
    for number, control in enumerate(CONTROLS):
        mine = sorted(p for p in points if p[0] == control)
        axes.plot([p[1] for p in mine], [p[2] for p in mine], color=paper.GREY, linewidth=1.1,
                  linestyle=CONTROL_STYLES[number % len(CONTROL_STYLES)], marker=".",
                  markersize=4, label=control)
    for label in labels:
        mine = sorted(p for p in points if p[0] == label)
        colour, marker = looks[label]
        for _, size, _, low, high in mine:
            if low < high:
                axes.vlines([size], [low], [high], color=colour, linewidth=1, alpha=0.5)
        axes.plot([p[1] for p in mine], [p[2] for p in mine], color=colour, linewidth=1,
                  marker=marker, markersize=6, markeredgecolor="white", zorder=4, label=label)
    best = front([(p[1], p[2]) for p in points if p[0] not in CONTROLS])
    if best:
        edge = [*best, (1.0, best[-1][1])]
        axes.step([x for x, _ in edge], [y for _, y in edge], where="post", color=paper.BLACK,
                  linewidth=0.8, zorder=3, label="front")
    axes.set_xscale("log")
    axes.set_xticks(TICKS, [percent(tick) for tick in TICKS])
    axes.minorticks_off()
    axes.set_xlim(min([0.01, *(p[1] for p in points if p[1] > 0)]) * 0.9, 1.1)
    axes.set_ylim(-0.03, 1.03)
    axes.grid()


def front(points: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """The points that no other one beats with fewer (or as many) tokens and more recall."""
    best: list[tuple[float, float]] = []
    for tokens, recall in sorted(points, key=lambda p: (p[0], -p[1])):
        if not best or recall > best[-1][1]:
            best.append((tokens, recall))
    return best


def _pareto_legend(labels: Sequence[str], rows: pd.DataFrame) -> list[Any]:
    from matplotlib.lines import Line2D

    looks, there = paper.look_of(labels), set(rows["strategy"])
    handles = [Line2D([], [], color=looks[name][0], marker=looks[name][1], markersize=6,
                      linewidth=1, label=paper.plain(name)) for name in labels]
    handles += [Line2D([], [], color=paper.GREY, marker=".", label=f"control: {name}",
                       linestyle=CONTROL_STYLES[number % len(CONTROL_STYLES)])
                for number, name in enumerate(CONTROLS) if name in there]
    return [*handles, Line2D([], [], color=paper.BLACK, linewidth=0.8,
                             label="Pareto front without controls")]


# -- the profile -----------------------------------------------------------------------------------


def profile(rows: pd.DataFrame, budget: float | None = None) -> Figure:
    """Strategies × metrics as a table of figures, darker = better; n below each, no single score.

    With a budget: summarisers and controls at it, too. n counts what a metric is taken over (needs,
    anchors, rules, calls), over all cuts; a dash = nothing to take it over.
    """
    known = _checked(rows)
    fits = (known["budget"] == OWN_SIZE) | (known["budget"] == (OWN_SIZE if budget is None
                                                               else budget))
    known = known[fits]
    names = dict(zip(known["label"], known["strategy"], strict=True))
    labels = sorted(names, key=lambda label: names[label] in CONTROLS)  # controls below all others
    down = [f"control: {label}" if names[label] in CONTROLS else label for label in labels]
    there = set(known["metric"])
    metrics = [m.name for m in MEASURES if m.name in there and m.name not in NOT_PROFILED]
    with paper.style():
        height = FRAME_HEIGHT + 0.95 + LINE_HEIGHT * max(len(labels), 2)
        figure, grid = paper.paper(height)
        axes = grid[0][0]
        for line, label in enumerate(labels):
            mine = known[known["label"] == label]
            for column, metric in enumerate(metrics):
                _cell(axes, column, line, metric, mine[mine["metric"] == metric])
        if not labels:
            paper.blank(axes, "no cut with needs")
        else:
            _frame(axes, [m.replace("_", " ") for m in metrics], down)
        told = "" if budget is None else f"summarisers and controls at {percent(budget)}"
        return paper.finish(
            figure, "The profile of what survives, metric by metric",
            _told(known, told, "mean over cuts, then sessions; small: n of the metric; darker = "
                  "better; tokens and sizes have no colour"))


def _frame(axes: Axes, across: Sequence[str], down: Sequence[str]) -> None:
    axes.set_xlim(-0.5, len(across) - 0.5)
    axes.set_ylim(len(down) - 0.5, -0.5)
    axes.set_xticks(range(len(across)), list(across), rotation=40, ha="left", size=7.5)
    axes.xaxis.tick_top()
    axes.set_yticks(range(len(down)), [paper.plain(name).replace("_", " ") for name in down])
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _cell(axes: Axes, column: int, line: int, metric: str, rows: pd.DataFrame) -> None:
    """One figure of the profile with its n."""
    values = _by_session(rows)
    value = sum(values) / len(values) if values else float("nan")
    count = int(paper.numbers(rows["n"].fillna(0)).sum())
    good = 1 - value if metric in HIGH_IS_BAD else value
    colour = "white" if metric in UNBOUNDED else shade(good)
    _square(axes, column, line, colour, _figure(metric, value), count)


def _square(axes: Axes, column: int, line: int, colour: str, text: str, count: int) -> None:
    """A figure with its n below; hatched where there is none."""
    from matplotlib.patches import Rectangle

    none = text == NONE
    axes.add_patch(Rectangle((column - 0.48, line - 0.46), 0.96, 0.92, facecolor=colour,
                             edgecolor=paper.LIGHT, linewidth=0.3 if none else 0,
                             hatch="////" if none else ""))
    ink = "white" if is_dark(colour) else paper.INK
    axes.text(column, line - 0.1, text, ha="center", va="center", size=7.5, color=ink)
    axes.text(column, line + 0.28, kilo(count), ha="center", va="center", size=5.5,
              color=ink)


def _figure(metric: str, value: float) -> str:
    if value != value:
        return NONE
    return kilo(value) if metric in UNBOUNDED[1:] else f"{value:.2f}"


def shade(good: float, strong: str = "#08519C") -> str:
    """White for 0 and for NaN, a strong colour for 1."""
    from matplotlib.colors import to_hex, to_rgb

    part = min(max(good, 0.0), 1.0) if good == good else 0.0
    red, green, blue = (1 - part * (1 - value) for value in to_rgb(strong))
    return to_hex((red, green, blue))


# -- which metrics agree ---------------------------------------------------------------------------


def agreement(rows: pd.DataFrame) -> Figure:
    """Rank correlation (Spearman) of each pair of metrics over contestants at cuts.

    Metrics that are better when low are turned round, so that blue means: they rank contestants
    alike. n below: the pairs; a dash under five of them, or where one of the two never changes.
    """
    known = _checked(rows).dropna(subset=["value"])
    wide = known.pivot_table(index=["session", "request", "label", "budget"], columns="metric",
                             values="value", aggfunc="first", sort=False).astype(float)
    metrics = [m.name for m in MEASURES if m.name in wide and m.name not in NOT_PROFILED
               and not m.name.startswith("anchor_recall_")]
    for name in set(metrics) & set(HIGH_IS_BAD):
        wide[name] = -wide[name]
    with paper.style():
        figure, grid = paper.paper(FRAME_HEIGHT + 1.0 + LINE_HEIGHT * max(len(metrics), 2))
        axes = grid[0][0]
        for line, first in enumerate(metrics):
            for column, second in enumerate(metrics[:line]):
                both = wide[[first, second]].dropna()
                value = spearman(both[first].tolist(), both[second].tolist())
                tint = shade(abs(value), paper.BLUE if value > 0 else paper.VERMILLION)
                _square(axes, column, line, tint, NONE if value != value else f"{value:.2f}",
                        len(both))
        if len(metrics) > 1:
            _frame(axes, [m.replace("_", " ") for m in metrics], metrics)
            axes.set_xlim(-0.5, len(metrics) - 1.5)
            axes.set_ylim(len(metrics) - 0.5, 0.5)
        else:
            paper.blank(axes, "no two metrics to compare")
        turned = ", ".join(m for m in metrics if m in HIGH_IS_BAD)
        return paper.finish(figure, "Do the metrics rank contestants alike?", _told(
            known, "Spearman's rank correlation over contestants at cuts",
            f"turned round, since low is good: {turned}" if turned else ""))


def spearman(first: Sequence[float], second: Sequence[float]) -> float:
    """Spearman's rank correlation; NaN under five pairs or where one side is constant."""
    if len(first) < FEWEST_PAIRS or len(set(first)) < 2 or len(set(second)) < 2:
        return float("nan")
    from scipy.stats import spearmanr

    return float(spearmanr(first, second).statistic)
