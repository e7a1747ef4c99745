"""Charts of the prompt cache and of money, from small tables; and the what-ifs of a notebook."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from compactlab import charts
from compactlab.charts.caching import CAUSE_LOOKS
from compactlab.charts.money import quadrant, savings
from compactlab.columns import CAUSES
from compactlab.errors import BadTable
from compactlab.notebook import caching, claims
from compactlab.session import Session
from tests.tables_by_hand import RUN, compactions, requests, runs
from tests.test_charts import lines, png, words
from tests.test_fates import recorded

MONEY = {
    "cache_layout": "automatic", "cache_ttl": "5m", "cache_read": 40_000, "cache_write_5m": 15_000,
    "cache_write_1h": 0, "uncached": 5_000, "hit_rate": 0.66, "cost": 0.5, "cost_raw": 1.0,
    "cost_saving": 0.5, "summariser_cost": 0.1, "bust_tokens": 9_000, "bust_cost": 0.03,
    "miss_expired": 12_000, "miss_diverged": 8_000, "price_model": "claude-opus-4-6",
    "prices_as_of": "2026-11-01 (genai-prices 1.0)",
}
BILLED = {"cache_read": 6_000, "cache_write_5m": 3_000, "cache_write_1h": 0, "uncached": 1_000}


def priced(*rows: dict[str, Any]) -> pd.DataFrame:
    """The table `runs` with a simulated cache."""
    table = runs(*rows)
    for name, value in MONEY.items():
        given = [row.get(name, value) for row in rows]
        table[name] = given
    for cause in CAUSES:
        table[f"miss_{cause}"] = table[f"miss_{cause}"].fillna(0)
    return table


def billed(*rows: dict[str, Any]) -> pd.DataFrame:
    table = requests(*rows)
    for name, value in BILLED.items():
        table[name] = [row.get(name, value) for row in rows]
    return table


def three() -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Three requests: read in part; expired; refused."""
    sent = billed(
        {"request": 0}, {"request": 1, "cause": "expired", "cache_read": 0, "uncached": 7_000},
        {"request": 2, "served": False, "tokens": None} | dict.fromkeys(BILLED))
    sent["cause"] = [None, "expired", None]
    return sent, compactions({"request": 1}, {"request": 0, "silent": True}), priced({})


# --- hits ---------------------------------------------------------------------------------------


def areas(figure: Figure) -> dict[str, float]:
    """Tokens of the first panel's areas, over its requests."""
    found = {}
    for collection in figure.axes[0].collections:
        name = str(collection.get_label())
        if name in BILLED:
            total = 0.0
            for path in collection.get_paths():
                x, y = path.vertices[:-1].T  # type: ignore[index]
                total += abs(float(np.dot(x, np.roll(y, 1)) - np.dot(y, np.roll(x, 1)))) / 2
            found[name] = total
    return found


def test_the_areas_of_hits_are_the_tokens_of_each_class() -> None:
    assert areas(charts.hits(*three())) == pytest.approx(
        {"cache_read": 6_000, "cache_write_5m": 6_000, "uncached": 8_000})


def test_hits_mark_compactions_silent_ones_and_what_expired() -> None:
    figure = charts.hits(*three())
    axes = figure.axes[0]
    assert list(lines(axes, "compaction")[0].get_xdata()) == [1]
    assert [(x, y) for x, y in lines(axes, "expired")[0].get_xydata()] == [(1, 10_000)]
    silent = next(c for c in axes.collections if c.get_label() == "silent")
    assert len(silent.get_paths()) == 1
    assert "escalating · 32K · 30 % read" in words(figure)
    for name in ("written for 5 min", "silent compaction", "mostly expired before it"):
        assert name in words(figure)
    assert "written for 1 h" not in words(figure)


