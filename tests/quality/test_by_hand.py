"""A session of ten messages, every figure worked out by hand."""

from __future__ import annotations

from math import isnan, log2

import pytest

from compactlab.quality import artifacts, constraints, cost, recall
from compactlab.quality.recall import needs
from compactlab.quality.survives import Case
from compactlab.quality.words import CLASSES
from tests.quality.stories import CUT, keys, span, ten, text_case

LATER = 1 / log2(3)  # weight of a need at step 1; at step 0 it is 1
SUMMARY = "parse_line: def with text in src/app/parser.py"


def made(text: str) -> Case:
    return text_case(span(ten(), CUT), text)


def test_at_risk_are_the_ten_anchors_of_the_six_messages() -> None:
    case = made("")
    assert keys(case.span, case.span.at_risk) == {
        "schema_version", "app/parser.py", "parse_line", "split_fields", "250ms",
        "tests/test_parser.py", "pytest tests/test_parser.py", "valueerror",
        "valueerror bad field count in row", "3failed",
    }


def test_needs_are_what_the_agent_used_before_anything_showed_it() -> None:
    found = span(ten(), CUT)
    steps = {keys(found, 1 << need.anchor).pop(): need.step for need in needs(found)}
    assert steps == {"parse_line": 0, "app/parser.py": 0, "split_fields": 0, "250ms": 1,
                     "tests/test_parser.py": 1, "pytest tests/test_parser.py": 1}


def test_recall_of_anchors_counts_each_once() -> None:
    assert recall.anchor_recall(made(SUMMARY)) == (0.2, 10)
    assert recall.anchor_recall(made(SUMMARY), "path") == (0.5, 2)
    assert recall.anchor_recall(made(SUMMARY), "number") == (0.0, 2)
    assert isnan(recall.anchor_recall(made(SUMMARY), "url").value)
    assert sum(recall.anchor_recall(made(SUMMARY), kind).n for kind in CLASSES) == 10


def test_forward_reference_recall_weighs_what_is_needed_at_once_most() -> None:
    assert recall.forward_reference_recall(made(SUMMARY)) == (
        pytest.approx(2 / (3 + 3 * LATER)), 6)
    assert recall.forward_reference_recall(made("within 250 ms")) == (
        pytest.approx(LATER / (3 + 3 * LATER)), 6)


def test_bound_recall_wants_two_neighbours_and_leaves_out_what_had_none() -> None:
    total = 2 + LATER  # parse_line, split_fields and 250 ms stand in running text, others alone
    assert recall.bound_recall(made(SUMMARY)) == (pytest.approx(1 / total), 3)
    assert recall.bound_recall(made("timeout of 250 ms, then return")) == (
        pytest.approx(LATER / total), 3)
    assert recall.bound_recall(made("parse_line split_fields app/parser.py")) == (0.0, 3)
    assert recall.bound_recall(made("parse_line\nwas renamed")) == (0.0, 3)


def test_next_action_wants_all_arguments_of_a_call() -> None:
    assert recall.next_action_support(made(SUMMARY)) == (0.0, 2)
    assert recall.next_action_support(made("run pytest tests/test_parser.py")) == (0.5, 2)
    both = "src/app/parser.py has split_fields; pytest tests/test_parser.py"
    assert recall.next_action_support(made(both)) == (1.0, 2)


def test_verbatim_recall_wants_the_old_text_letter_for_letter() -> None:
    assert recall.verbatim_recall(made("return split_fields( text )")) == (0.0, 1)
    assert recall.verbatim_recall(made("it says return split_fields(text)")) == (1.0, 1)


def test_refetch_costs_the_one_result_that_holds_what_is_missing() -> None:
    case = made(SUMMARY)  # split_fields and 250 ms stand in the file that was read, 4 + 8 tokens
    assert cost.refetch_tokens(case) == (12.0, 2)
    saved = case.span.removed_tokens - case.fresh_tokens
    assert cost.net_saving(case) == (saved - 12, 2)
    assert cost.refetch_tokens(made("parse_line split_fields 250 ms")) == (0.0, 0)


def test_the_rule_is_kept_in_its_words_or_in_most_of_them() -> None:
    rule = "Never touch the table schema_version by hand."
    near = "The table schema_version: never touch it"
    assert constraints.constraint_verbatim(made(rule.lower())) == (1.0, 1)
    assert constraints.constraint_verbatim(made(near)) == (0.0, 1)
    assert constraints.constraint_retention(made(near)) == (1.0, 1)
    assert constraints.constraint_retention(made(near.replace("never", "often"))) == (0.0, 1)


@pytest.mark.parametrize(("said", "summary", "kept"), [
    ("Не трогайте таблицу схемы вручную.", "Правило: не трогайте таблицу схемы вручную", 1.0),
    ("Не трогайте таблицу схемы вручную.", "Трогайте таблицу схемы вручную", 0.0),
    ("请不要手动修改数据库的表结构。", "规则：不要手动修改数据库的表结构", 1.0),
    ("请不要手动修改数据库的表结构。", "手动修改数据库的表结构", 0.0),
])
def test_rules_are_found_in_russian_and_chinese(said: str, summary: str, kept: float) -> None:
    from tests.quality.stories import user

    case = text_case(span([user(said)], 1), summary)
    assert constraints.constraint_retention(case) == (kept, 1)


def test_the_artifact_trail_is_the_f1_of_files() -> None:
    assert artifacts.artifact_trail(made("src/app/parser.py tests/test_parser.py")) == (1.0, 2)
    assert artifacts.artifact_trail(made("src/app/parser.py")) == (pytest.approx(2 / 3), 2)
    assert artifacts.artifact_trail(made("src/app/parser.py src/app/other.py")) == (0.5, 2)


def test_what_a_summary_makes_up_and_repeats() -> None:
    assert artifacts.novel_anchors(made("parse_line and parse_row")) == (0.5, 2)
    twice = "one two three four five six seven eight " * 2  # nine runs, the first is the last
    assert artifacts.redundancy(made(twice)) == (pytest.approx(1 / 9), 9)


def test_losses_say_what_was_lost_and_where_it_was_needed() -> None:
    found = recall.losses(made(SUMMARY))
    assert [(loss.anchor, loss.kind, loss.at) for loss in found if not loss.survived] == [
        ("split_fields", "identifier", 0), ("250ms", "number", 2),
        ("pytest tests/test_parser.py", "command", 2), ("tests/test_parser.py", "path", 2)]


@pytest.mark.parametrize(("said", "summary", "kept"), [
    ("Please, don't touch the legacy billing module.", "don't touch legacy billing module", 1.0),
    ("Please, don’t touch the legacy billing module.", "don’t touch legacy billing module", 1.0),
    ("You must touch the legacy billing module.", "mustard: touch the legacy billing module", 0.0),
    ("Use only the legacy billing module.", "use commonly the legacy billing module", 0.0)])
def test_the_word_of_polarity_is_a_word(said: str, summary: str, kept: float) -> None:
    test_rules_are_found_in_russian_and_chinese(said, summary, kept)


@pytest.mark.parametrize("said", ["这个函数特别慢，运行时间很长。", "两个级别的日志有区别吗？",
                                  "Не синий фон на странице.",
                                  "Can't open the page, why does it fail?"])
def test_sentences_that_set_no_rule(said: str) -> None:
    from tests.quality.stories import store, user

    assert constraints.rules(store(), user(said)) == ()
