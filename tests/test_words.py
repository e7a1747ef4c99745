"""One spelling for figures and names, missing ones among them."""

from __future__ import annotations

from math import nan
from typing import Any

import pandas as pd
import pytest

from compactlab import words


@pytest.mark.parametrize(("saved", "text"), [
    (0.123, "12.3 % less"), (-0.003, "0.3 % more"), (0.0, "0.0 % less"), (1.0, "100.0 % less")])
def test_a_saving_below_nothing_is_more(saved: float, text: str) -> None:
    assert words.less(saved) == text


def test_there_is_no_share_of_minus_nothing() -> None:
    assert [words.percent(-0.0004, 1), words.percent(-0.001), words.percent(-0.05, 1),
            words.percent(-0.1), words.percent(0.1, sign=True), words.percent(0, sign=True)] == [
        "0.0 %", "0 %", "-5.0 %", "-10 %", "+10 %", "0 %"]


@pytest.mark.parametrize("missing", [None, nan, pd.NA])
@pytest.mark.parametrize("word", [words.number, words.kilo, words.share, words.percent,
                                  words.points, words.dollars])
def test_what_is_missing_is_a_dash(word: Any, missing: Any) -> None:
    assert word(missing) == "–"


@pytest.mark.parametrize(("tokens", "label"), [
    (0, "0"), (850, "850"), (1_500, "1.5K"), (32_000, "32K"), (127_900, "127.9K"),
    (1_200_000, "1.2M"), (-2_000, "-2K")])
def test_tokens_are_labelled_in_thousands_and_millions(tokens: int, label: str) -> None:
    assert words.kilo(tokens) == label


def test_an_interval_without_width_is_left_out() -> None:
    assert words.interval(0.43, 0.38, 0.471) == "43 % [38, 47]"
    assert words.interval(0.43, nan, nan, 1) == words.interval(0.43, 0.43, 0.43, 1) == "43.0 %"


def test_names_are_joined_once_each_and_not_too_many() -> None:
    assert words.joined(["b", "a", None, "b"]) == "a, b"
    assert words.joined(["c", "b", "a"], 2) == "a, b and 1 more"
    assert words.joined([]) == "none"


def test_a_text_is_cut_to_one_line() -> None:
    assert words.short("a\n b", 3) == "a b"
    assert words.short("abcdef", 4) == "abc…"
    assert words.short("ab" + " " * 99 + "cd", 4) == "ab…"
