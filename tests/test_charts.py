"""Charts from small tables: what is drawn, what is said, and that it is always the same."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from compactlab import charts
from compactlab.charts import paper
from compactlab.errors import BadTable
from compactlab.fates import Fates, Row
from tests.tables_by_hand import COMPACTION, NO_OP, RUN, compactions, requests, runs

STRATEGIES = ("raw", "escalating", "compressor", "layered")


def png(figure: Figure) -> bytes:
    data = BytesIO()
    figure.savefig(data, format="png")
    return data.getvalue()


def lines(axes: Axes, label: str) -> list[Any]:
    return [line for line in axes.get_lines() if line.get_label() == label]


def words(figure: Figure) -> str:
    """Every text of a figure that is not a tick."""
    found = [*figure.texts]
    for a in figure.axes:
        found += [a.title, a._left_title, a._right_title, *a.texts]  # type: ignore[attr-defined]
    legends = [t for legend in figure.legends for t in legend.get_texts()]
    return "\n".join(t.get_text() for t in [*found, *legends])


def walk() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Five requests: compacted at 2, refused at 3, 4 never sent."""
    sent = requests(
        {"request": 0, "raw_tokens": 20_000, "tokens": 20_000},
        {"request": 1, "raw_tokens": 31_000, "tokens": 31_000},
        {"request": 2, "raw_tokens": 40_000, "tokens": 15_000, "level": 1},
        {"request": 3, "raw_tokens": 70_000, "tokens": 45_000, "served": False},
        {"request": 4, "raw_tokens": 80_000, "tokens": None, "served": False},
    )
    made = compactions(
        {"request": 2, "level": 0}, {"request": 2, "level": 1},
        {"request": 3} | NO_OP, {"request": 1, "silent": True, "member": "truncate"})
    return sent, made


# --- the saw-tooth ------------------------------------------------------------------------------


def test_the_saw_tooth_draws_what_was_sent_the_raw_line_and_the_window() -> None:
    axes = charts.sawtooth(*walk()).axes[0]
    sent = lines(axes, "sent")[0].get_ydata()
    assert list(sent[:3]) == [20_000, 31_000, 15_000]
    assert np.isnan(sent[3:]).all()
    assert list(lines(axes, "raw")[0].get_ydata()) == [20_000, 31_000, 40_000, 70_000, 80_000]
    assert set(lines(axes, "window")[0].get_ydata()) == {32_000}


def test_a_line_that_leaves_the_saw_tooth_says_how_far_it_goes_on() -> None:
    sent, made = walk()
    figure = charts.sawtooth(sent, made)
    assert "raw goes on to 80K" in words(figure).splitlines()
    top = figure.axes[0].get_ylim()[1]
    assert 45_000 < top < 80_000
    low = charts.sawtooth(sent.assign(raw_tokens=sent["raw_tokens"].clip(upper=70_000)), made)
    assert "goes on" not in words(low)
    assert low.axes[0].get_ylim()[1] > 70_000, "what is a little higher is shown whole"
    high = sent.assign(tokens=sent["tokens"].replace(45_000, 90_000))
    assert "raw goes on to 80K, refused goes on to 90K" in words(charts.sawtooth(high, made))
    assert "goes on" not in words(charts.sawtooth(sent.assign(window=0), made.assign(window=0)))


def test_the_saw_tooth_marks_refused_requests_and_shades_what_was_not_served() -> None:
    axes = charts.sawtooth(*walk()).axes[0]
    assert list(lines(axes, "refused")[0].get_xdata()) == [3]
    shades = [p for p in axes.patches if isinstance(p, Rectangle)]
    assert [(p.get_x(), p.get_x() + p.get_width()) for p in shades] == [(2.5, 4.5)]


def test_the_saw_tooth_marks_compactions_by_level_and_no_ops_hollow() -> None:
    axes = charts.sawtooth(*walk()).axes[0]
    dots = lines(axes, "compaction")
    assert [dot.get_xdata()[0] for dot in dots] == [2, 2]
    assert len({to_hex(dot.get_color()) for dot in dots}) == 2
    assert [dot.get_color() for dot in lines(axes, "no-op")] == ["white"]
    silent = next(c for c in axes.collections if c.get_label() == "silent")
    assert len(silent.get_paths()) == 1


