"""What all charts share: colours, a figure that shows itself, title, caption and token ticks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cache
from math import ceil
from textwrap import wrap
from typing import TYPE_CHECKING, Any, TypeAlias

from compactlab.columns import KEY
from compactlab.errors import BadTable
from compactlab.words import NONE, joined, kilo, percent, plural, short, window_name

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy import bool_, float64
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[float64]
    Truths: TypeAlias = NDArray[bool_]

NOTE = "Replay: the agent's recorded behaviour is held fixed; size and loss, never task success."
DPI = 110
LETTERS_PER_LINE = 150
WIDTH = 9.5  # inches: the text width of a notebook

# Okabe and Ito's palette, told apart by colour-blind readers, too; without yellow, which is too
# light for a thin line.
BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
BLUE, VERMILLION, PURPLE = "#0072B2", "#D55E00", "#CC79A7"
GREY, LIGHT, INK = "#7F7F7F", "#D9D9D9", "#333333"

STRATEGY_COLOURS = (BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILLION, BLACK)
STRATEGY_MARKERS = ("o", "s", "D", "^", "v", "P", "X")
RAW = "raw"

STYLE: dict[str, Any] = {
    "font.size": 9, "axes.titlesize": 9, "axes.titleweight": "bold", "axes.titlelocation": "left",
    "axes.labelsize": 9, "axes.spines.top": False, "axes.spines.right": False,
    "axes.edgecolor": GREY, "axes.labelcolor": INK, "xtick.color": INK, "ytick.color": INK,
    "xtick.labelsize": 8, "ytick.labelsize": 8, "legend.fontsize": 8, "legend.frameon": False,
    "grid.color": "#EBEBEB", "grid.linewidth": 0.8, "axes.axisbelow": True,
    "hatch.linewidth": 0.6, "figure.facecolor": "white", "axes.facecolor": "white",
    "svg.hashsalt": "compactlab", "axes.formatter.useoffset": False,
    "text.parse_math": False,  # names come from recordings: a dollar sign is a dollar sign
}
LONGEST_NAME = 44
LAST_DRAWN_LETTER = "\u052f"  # end of the Cyrillic blocks: what the font that comes along can draw


def style() -> AbstractContextManager[None]:
    """The look of all charts, whatever the user's own matplotlib settings are."""
    from matplotlib.style import context

    return context(["default", STYLE])


@cache
def _chart_class() -> type[Figure]:
    from base64 import b64encode
    from io import BytesIO

    from matplotlib.figure import Figure

    class Chart(Figure):
        """A figure that a notebook shows as it is: no pyplot, no back end, no size guessed."""

        def _repr_mimebundle_(self, **_: object) -> tuple[dict[str, str], dict[str, Any]]:
            png = BytesIO()
            with style():
                self.savefig(png, format="png")
            data = b64encode(png.getvalue()).decode("ascii")
            alt = str(getattr(self, "alt", ""))
            return {"image/png": data, "text/plain": alt}, {"image/png": {"alt": alt}}

    return Chart


def paper(height: float, rows: int = 1, columns: int = 1, **grid: Any) -> tuple[Figure, Any]:
    """An empty figure of notebook width (height in inches), its axes as a two-dimensional array."""
    figure = _chart_class()(figsize=(WIDTH, height), dpi=DPI, layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, **grid)


def finish(figure: Figure, title: str, caption: str, handles: Sequence[Any] = ()) -> Figure:
    """Title, caption and legend above, the note below; the alternative text says the words."""
    height = figure.get_size_inches()[1]
    lines = wrap(caption, LETTERS_PER_LINE)
    legend_from = 0.34 + 0.16 * len(lines)
    figure.text(0.01, 1 - 0.08 / height, title, size=11, weight="bold", va="top", color=INK)
    figure.text(0.01, 1 - 0.31 / height, "\n".join(lines), size=8, va="top", color=GREY)
    figure.text(0.01, 0.05 / height, NOTE, size=7.5, va="bottom", color=GREY, style="italic")
    below, above = 0.24, legend_from + 0.06 + _legend(figure, handles, 1 - legend_from / height)
    rect = (0.0, below / height, 1.0, 1 - (below + above) / height)
    figure.set_layout_engine("constrained", rect=rect)
    figure.alt = f"{title}. {caption}. {NOTE}"  # type: ignore[attr-defined]
    return figure


def _legend(figure: Figure, handles: Sequence[Any], top: float) -> float:
    """Draw the legend in as many lines as it needs, in reading order; their height in inches."""
    if not handles:
        return 0.0
    width = sum(0.5 + 0.065 * len(str(handle.get_label())) for handle in handles)
    lines = ceil(width / WIDTH)
    columns = ceil(len(handles) / lines)
    by_column = [handle for start in range(columns) for handle in handles[start::columns]]
    figure.legend(handles=by_column, loc="upper left", bbox_to_anchor=(0.0, top), ncols=columns,
                  borderaxespad=0.0, columnspacing=1.4)
    return 0.05 + 0.19 * lines


