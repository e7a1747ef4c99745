"""What was lost: survival by round of compaction, and the names that the agent needed later."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compactlab.charts import paper
from compactlab.words import NONE, joined, kilo, plural, short, window_name

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANEL_HEIGHT, FRAME_HEIGHT = 2.4, 1.2  # inches
FALLEN = 0.5  # of the survival at age 0: below, it has fallen
FATES = ("kept", "name only", "lost")  # of a need, from best to worst
LONGEST_ANCHOR, LONGEST_QUOTE = 36, 110  # characters


def survival(rounds: pd.DataFrame) -> Figure:
    """Share of the anchors that stand after further rounds of compaction, by strategy and window.

    Takes `notebook.quality` rounds: session, strategy, window, age, survival, n. Thick: mean
    weighted by anchors; thin: sessions; hollow ring: first age with less than half of what stood
    at age 0. Anchors that a later message shows again are no longer counted: n shrinks.
    """
    known = rounds[(rounds["n"] > 0) & rounds["survival"].notna()]
    windows = sorted(set(known["window"]))
    labels = paper.in_order(rounds["strategy"])
    looks = paper.look_of(labels)
    with paper.style():
        figure, grid = paper.paper(FRAME_HEIGHT + PANEL_HEIGHT, 1, max(len(windows), 1),
                                   sharex=True, sharey=True)
        for axes, window in zip(grid[0], windows, strict=False):
            for label in labels:
                mine = known[(known["window"] == window) & (known["strategy"] == label)]
                _rounds(axes, mine, label, looks[label])
            axes.set_title(f"window {window_name(window)}")
            axes.set_xlabel("rounds of compaction since")
            axes.set_ylim(bottom=0)
            axes.grid(axis="y")
            paper.token_axis(axes.xaxis)
            paper.share_axis(axes.yaxis)
        grid[0][0].set_ylabel("anchors that still stand")
        if not windows:
            paper.blank(grid[0][0], "nothing was compacted but silently")
        names = [f"{name} {joined(rounds[name])}" for name in ("tokenizer", "summariser")]
        told = [plural(known["session"].nunique(), "session"),
                f"{len(known[['session', 'strategy', 'window', 'round']].drop_duplicates())} "
                "rounds", *names, "silent compactions are no rounds",
                "n: anchors that nothing but compactions carries"]
        return paper.finish(figure, "What is left of a round's anchors after further rounds",
                            " · ".join(told), _legend(sorted(set(known["strategy"]),
                                                             key=labels.index), looks))


def _rounds(axes: Axes, rows: pd.DataFrame, label: str, look: tuple[str, str]) -> None:
    for _, mine in rows.groupby("session", sort=False):
        ages, shares = _by_age(mine)
        axes.plot(ages, shares, color=look[0], linewidth=0.7, alpha=0.4, label=f"{label} session")
    ages, shares = _by_age(rows)
    if not ages:
        return
    axes.plot(ages, shares, color=look[0], marker=look[1], markersize=4.5, linewidth=1.6,
              label=f"{label} mean")
    counts = [float(paper.numbers(rows["n"])[paper.numbers(rows["age"]) == age].sum())
              for age in (ages[0], ages[-1])]
    for at, count in zip((0, -1), counts, strict=True):
        axes.annotate(f"n = {kilo(count)}", (ages[at], shares[at]), xytext=(4, 5), size=7,
                      textcoords="offset points", color=look[0])
    fallen = next((at for at, share in enumerate(shares) if share < FALLEN * shares[0]), None)
    if fallen is not None:
        axes.plot([ages[fallen]], [shares[fallen]], marker="o", markersize=10, color="none",
                  markeredgecolor=look[0], linestyle="none", label=f"{label} fallen")


def _by_age(rows: pd.DataFrame) -> tuple[list[float], list[float]]:
    """Ages, and the survival at each, weighted by anchors."""
    ages, shares, counts = (paper.numbers(rows[name]) for name in ("age", "survival", "n"))
    found = sorted(set(ages.tolist()))
    return found, [float((shares * counts)[ages == age].sum() / counts[ages == age].sum())
                   for age in found]


def _legend(labels: list[str], looks: dict[str, tuple[str, str]]) -> list[Any]:
    from matplotlib.lines import Line2D

    if not labels:
        return []
    handles = [Line2D([], [], color=looks[name][0], marker=looks[name][1], markersize=4.5,
                      label=paper.plain(name)) for name in labels]
    return [*handles, Line2D([], [], color=paper.GREY, linewidth=0.7, label="one session"),
            Line2D([], [], color="none", marker="o", markersize=9, linestyle="none",
                   markeredgecolor=paper.GREY, label="first under half of round 0")]


def needs_sums(needs: pd.DataFrame) -> pd.DataFrame:
    """A line a strategy: of the needs at all cuts, how many were kept, only named, or lost.

    `cuts` counts those at which the strategy was served: only they have needs of it.
    """
    import pandas as pd

    lines = []
    for label in paper.in_order(needs["strategy"]):
        mine = needs[needs["strategy"] == label]
        line: dict[str, Any] = {"strategy": label, "sessions": mine["session"].nunique(),
                                "cuts": len(mine[["session", "cut"]].drop_duplicates()),
                                "needs": len(mine)}
        line |= {fate: int((mine["fate"] == fate).sum()) for fate in FATES}
        lost = mine[mine["fate"] == "lost"]
        kinds = sorted(lost["kind"].value_counts().to_dict().items(), key=lambda p: (-p[1], p[0]))
        line["lost most"] = ", ".join(f"{kind} {count}" for kind, count in kinds[:3]) or NONE
        lines.append(line)
    return pd.DataFrame(lines).set_index("strategy") if lines else pd.DataFrame()


def lost_and_needed(needs: pd.DataFrame, most: int = 30) -> pd.DataFrame:
    """The needs that at least one strategy lost, the most urgent first: a column a strategy.

    `later`: after how many of the agent's answers it was used; `used by`: the tool that was
    called with it, or `text`; `as` quotes the use. `kept`: with two of the words that it stood
    among; `name only`: without; `–`: the request at the cut was refused.
    """
    import pandas as pd

    key = ["session", "cut", "anchor", "kind", "stood in", "used by", "later", "weight", "quote"]
    labels = paper.in_order(needs["strategy"])
    if not (needs["fate"] == "lost").any():
        return pd.DataFrame()
    wide = needs.pivot_table(index=key, columns="strategy", values="fate", aggfunc="first",
                             sort=False)[labels]
    wide = wide[(wide == "lost").any(axis=1)].reset_index()
    wide = wide.sort_values(["weight", "session", "cut"], ascending=[False, True, True],
                            kind="stable")
    shown = _spread(wide, most)
    shown["anchor"] = [short(text, LONGEST_ANCHOR) for text in shown["anchor"]]
    shown["as"] = [short(text, LONGEST_QUOTE) for text in shown["quote"]]
    for label in labels:
        shown[label] = shown[label].fillna(NONE)
    shown = shown[["session", "cut", "anchor", "kind", "stood in", "later", "used by", "as",
                   *labels]]
    return shown.set_index(["session", "cut", "anchor"]).rename_axis(columns=None)


def _spread(wide: pd.DataFrame, most: int) -> pd.DataFrame:
    """At most so many lines, as many of each cut as can be, in the order of cuts."""
    rank = wide.groupby(["session", "cut"], sort=False).cumcount()
    best = wide.assign(rank=rank).sort_values("rank", kind="stable").head(most)
    return best.sort_values(["session", "cut", "rank"], kind="stable")