def test_the_legend_names_only_what_is_there() -> None:
    figure = charts.sawtooth(*walk())
    for name in ("level 0", "level 1", "no-op", "silent compaction", "refused", "not served"):
        assert name in words(figure)
    calm = charts.sawtooth(requests({}, {"request": 1}), compactions())
    for name in ("level", "no-op", "refused", "silent"):
        assert name not in words(calm)


def test_several_strategies_and_windows_are_small_multiples() -> None:
    rows = [{"strategy": s, "window": w} for s in STRATEGIES for w in (32_000, 64_000, 128_000)]
    figure = charts.sawtooth(requests(*rows), compactions(*rows[3:]))
    titles = [axes._left_title.get_text() for axes in figure.axes]  # type: ignore[attr-defined]
    assert len(titles) == 12
    assert titles[:4] == ["raw · 32K", "raw · 64K", "raw · 128K", "escalating · 32K"]


def test_a_saw_tooth_of_two_sessions_is_refused() -> None:
    with pytest.raises(BadTable, match="of 2"):
        charts.sawtooth(requests({}, {"session": "s2"}), compactions())


def test_tables_without_key_columns_need_the_run() -> None:
    key = ["session", "format", "strategy", "settings", "window", "summariser", "tokenizer"]
    sent, made = (table.drop(columns=key) for table in walk())
    with pytest.raises(BadTable, match="session, format"):
        charts.sawtooth(sent, made)
    assert "escalating · 32K" in words(charts.sawtooth(sent, made, RUN))


def test_a_replay_without_a_window_has_no_window_line() -> None:
    sent = requests({"window": None, "raw_tokens": 9, "tokens": 9})
    figure = charts.sawtooth(sent, compactions({"window": None}))
    assert not lines(figure.axes[0], "window")
    assert "window none" in words(figure)


# --- every figure -------------------------------------------------------------------------------


def many() -> list[dict[str, Any]]:
    """Runs of four strategies, two windows, three sessions."""
    rows = [{"strategy": s, "window": w, "session": n} for s in STRATEGIES
            for w in (32_000, 64_000) for n in ("s1", "s2", "s3")]
    return [row | {"token_reduction": 0.03 * n} for n, row in enumerate(rows, 1)]


FIGURES: dict[str, Callable[[], Figure]] = {
    "sawtooth": lambda: charts.sawtooth(*walk()),
    "strip": lambda: charts.strip(before_and_after(), RUN),
    "reduction": lambda: charts.reduction(runs(*many())),
    "by format": lambda: charts.reduction(runs(*many()), by_format=True),
    "effective rate": lambda: charts.effective_rate(compactions({}, NO_OP, {"window": 64_000})),
    "levels": lambda: charts.levels(*walk()),
}


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_says_how_much_of_what_and_that_it_is_a_replay(name: str) -> None:
    figure = FIGURES[name]()
    told = words(figure)
    assert "tokenizer o200k_base · summariser extractive" in told
    assert "session" in told and "window" in told
    assert "the agent's recorded behaviour is held fixed" in told
    shown, about = figure._repr_mimebundle_()  # type: ignore[attr-defined]
    assert set(shown) == {"image/png", "text/plain"}
    assert "behaviour is held fixed" in about["image/png"]["alt"]


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_drawn_twice_is_the_same_to_the_byte(name: str) -> None:
    assert png(FIGURES[name]()) == png(FIGURES[name]())


def test_the_user_s_own_settings_do_not_change_a_chart() -> None:
    plain = charts.sawtooth(*walk())._repr_mimebundle_()  # type: ignore[attr-defined]
    with matplotlib.rc_context({"font.size": 20, "axes.facecolor": "black"}):
        assert charts.sawtooth(*walk())._repr_mimebundle_() == plain  # type: ignore[attr-defined]


def test_names_from_a_recording_are_drawn_as_they_are() -> None:
    name = r"$\frac{1}{$ 💥 name" + "x" * 80
    figure = charts.sawtooth(requests({"session": name}), compactions())
    assert png(figure)
    assert r"$\frac{1}{$ ? name" in words(figure)


def test_nothing_of_pyplot_is_touched() -> None:
    import matplotlib.pyplot as plt

    for draw in FIGURES.values():
        draw()
    assert plt.get_fignums() == []


# --- the strip ----------------------------------------------------------------------------------


