"""Money: tokens saved against money saved, and what caching itself saves as a session grows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compactlab.charts import paper
from compactlab.charts.caching import cache_caption, simulated
from compactlab.results.shares import pooled_hits, whole
from compactlab.statistics import estimate
from compactlab.words import (
    HEAD_NAMES,
    NONE,
    dollars,
    interval,
    joined,
    kilo,
    percent,
    plural,
    short,
    window_name,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BOTH, DEAR = "saves both", "saves tokens, loses money"
CHEAP, NEITHER = "saves money, | more tokens", "loses both"
EVEN = "neither"  # where nothing was compacted
PANEL_HEIGHT, FRAME_HEIGHT = 3.3, 1.2  # inches
AROUND = 0.06  # share of an axis that stays free around the points
LEFT, BELOW = 0.11, 0.12  # and the least for the quadrants with losses, so that they have names
NEAR_EDGE = 0.88  # of the axis: from here on a label stands to the left of its point
PUBLISHED = 0.75  # "reduces input token costs by about 75 %", as the caching of claude is described
LENGTHS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000)  # requests, on the axis
MOST_NAMES, MOST_LETTERS = 3, 20  # in the caption; of a session in the legend
TTL_STYLES: dict[str, Any] = {"5m": "-", "1h": (0, (4, 2))}


def quadrant(tokens: float, money: float) -> str:
    """The name of the quadrant of a strategy: shares of tokens and of money that it saves."""
    if tokens != tokens or money != money:
        return NONE
    if not tokens and not money:
        return EVEN
    if tokens >= 0:
        return BOTH if money >= 0 else DEAR
    return CHEAP.replace("| ", "") if money >= 0 else NEITHER


def savings(runs: pd.DataFrame) -> pd.DataFrame:
    """Mean savings of tokens and of money by kind of head, window and strategy.

    A run counts when it has a simulated cache and served every request (`n`); `n_partial` did
    not. Columns `tokens`, `money`, each with `_low` and `_high` (95 % bootstrap over sessions),
    and `quadrant`.
    """
    import pandas as pd

    known = simulated(runs)
    by, rows = ["head_kind", "window", "label"], []
    for key, group in known.groupby(by, sort=False):
        served = group[whole(group)]
        row: dict[str, Any] = dict(zip(by, key, strict=True))
        for name, column in (("tokens", "token_reduction"), ("money", "cost_saving")):
            mean = estimate(paper.numbers(served[column]).tolist())
            row |= {name: mean.value, f"{name}_low": mean.low, f"{name}_high": mean.high}
        row |= {"n": len(served), "n_partial": len(group) - len(served),
                "quadrant": quadrant(row["tokens"], row["money"])}
        rows.append(row)
    names = [*by, "tokens", "tokens_low", "tokens_high", "money", "money_low", "money_high", "n",
             "n_partial", "quadrant"]
    return pd.DataFrame(rows, columns=names)


def money(runs: pd.DataFrame) -> Figure:
    """Tokens saved against money saved (table `runs`): a point a strategy and window.

    Mean over the sessions served whole, with 95 % intervals in both directions; small dots are
    the sessions. A panel a kind of head; the four quadrants are named. `raw` saves nothing and is
    not drawn.
    """
    known = simulated(runs)
    known = known[known["strategy"] != paper.RAW]
    served = known[whole(known)]
    points = savings(known)
    points = points[points["n"] > 0]
    panels, labels = sorted(set(points["head_kind"])), paper.in_order(known["label"])
    left = len(known) - len(served)
    with paper.style():
        figure, grid = paper.paper(FRAME_HEIGHT + PANEL_HEIGHT, 1, max(len(panels), 1),
                                   sharey=True)
        for axes, head in zip(grid[0], panels, strict=False):
            mine = served[served["head_kind"] == head]
            _money_panel(axes, points[points["head_kind"] == head], mine, labels)
            axes.set_title(f"{HEAD_NAMES.get(head, head)} · n = {mine['session'].nunique()}")
        grid[0][0].set_ylabel("money saved")
        if not panels:
            paper.blank(grid[0][0], "no strategy served every request of a session")
        told = f"{plural(left, 'run')} refused in part: not drawn" if left else ""
        return paper.finish(figure, "Tokens saved against money saved",
                            cache_caption(known, told), _legend(labels))


def _money_panel(axes: Axes, points: pd.DataFrame, runs: pd.DataFrame, labels: list[str]) -> None:
    looks = paper.look_of(labels)
    tokens, saved = paper.numbers(runs["token_reduction"]), paper.numbers(runs["cost_saving"])
    _limits(axes, tokens, saved)
    _quadrants(axes)
    for label in labels:
        mine = (runs["label"] == label).to_numpy(dtype=bool)
        axes.plot(tokens[mine], saved[mine], linestyle="none", marker=".", markersize=4,
                  color=looks[label][0], alpha=0.45, label=f"{label} sessions")
    told: dict[tuple[float, float], list[str]] = {}
    for row in points.to_dict("records"):
        colour, marker = looks[row["label"]]
        x, y = row["tokens"], row["money"]
        for low, high, line in (("money_low", "money_high", axes.vlines),
                                ("tokens_low", "tokens_high", axes.hlines)):
            if row[low] == row[low]:
                line([x if line == axes.vlines else y], [row[low]], [row[high]], color=colour,
                     linewidth=0.9, alpha=0.5)
        axes.plot([x], [y], linestyle="none", marker=marker, color=colour, markersize=7.5,
                  markeredgecolor="white", zorder=5, label=f"{row['label']} mean")
        few = "" if row["n"] == runs["session"].nunique() else f" (n = {row['n']})"
        told.setdefault((x, y), []).append(window_name(row["window"]) + few)
    for (x, y), windows in told.items():
        left = x > NEAR_EDGE * axes.get_xlim()[1]
        axes.annotate(", ".join(windows), (x, y), xytext=(-6 if left else 6, 5), size=7, zorder=6,
                      textcoords="offset points", ha="right" if left else "left", color=paper.INK)
    paper.share_axis(axes.xaxis)
    paper.share_axis(axes.yaxis)
    axes.set_xlabel("tokens saved")


def _limits(axes: Axes, tokens: paper.Floats, saved: paper.Floats) -> None:
    """Room for all points and for a strip of the quadrants that are empty."""
    for values, setter, strip in ((tokens, axes.set_xlim, LEFT), (saved, axes.set_ylim, BELOW)):
        known = [0.0, 0.1, *values[values == values].tolist()]
        low, high = min(known), max(known)
        room = AROUND * (high - low)
        setter(min(low - room, -strip * (high - low)), max(high + room, strip * (high - low)))


def _quadrants(axes: Axes) -> None:
    right = axes.get_xlim()[1]
    bottom, top = axes.get_ylim()
    axes.fill_between([0, right], bottom, 0, color=paper.VERMILLION, alpha=0.09, linewidth=0)
    axes.fill_between([0, right], 0, top, color=paper.GREEN, alpha=0.06, linewidth=0)
    axes.axhline(0, color=paper.GREY, linewidth=0.8)
    axes.axvline(0, color=paper.GREY, linewidth=0.8)
    look: dict[str, Any] = {"size": 7.5, "color": paper.INK, "style": "italic"}
    axes.text(0, top, f" {BOTH}", va="top", **look)
    axes.text(0, bottom, f" {DEAR}", va="bottom", **look)
    axes.text(0, top, "\n".join(f"{line} " for line in CHEAP.split(" | ")), va="top", ha="right",
              **look)
    axes.text(0, bottom, f"{NEITHER} ", va="bottom", ha="right", **look)


def _legend(labels: list[str]) -> list[Any]:
    from matplotlib.lines import Line2D

    looks = paper.look_of(labels)
    handles = [Line2D([], [], color=looks[name][0], marker=looks[name][1], markersize=6,
                      linestyle="none", label=paper.plain(name)) for name in labels]
    return [*handles,
            Line2D([], [], color=paper.INK, marker="o", markersize=6, linestyle="-", linewidth=0.9,
                   label="mean, 95 % interval; its window beside it"),
            Line2D([], [], color=paper.GREY, marker=".", markersize=4, linestyle="none",
                   label="one session")]


def money_table(runs: pd.DataFrame) -> pd.DataFrame:
    """A line a kind of head, window and strategy: savings of both kinds, and where money went.

    `cost`, `summaries` and `bust` are USD, sums over all sessions with a simulated cache; the
    savings are means over the sessions served whole. `other readings`: least and most cost under
    the readings of what the provider's documentation leaves open.
    """
    import pandas as pd

    known = simulated(runs)
    by, lines = ["head_kind", "window", "label"], []
    groups = dict(list(known.groupby(by, sort=False)))
    for row in savings(runs).sort_values(by[:2], kind="stable").to_dict("records"):
        group = groups[tuple(row[name] for name in by)]
        lines.append({
            "head": row["head_kind"], "window": window_name(row["window"]),
            "strategy": row["label"], "sessions": len(group), "served whole": row["n"],
            "tokens saved": _share(row, "tokens"), "money saved": _share(row, "money"),
            "verdict": row["quadrant"], "hit rate": percent(pooled_hits(group)),
            "cost": _dollars(group["cost"]),
            "other readings": _readings(group),
            "uncompacted": _dollars(group["cost_raw"]),
            "summaries": _dollars(group["summariser_cost"]),
            "bust tokens": kilo(float(paper.numbers(group["bust_tokens"]).sum())),
            "bust": _dollars(group["bust_cost"]),
        })
    return pd.DataFrame(lines).set_index(["head", "window", "strategy"]) if lines else known


def _readings(group: pd.DataFrame) -> str:
    """The band of the cost; a dash where the readings make no difference."""
    if "cost_low" not in group:
        return NONE
    low, high = _dollars(group["cost_low"]), _dollars(group["cost_high"])
    return NONE if low == high else f"{low} to {high}"


def _share(row: Any, name: str) -> str:
    return interval(row[name], row[f"{name}_low"], row[f"{name}_high"])


def _dollars(column: pd.Series[Any]) -> str:
    return dollars(paper.numbers(column.dropna()).sum())


def input_savings(curves: pd.DataFrame) -> Figure:
    """What caching saves of the input cost up to each request, against the published share.

    Takes `notebook.claims.input_savings`: session, model, layout, ttl, request, saving,
    prices_as_of, tokenizer, time. A line a session and lifetime; nothing is compacted.
    """
    sessions = paper.in_order(curves["session"])
    with paper.style():
        figure, grid = paper.paper(FRAME_HEIGHT + 2.4)
        axes: Axes = grid[0][0]
        looks = paper.look_of(sessions)
        for key, rows in curves.groupby(["session", "ttl"], sort=False):
            session, ttl = map(str, key)
            axes.plot(paper.numbers(rows["request"]) + 1, paper.numbers(rows["saving"]),
                      color=looks[session][0], linestyle=TTL_STYLES[ttl], linewidth=1.3,
                      label=f"{session} {ttl}")
        axes.axhline(PUBLISHED, color=paper.INK, linewidth=1, linestyle=":", label="published")
        axes.axhline(0, color=paper.GREY, linewidth=0.8)
        if not sessions:
            paper.blank(axes, "no recorded session was named")
        axes.grid(axis="y")
        axes.set_xlabel("requests so far")
        axes.set_xscale("log")
        longest = max([1, *(paper.numbers(curves["request"]) + 1).tolist()])
        ticks = [tick for tick in LENGTHS if tick <= longest]
        axes.set_xticks(ticks, [str(tick) for tick in ticks])
        axes.minorticks_off()
        axes.set_ylabel("input cost saved")
        paper.share_axis(axes.yaxis)
        caption = " · ".join([
            plural(len(sessions), "session"),
            "nothing compacted, no window", f"tokenizer {_several(curves, 'tokenizer')}",
            f"simulated, layout {_several(curves, 'layout')}, no summariser",
            f"prices of {_several(curves, 'model')} as of {_several(curves, 'prices_as_of')}"])
        return paper.finish(figure, "Input cost saved by prompt caching, by length of the session",
                            caption, _curve_legend(sessions, looks))


def _several(table: pd.DataFrame, column: str) -> str:
    return joined(map(paper.plain, table[column].dropna()), MOST_NAMES)


def _curve_legend(sessions: list[str], looks: dict[str, tuple[str, str]], most: int = 6
                  ) -> list[Any]:
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], color=looks[name][0], linewidth=1.3,
                      label=short(paper.plain(name), MOST_LETTERS)) for name in sessions[:most]]
    handles += [Line2D([], [], color=paper.INK, linestyle=style, label=f"TTL {ttl}")
                for ttl, style in TTL_STYLES.items()]
    return [*handles, Line2D([], [], color=paper.INK, linewidth=1, linestyle=":",
                             label="published: about 75 %")]
