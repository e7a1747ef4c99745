"""Pairs of contestants: at the same cuts, by format, with corrected p-values."""

from __future__ import annotations

import pandas as pd
import pytest

from compactlab.charts import pairs_table
from compactlab.columns import frame
from compactlab.quality.pairs import PAIRS, pairs
from compactlab.quality.table import COLUMNS


def rows(values: dict[str, list[float | None]], *, budget: float | None = 0.05,
         window: int | None = None, form: str = "own") -> list[tuple[object, ...]]:
    """A row a contestant and session, one cut each; None = the request was refused."""
    return [(f"{form}{n}", form, name, "cut", window, budget, 3, value is not None,
             "" if value is not None else "unserved", "frr", value, 5)
            for name, given in values.items() for n, value in enumerate(given)]


def table(*parts: list[tuple[object, ...]]) -> pd.DataFrame:
    return frame(COLUMNS, [row for part in parts for row in part])


def test_a_difference_is_the_mean_over_the_sessions_that_both_have() -> None:
    found = pairs(table(rows({"a": [0.9, 0.8, None], "b": [0.5, 0.5, 0.1]})))
    assert list(found.columns) == [column.name for column in PAIRS]
    (one,) = found.to_dict("records")
    assert one["difference"] == pytest.approx(0.35)
    assert one["sessions"] == 2
    assert one["verdict"] == "a higher"
    assert pd.isna(one["p"]), "no p-value under eight sessions"


def test_a_refusal_of_a_third_one_costs_a_pair_nothing() -> None:
    two = {"a": [0.9, 0.8, 0.7], "b": [0.5, 0.5, 0.1]}
    three = pairs(table(rows({**two, "c": [None, None, 0.2]})))
    alone = pairs(table(rows(two)))
    of_two = three[(three["first"] == "a") & (three["second"] == "b")].reset_index(drop=True)
    pd.testing.assert_frame_equal(of_two, alone)


def test_contestants_that_share_no_cut_are_no_pair() -> None:
    apart = {"a": [0.9, None], "b": [None, 0.5]}
    assert pairs(table(rows(apart))).empty
    assert pairs(table(rows({"a": [0.9, 0.8], "b": [None, None]}))).empty


def test_replays_without_a_window_are_compared_too() -> None:
    found = pairs(table(rows({"a": [0.9, 0.8], "b": [0.5, 0.4]}, budget=None)))
    assert found["difference"].tolist() == pytest.approx([0.4])
    assert pd.isna(found["window"].iloc[0])
    assert pd.isna(found["budget"].iloc[0])


def test_p_values_are_corrected_within_their_family_alone() -> None:
    high, low = [0.5 + n / 100 for n in range(9)], [0.1 + n / 200 for n in range(9)]
    two = pairs(table(rows({"a": high, "b": low})))
    three = pairs(table(rows({"a": high, "b": low, "c": low})))
    apart = pairs(table(rows({"a": high, "b": low}), rows({"c": high, "d": low}, budget=0.2)))
    uncorrected = float(two["p"].iloc[0])
    assert uncorrected < 0.05
    assert float(three["p"].iloc[0]) == pytest.approx(3 * uncorrected)
    assert apart["p"].astype(float).tolist() == pytest.approx([uncorrected] * 2)


def test_windows_and_budgets_are_never_mixed_and_formats_come_before_the_pool() -> None:
    found = pairs(table(
        rows({"a": [0.9, 0.8], "b": [0.5, 0.4]}, budget=None, window=64_000),
        rows({"a": [0.1, 0.2], "b": [0.5, 0.4]}, budget=None, window=32_000),
        rows({"x": [0.1, 0.2], "y": [0.5, 0.4]}, form="pi")))
    assert found["format"].tolist() == ["own", "own", "pi", "all", "all", "all"]
    assert found["window"].tolist()[:2] == [32_000, 64_000]
    assert found["verdict"].tolist()[:3] == ["b higher", "a higher", "y higher"]


def test_one_session_has_no_interval_and_is_not_separable() -> None:
    (one,) = pairs(table(rows({"a": [0.9], "b": [0.1]}))).to_dict("records")
    assert pd.isna(one["low"])
    assert one["verdict"] == "not separable"


def test_a_pair_in_words_and_as_a_table_says_difference_interval_n_and_verdict() -> None:
    found = table(rows({"a": [0.9, 0.8], "b": [0.5, 0.4]}), rows({"c": [0.9], "d": [0.1]},
                                                                  budget=None, window=64_000))
    shown = pairs_table(found, 0.05)
    assert shown.loc[("own", "–", "5 %", "a - b"), "frr"] == "+0.40 [+0.40, +0.40] n=2 a higher"
    assert shown.loc[("own", "64K", "own", "c - d"), "frr"] == "+0.80 n=1 not separable"
    assert shown["bound_frr"].tolist() == ["–", "–"]