def test_hits_are_of_one_session_and_need_the_cache_columns() -> None:
    with pytest.raises(BadTable, match="of 2"):
        charts.hits(billed({}, {"session": "s2"}), compactions(), priced({}))
    with pytest.raises(BadTable, match="run it again"):
        charts.hits(requests({}), compactions(), runs({}).drop(columns="cost"))


# --- misses -------------------------------------------------------------------------------------


def test_misses_are_a_share_of_the_prompt_tokens_of_the_same_runs() -> None:
    figure = charts.misses(priced({}, {"session": "s2"}))
    bars = {str(c.get_label()): c.patches[0] for c in figure.axes[0].containers}
    assert set(bars) == {"expired", "diverged"}
    assert bars["expired"].get_width() == pytest.approx(0.2)
    assert bars["diverged"].get_x() == pytest.approx(0.2)
    assert "40K" in words(figure) and "prompt changed before it" in words(figure)


def test_every_cause_has_a_look_of_its_own() -> None:
    assert set(CAUSE_LOOKS) == set(CAUSES)
    assert len({look[1:] for look in CAUSE_LOOKS.values()}) == len(CAUSES)


# --- money --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("tokens", "saved", "name"), [
    (0.4, 0.2, "saves both"), (0.4, -0.2, "saves tokens, loses money"),
    (-0.1, 0.2, "saves money, more tokens"), (-0.1, -0.2, "loses both"), (0.0, 0.0, "neither"),
    (float("nan"), 0.1, "–")])
def test_quadrants_are_named(tokens: float, saved: float, name: str) -> None:
    assert quadrant(tokens, saved) == name


def four() -> pd.DataFrame:
    return priced(
        {"cost_saving": 0.2}, {"session": "s2", "cost_saving": 0.4},
        {"session": "s3", "cost_saving": -3.0, "served_share": 0.5},
        {"strategy": "layered", "token_reduction": 0.8, "cost_saving": -0.1})


def test_savings_are_means_over_the_sessions_served_whole() -> None:
    escalating, layered = savings(four()).to_dict("records")
    assert (escalating["n"], escalating["n_partial"]) == (2, 1)
    assert escalating["money"] == pytest.approx(0.3)
    assert escalating["money_low"] < 0.3 < escalating["money_high"]
    assert escalating["quadrant"] == "saves both"
    assert (layered["n"], layered["quadrant"]) == (1, "saves tokens, loses money")
    assert np.isnan(layered["money_low"])


def test_money_draws_a_point_a_strategy_and_window_and_names_the_quadrants() -> None:
    figure = charts.money(four())
    axes = figure.axes[0]
    mean = lines(axes, "layered mean")[0]
    assert (mean.get_xdata()[0], mean.get_ydata()[0]) == (0.8, -0.1)
    told = words(figure)
    for name in ("saves both", "saves tokens, loses money", "loses both", "saves money,"):
        assert name in told
    assert "32K (n = 1)" in told and "1 run refused in part" in told
    low, high = axes.get_ylim()
    assert low < -0.1 and high > 0.4


def test_the_table_of_money_says_what_was_paid_and_for_what() -> None:
    row = charts.money_table(four()).loc[("inferred", "32K", "escalating")]
    assert row["money saved"].startswith("30 % [")
    assert (row["cost"], row["uncompacted"], row["summaries"]) == ("$1.50", "$3.00", "$0.30")
    assert (row["hit rate"], row["bust tokens"], row["verdict"]) == ("67 %", "27K", "saves both")


def test_runs_without_a_price_are_in_no_figure_of_money() -> None:
    table = priced({}, {"session": "s2", "cost": None, "cost_saving": -9.0})
    assert savings(table)["n"].tolist() == [1]
    none = priced({"cost": None})
    assert "no strategy served every request" in words(charts.money(none))
    assert "no run with a simulated cache" in words(charts.misses(none))


FIGURES = {
    "hits": lambda: charts.hits(*three()),
    "misses": lambda: charts.misses(four()),
    "money": lambda: charts.money(four()),
    "input savings": lambda: charts.input_savings(curve()),
}