def before_and_after() -> Fates:
    rows: list[Row] = []
    cells: tuple[tuple[Any, ...], ...] = (
        ("before", 0, "system", "system", 100, "kept"),
        ("before", 1, "user", "user", 200, "summarised"),
        ("before", 2, "tool", "tool", 500, "dropped"),
        ("before", 3, "assistant", "assistant", 300, "kept"),
        ("after", 0, "system", "system", 100, "kept"),
        ("after", 1, "user", "summary", 50, "new"),
        ("after", 2, "assistant", "assistant", 300, "kept"),
    )
    for side, index, role, kind, tokens, fate in cells:
        rows.append(Row(side, index, role, kind, tokens, fate, "text"))
    return Fates(tuple(rows), "compressor", None, 1_000, 350, "short", 7)


def test_every_message_of_the_strip_is_a_cell_as_wide_as_its_tokens() -> None:
    axes = charts.strip(before_and_after(), RUN).axes[0]
    cells = {}
    for collection in axes.collections:
        for path in collection.get_paths():
            box = path.get_extents()
            cells[str(collection.get_label()), round(box.y0, 2)] = (box.x0, box.width)
    top, bottom = 0.72, -0.28
    assert cells["user summarised", top] == (100, 200)
    assert cells["tool dropped", top] == (300, 500)
    assert cells["assistant kept", top] == (800, 300)
    assert cells["summary new", bottom] == (100, 50)
    assert cells["assistant kept", bottom] == (150, 300)


def test_the_strip_tells_fates_apart_by_hatching_and_roles_by_colour() -> None:
    figure = charts.strip(before_and_after(), RUN)
    looks = {str(c.get_label()): (c.get_hatch(), tuple(c.get_facecolor()[0]))
             for c in figure.axes[0].collections if "_child" not in str(c.get_label())}
    assert len({hatch for hatch, _ in looks.values()}) == 4
    assert looks["system kept"][1] != looks["assistant kept"][1]
    assert "of the tokens before: kept 400, summarised 200, dropped 500; new 50" in words(figure)
    assert "in front of request 7" in words(figure)


def test_bands_lead_from_kept_messages_to_where_they_stand_afterwards() -> None:
    axes = charts.strip(before_and_after(), RUN).axes[0]
    corners = [patch.get_xy()[:4, 0].tolist() for patch in axes.patches]  # type: ignore[attr-defined]
    assert corners == [[0, 100, 100, 0], [800, 1_100, 450, 150]]


def test_a_strip_of_no_compaction_says_so() -> None:
    assert "nothing was compacted" in words(charts.strip(Fates(), RUN))


# --- means and reduction ------------------------------------------------------------------------


def several(*reductions: float, **other: Any) -> list[dict[str, Any]]:
    return [{"session": f"s{n}", "token_reduction": value} | other
            for n, value in enumerate(reductions)]


def mean_of(*rows: dict[str, Any]) -> dict[Any, Any]:
    table = paper.with_key(runs(*rows))
    return charts.means(table, "window", "label").to_dict("records")[0]


def test_a_mean_leaves_out_sessions_that_were_refused_in_part() -> None:
    rows = [*several(0.2, 0.4), {"session": "s9", "token_reduction": 0.9, "served_share": 0.5},
            {"session": "s8", "status": "impossible", "token_reduction": None}]
    found = mean_of(*rows)
    assert found["n"] == 2
    assert found["mean"] == pytest.approx(0.3)
    assert (found["n_partial"], found["mean_partial"], found["n_failed"]) == (1, 0.9, 1)


def test_an_interval_needs_two_sessions_and_is_the_same_each_time() -> None:
    assert np.isnan(mean_of(*several(0.2))["low"])
    found = mean_of(*several(0.1, 0.2, 0.4, 0.8))
    assert 0.1 <= found["low"] < found["mean"] < found["high"] <= 0.8
    again = mean_of(*several(0.1, 0.2, 0.4, 0.8))
    assert (again["low"], again["high"]) == (found["low"], found["high"])


def test_equal_values_have_an_interval_of_no_width() -> None:
    found = mean_of(*several(0.25, 0.25, 0.25))
    assert (found["low"], found["high"]) == (0.25, 0.25)


