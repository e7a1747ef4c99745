"""Intervals, pairs and corrections: what they say, and when they say nothing."""

from __future__ import annotations

from math import isnan, nan

import pytest

from compactlab import statistics
from compactlab.statistics import Comparison, Estimate, compare, estimate, holm


def test_an_interval_is_the_same_each_time_and_holds_the_mean() -> None:
    values = [n * n % 17 / 17 for n in range(40)]
    found = estimate([*values, nan], seed=1)
    statistics._estimate.cache_clear()
    assert found == estimate(values, seed=1) and found != estimate(values, seed=2)
    assert found.low < found.value < found.high and found.sessions == 40
    assert found.value == pytest.approx(sum(values) / 40)


def test_one_session_has_no_interval_and_none_has_no_mean() -> None:
    one = estimate([0.3])
    assert (one.value, one.sessions) == (0.3, 1) and isnan(one.low) and isnan(one.high)
    assert isnan(estimate([nan]).value)


def test_there_is_no_p_value_under_eight_sessions() -> None:
    for count, expected in ((7, True), (8, False)):
        high = {str(n): 0.8 + n / 100 for n in range(count)}
        low = {str(n): 0.2 + n / 200 for n in range(count)}
        found = compare({"high": high, "low": low})[0]
        assert (found.p is None) is expected
        assert found.verdict == "high higher"
        assert found.difference.sessions == count


def test_pairs_are_of_sessions_that_both_have() -> None:
    found = compare({"a": {"x": 1.0, "y": 0.5, "z": nan}, "b": {"y": 0.25, "z": 1.0}})[0]
    assert found.difference.sessions == 1 and found.difference.value == 0.25
    assert found.verdict == "not separable"


def test_an_interval_that_holds_zero_is_not_separable() -> None:
    assert Comparison("a", "b", Estimate(0.1, -0.1, 0.3, 9), 0.4).verdict == "not separable"
    assert Comparison("a", "b", Estimate(-0.2, -0.3, -0.1, 9), 0.01).verdict == "b higher"
    same = {str(n): 0.5 for n in range(9)}
    found = compare({"a": same, "b": same})[0]
    assert (found.p, found.verdict) == (1.0, "not separable")


def test_holm_steps_down_and_never_turns_the_order() -> None:
    assert holm([0.01, 0.04, None, 0.03]) == [0.03, 0.06, None, 0.06]
    assert holm([0.6, 0.7]) == [1.0, 1.0]
