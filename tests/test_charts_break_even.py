"""Break-even as a chart and a table, from small tables."""

from __future__ import annotations

import pandas as pd
import pytest

from compactlab import charts
from compactlab.errors import BadTable
from tests.tables_by_hand import compactions
from tests.test_charts import png, words
from tests.test_charts_caching import priced

PRICES = ("paid_once", "saved_each", "break_even", "break_even_simulated")


def made(*rows: tuple[float | None, float | None, int | None, int | None]) -> pd.DataFrame:
    table = compactions(*({"request": n} for n, _ in enumerate(rows)))
    for at, name in enumerate(PRICES):
        kind = "Float64" if at < 2 else "Int64"
        table[name] = pd.array([row[at] for row in rows], dtype=kind)
    return table


PAID = made((0.5, 0.1, 5, 4), (1.0, 0.1, 10, None), (0.3, 0.0, None, None), (None,) * 4)


def test_points_stand_at_formula_and_simulation_and_at_the_edges_without_one() -> None:
    figure = charts.break_even(PAID, priced({}))
    points = [line for line in figure.axes[0].lines if line.get_marker() not in ("None", "")]
    assert len(points) == 1, "one strategy"
    x, y = points[0].get_xdata(), points[0].get_ydata()
    assert list(x) == pytest.approx([5, 10, 22])
    assert list(y) == pytest.approx([4, 22, 22])
    assert "n = 3 requests with compactions" in words(figure)
    assert len(png(figure)) > 1_000


def test_medians_count_those_that_never_pay() -> None:
    (line,) = charts.break_even_table(PAID).to_dict("records")
    assert line["compacted"] == 3
    assert line["paid once"] == "$0.6000"
    assert line["even after, by the formula"] == "10"
    assert line["even after, as simulated"] == "never"
    assert line["paid back"] == "1 of 3"


def test_nothing_compacted_is_said() -> None:
    assert "nothing was compacted" in words(charts.break_even(made((None,) * 4), priced({})))
    assert charts.break_even_table(made((None,) * 4)).empty


def test_a_table_of_an_older_run_is_an_error_that_says_what_to_do() -> None:
    with pytest.raises(BadTable, match="run it again"):
        charts.break_even_table(compactions({}).drop(columns=list(PRICES), errors="ignore"))