def test_the_reduction_draws_whole_runs_filled_and_partial_ones_hollow_in_brackets() -> None:
    figure = charts.reduction(runs(
        *several(0.2, 0.4), {"session": "s9", "token_reduction": 0.9, "served_share": 0.5}))
    axes = figure.axes[0]
    whole, partial = lines(axes, "escalating mean")[0], lines(axes, "escalating partial")[0]
    assert whole.get_ydata()[0] == pytest.approx(0.3)
    assert (partial.get_ydata()[0], partial.get_color()) == (0.9, "white")
    assert {t.get_text() for t in axes.texts} == {"2", "(1)"}
    assert [len(c.get_paths()) for c in axes.collections] == [1]


def test_a_single_session_is_a_point_without_an_interval() -> None:
    axes = charts.reduction(runs(*several(0.2))).axes[0]
    assert list(lines(axes, "escalating mean")[0].get_ydata()) == [0.2]
    assert not axes.collections


def test_kinds_of_hidden_heads_are_never_pooled() -> None:
    table = runs(*several(0.2, 0.4), *[r | {"session": "u", "head_kind": "unknown"}
                                      for r in several(0.8)])
    titles = [a._left_title.get_text() for a in charts.reduction(table).axes]  # type: ignore[attr-defined]
    assert titles == ["hidden head inferred · n = 2", "hidden head unknown · n = 1"]
    assert len(charts.comparison(table)) == 2


def test_formats_have_a_panel_each() -> None:
    rows = [r | {"format": name, "session": name + r["session"]}
            for name in ("own", "pi", "claude-code", "openai-chat") for r in several(0.2, 0.4)]
    figure = charts.reduction(runs(*rows), by_format=True)
    titles = [a._left_title.get_text().split("\n")[0] for a in figure.axes]  # type: ignore[attr-defined]
    assert titles[:4] == ["claude-code", "openai-chat", "own", "pi"]


def test_many_strategies_get_wider_panels_and_looks_of_their_own() -> None:
    names = [f"strategy {n}" for n in range(14)]
    rows = [{"strategy": name, "window": window, "head_kind": kind} for name in names
            for window in (32_000, 64_000) for kind in ("in_log", "unknown")]
    few, many = (charts.reduction(runs(*given)).axes[0].get_gridspec().ncols  # type: ignore[union-attr]
                 for given in (rows[:8], rows))
    assert (few, many) == (2, 1)
    assert len(set(paper.look_of(names).values())) == 14


def test_runs_that_failed_are_counted_in_the_caption() -> None:
    figure = charts.reduction(runs(*several(0.2), {"session": "x", "status": "error",
                                                   "token_reduction": None}))
    assert "1 run impossible or failed, not drawn" in words(figure)


def test_runs_that_all_failed_are_no_crash() -> None:
    failed = runs({"status": "error", "head_kind": None, "token_reduction": None,
                   "served_share": None, "stops": None, "peak_tokens": None, "compactions": None})
    assert "no run to show" in words(charts.reduction(failed))
    assert charts.comparison(failed).loc[("–", "32K", "escalating"), "token reduction"] == "–"
    assert not len(charts.by_format(failed)) and not len(charts.stops(failed))


def test_settings_and_summarisers_tell_runs_apart() -> None:
    table = paper.with_key(runs({}, {"settings": '{"threshold": 0.75}'}, {"summariser": "sized"}))
    assert list(table["label"]) == ["escalating [extractive]",
                                    'escalating {"threshold": 0.75} [extractive]',
                                    "escalating [sized]"]


# --- levels -------------------------------------------------------------------------------------


def bars(axes: Axes) -> dict[str, list[tuple[float, float]]]:
    """(left end, width) of the bars of a name."""
    return {str(c.get_label()): [(p.get_x(), p.get_width()) for p in c.patches]
            for c in axes.containers}  # type: ignore[attr-defined]


def test_the_effective_rate_counts_no_ops_and_leaves_silent_ones_out() -> None:
    table = compactions({}, {}, {"effective": False, "reduction": 0.01}, NO_OP, {"silent": True})
    axes = charts.effective_rate(table).axes[0]
    found = bars(axes)
    assert found["effective"] == [(0, 0.5)]
    assert found["saved under 10 %"] == [(0.5, 0.25)]
    assert found["no-op: under_budget"] == [(0.75, 0.25)]
    assert "2/4" in {t.get_text() for t in axes.texts}