def caption(table: pd.DataFrame, *more: str, windows: bool = True) -> str:
    """n, windows, tokenizer and summariser of a table, in a line; then what else is to be said."""
    parts = [plural(table["session"].nunique(), "session")]
    if windows:
        sizes = sorted(set(table["window"].tolist()))
        parts.append(("window " if len(sizes) == 1 else "windows ")
                     + ", ".join(map(window_name, sizes)))
    parts.append("tokenizer " + joined(table["tokenizer"]))
    parts.append("summariser " + writers(table))
    return " · ".join([*parts, *(text for text in more if text)])


def writers(table: pd.DataFrame) -> str:
    """The summarisers of a table, and how many summaries the fallback wrote in their place."""
    names = joined(table["summariser"])
    if "fallbacks" not in table:
        return names
    fallbacks = int(numbers(table["fallbacks"].fillna(0)).sum())
    summaries = int(numbers(table["summaries"].fillna(0)).sum())
    return f"{names} ({fallbacks} of {summaries} by the fallback)" if fallbacks else names


def with_key(table: pd.DataFrame, about: Mapping[str, Any] | None = None) -> pd.DataFrame:
    """The table with whole key columns: missing ones come from `about`, a window of 0 is none.

    Adds `label`: the strategy, with its settings and, where several are compared, its summariser.
    """
    lacking = [c.name for c in KEY if c.name not in table and c.name not in (about or {})]
    if lacking:
        raise BadTable(f"the table lacks the columns {', '.join(lacking)}: give a row of the table "
                       "`runs` (Replay.summary) as `about`")
    own = {c.name: (about or {})[c.name] for c in KEY if c.name not in table}
    found = table.assign(**own)
    found = found.assign(window=_whole(found["window"]))
    label = found["strategy"].astype(str)
    settings = found["settings"].astype("string").fillna("").astype(str)
    label = label.where(settings == "", label + " " + settings)
    if found["summariser"].nunique() > 1:
        label = label + " [" + found["summariser"].astype(str) + "]"
    if "head_kind" in found:  # a run that failed has none
        found["head_kind"] = found["head_kind"].astype("string").fillna(NONE).astype(str)
    return found.assign(label=label)


def token_axis(axis: Any) -> None:
    """Ticks of an axis in thousands of tokens, few enough to be read."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axis.set_major_locator(MaxNLocator(5, integer=True))
    axis.set_major_formatter(FuncFormatter(lambda value, _: kilo(value)))


def share_axis(axis: Any) -> None:
    """Ticks of an axis in per cent."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axis.set_major_locator(MaxNLocator(5))
    axis.set_major_formatter(FuncFormatter(lambda value, _: percent(value)))


def look_of(strategies: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Colour and marker of each strategy, by order; `raw` is always grey."""
    others = [name for name in strategies if name != RAW]
    looks = {
        name: (STRATEGY_COLOURS[i % len(STRATEGY_COLOURS)],
               STRATEGY_MARKERS[(i + i // len(STRATEGY_COLOURS)) % len(STRATEGY_MARKERS)])
        for i, name in enumerate(others)
    }
    return {name: looks.get(name, (GREY, "x")) for name in strategies}


def plain(name: object) -> str:
    """A name from a recording as the chart's font can draw it, not too long."""
    drawn = "".join(c if c.isprintable() and c <= LAST_DRAWN_LETTER else "?" for c in str(name))
    return short(drawn, LONGEST_NAME)


def numbers(column: pd.Series[Any]) -> Floats:
    """A column as floats, NaN where a value is missing, whatever its type is."""
    import numpy as np
    import pandas as pd

    values = pd.to_numeric(column, errors="coerce").astype("Float64")
    return np.asarray(values.to_numpy(dtype=float, na_value=float("nan")), dtype=np.float64)


def _whole(column: pd.Series[Any]) -> Any:
    return [0 if value != value else int(value) for value in numbers(column).tolist()]


def truths(column: pd.Series[Any]) -> Truths:
    """A column as truth values; a missing one is false."""
    import numpy as np

    return np.asarray(column.astype("boolean").fillna(False), dtype=np.bool_)


def in_order(values: pd.Series[Any]) -> list[Any]:
    """The distinct values in the order in which the table has them."""
    return list(dict.fromkeys(values.dropna()))


def blank(axes: Axes, text: str) -> None:
    """An empty panel that says why it is empty."""
    axes.text(0.5, 0.5, text, ha="center", va="center", color=GREY, transform=axes.transAxes)
    axes.set_xticks([])
    axes.set_yticks([])