def curve() -> pd.DataFrame:
    rows = [("s1", "claude-opus-4-6", "system_and_3", ttl, n, 0.1 * n, MONEY["prices_as_of"],
             "o200k_base") for ttl in ("5m", "1h") for n in range(5)]
    return pd.DataFrame(rows, columns=list(claims.CURVE))


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_says_how_it_was_simulated_and_at_whose_prices(name: str) -> None:
    figure = FIGURES[name]()
    told = words(figure).replace("\n", " ")
    assert "simulated, layout" in told and "TTL" in told
    assert "prices of claude-opus-4-6 as of 2026-11-01 (genai-prices 1.0)" in told
    assert "session" in told and "tokenizer o200k_base" in told and "summariser" in told
    assert "the agent's recorded behaviour is held fixed" in told
    assert png(figure) == png(FIGURES[name]())


def test_prices_of_several_days_and_models_are_told_in_short() -> None:
    rows = [{"session": f"s{n}", "prices_as_of": f"2026-11-0{n + 1} (genai-prices 1.0)",
             "price_model": f"m{n}"} for n in range(6)]
    told = words(charts.misses(priced(*rows))).replace("\n", " ")
    assert ("prices of m0, m1, m2, m3 and 2 more as of 2026-11-01 to 2026-11-06 (genai-prices 1.0)"
            in told)


# --- what-ifs -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def session() -> Session:
    """60 requests, a minute apart, with one pause of half an hour."""
    made = recorded(60)
    sent = [msgspec.structs.replace(request, time=60.0 * n + (1_800 if n > 40 else 0))
            for n, request in enumerate(made.requests, 1)]
    return msgspec.structs.replace(made, requests=tuple(sent))


def test_layouts_are_compared_with_no_cache_by_the_pause_before(session: Session) -> None:
    table = caching.layouts([session], tokenizer="rough")
    assert table.loc[("none", "–"), "against none"] == "0 %"
    assert set(table.index.get_level_values("layout")) == set(caching.ORDER)
    five, hour = (table.loc[[("system_and_3", ttl)]].iloc[0] for ttl in ("5m", "1h"))
    assert float(five["against none"].rstrip(" %")) > 0
    paused = "5 to 60 min (n = 1)"
    assert five[paused] == "0 %" and float(hour[paused].rstrip(" %")) > 90
    assert not len(caching.layouts([recorded(9)], tokenizer="rough")), "nothing would expire"


def test_the_saving_of_caching_begins_at_nothing_and_grows_with_the_session(session: Session
                                                                            ) -> None:
    table = claims.input_savings([session], tokenizer="rough")
    five = table[table["ttl"] == "5m"]["saving"].tolist()
    assert len(five) == len(session.requests)
    assert five[0] <= 0 < five[-1] < 1
    assert "TTL 1h" in words(charts.input_savings(table))


def test_the_claims_stand_beside_what_is_found(session: Session) -> None:
    table = claims.published([session], "compressor", 8_000, summariser="fallback",
                           tokenizer="rough")
    assert len(table) == 4
    assert table.columns.tolist() == ["31 to 100 (n = 1)"]
    cost, survived, restored, hour = table.iloc[:, 0]
    assert cost.endswith("% less")
    assert survived.startswith("too small to be cached: ")
    assert restored.startswith("within 2 requests: ")
    assert hour.startswith("with a pause of 5 to 60 min: cheaper in ")
    calm = claims.published([session], "compressor", 500_000, summariser="fallback",
                          tokenizer="rough")
    assert calm.iloc[:, 0].tolist()[1:3] == ["no compaction", "no compaction"]


def test_sessions_without_usage_have_nothing_to_validate(session: Session) -> None:
    assert not len(caching.validation([session]))


def test_run_by_hand_has_the_columns_that_the_charts_need() -> None:
    assert set(MONEY) <= set(priced({}).columns)
    assert not set(MONEY) & set(RUN)