def test_levels_have_a_line_each_and_strategies_without_one_a_single_line() -> None:
    table = compactions({}, {"level": 2}, {"strategy": "compressor", "level": None})
    axes = charts.effective_rate(table).axes[0]
    assert [t.get_text() for t in axes.get_yticklabels()] == [
        "escalating, level 0", "escalating, level 2", "compressor"]


def test_the_level_reached_tells_served_from_refused() -> None:
    sent = requests({"level": 0}, {"level": 0}, {"level": 2, "served": False},
                    {"served": False}, {}, {"served": False, "tokens": None})
    axes = charts.levels(sent, compactions({})).axes[0]
    found = bars(axes)
    assert found["level 0"] == [(0, 0.5)]
    assert found["level 2, refused"] == [(0.5, 0.25)]
    assert found["no level, refused"] == [(0.75, 0.25)]
    assert "2/4" in {t.get_text() for t in axes.texts}


def test_tables_without_compactions_give_a_panel_that_says_so() -> None:
    for figure in (charts.effective_rate(compactions()),
                   charts.levels(requests({}), compactions())):
        assert "none in these tables" in words(figure)
        assert png(figure)


# --- tables and labels --------------------------------------------------------------------------


def test_the_comparison_brackets_what_no_mean_contains() -> None:
    table = charts.comparison(runs(
        *several(0.2, 0.4), {"session": "s9", "token_reduction": 0.9, "served_share": 0.5,
                             "stops": 2, "stop_reason": "under_budget"}))
    row = table.loc[("inferred", "32K", "escalating")]
    assert row["token reduction"].startswith("30 % [")
    assert row["token reduction"].endswith("] (90 %)")
    assert (row["sessions"], row["served whole"], row["stops"]) == (3, 2, 2)


def test_the_effective_rate_of_several_runs_is_pooled() -> None:
    table = charts.comparison(runs(
        {"compactions": 1, "noops": 0, "effective_rate": 1.0},
        {"session": "s2", "compactions": 3, "noops": 6, "effective_rate": 1 / 9}))
    assert table["effective"].tolist() == ["20 %"]


def test_stops_are_counted_by_the_reason_of_the_first() -> None:
    table = charts.stops(runs(
        {"stops": 2, "stop_reason": "under_budget", "requests_unserved": 2},
        {"session": "s2", "stops": 1, "stop_reason": "exhausted", "head": 4_000},
        {"session": "s3"}))
    row = table.loc[("escalating", "32K")]
    assert (row["with a stop"], row["turns stopped"]) == (2, 3)
    assert (row["first: under_budget"], row["first: exhausted"]) == (1, 1)
    assert (row["median head"], row["requests unserved"]) == ("3K", "17 %")


def test_the_table_of_formats_leaves_raw_out_where_others_are_compared() -> None:
    table = charts.by_format(runs({}, {"strategy": "raw", "token_reduction": 0.0}))
    assert list(table.columns) == ["escalating"]
    assert table.iloc[0, 0] == "40 %"


def test_the_list_of_compactions_shows_no_ops_with_their_reason() -> None:
    table = charts.compaction_list(compactions({}, NO_OP | {"request": 2}, {"silent": True}))
    assert list(table["reason"]) == ["–", "under_budget"]
    assert list(table["effective"]) == ["yes", "no"]
    assert list(table["after"]) == ["12K", "30K"]


def test_tables_of_a_replay_with_nullable_types_are_read_alike() -> None:
    from compactlab.columns import COMPACTIONS, KEY, frame

    row = tuple(COMPACTION.get(c.name) for c in (*KEY, *COMPACTIONS))
    table = frame((*KEY, *COMPACTIONS), [row, row])
    by_hand = charts.compaction_list(compactions({}, {}))
    assert charts.compaction_list(table).to_dict("list") == by_hand.to_dict("list")


def test_strategies_keep_their_colours_and_raw_is_grey() -> None:
    looks = paper.look_of(list(STRATEGIES))
    assert looks["raw"][0] == paper.GREY
    assert len({colour for colour, _ in looks.values()}) == 4
    assert len({marker for _, marker in looks.values()}) == 4
    assert paper.look_of(list(STRATEGIES[1:]))["compressor"] == looks["compressor"]
