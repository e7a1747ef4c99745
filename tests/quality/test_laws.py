"""What must hold of the metrics whatever the session: on generated and on recorded ones."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from functools import cache
from math import fsum, isnan
from pathlib import Path

import pytest

from compactlab.formats import load
from compactlab.index import index
from compactlab.quality import artifacts, recall
from compactlab.quality.anchors import lexicon
from compactlab.quality.controls import CONTROLS, keep_newest, random_lines
from compactlab.quality.cuts import at_cut, cuts, span_at
from compactlab.quality.profile import contestant
from compactlab.quality.recall import needs
from compactlab.quality.structure import is_sound
from compactlab.quality.survives import Case, Span
from compactlab.session import Message
from tests.quality.stories import CUT, result, says, span, store, ten, text_case, user

SHARES = ("frr", "bound_frr", "anchor_recall", "next_action", "verbatim", "constraint_verbatim",
          "constraint_retention", "artifact_trail")
PLACES = ("parser", "writer", "table", "index", "loader", "cache")
DOINGS = ("reads", "writes", "drops", "merges", "counts", "checks", "holds", "sorts")


@cache
def long_story(seed: int = 7, subject: str = "row") -> tuple[Message, ...]:
    """An agent that reads modules, then works on names out of them: 40 reads, 20 edits."""
    rng = random.Random(seed)
    names = [f"{rng.choice(DOINGS)}_{subject}_{n}" for n in range(120)]
    found = [user(f"Mend the {subject} module. You must never rename a public {subject} function.")]
    for n in range(40):
        path = f"src/{rng.choice(PLACES)}/{subject}_{n}.py"
        lines = [f"def {name}({rng.choice(PLACES)}, {rng.choice(DOINGS)}):  # {rng.choice(DOINGS)} "
                 f"every {subject} of the {rng.choice(PLACES)} within {rng.randrange(900)} ms"
                 for name in rng.sample(names, 6)]
        found += [says(f"I look at part {n}.", **{f"read_{n}": {"path": path}}),
                  result(f"read_{n}", "\n".join(lines))]
    for n in range(20):
        name = rng.choice(names)
        found += [says(f"I change {name}.", **{f"edit_{n}": {"name": name}}),
                  result(f"edit_{n}", "done")]
    return tuple(found)


def story_span(messages: Sequence[Message] | None = None) -> Span:
    return span(messages or long_story(), 81)


def test_identity_is_one_and_empty_is_none() -> None:
    for found in (story_span(), span(ten(), CUT)):
        whole, nothing = contestant(found, found.removed), contestant(found, "")
        for name in SHARES:
            if not isnan(whole[name]):  # type: ignore[arg-type]
                assert (whole[name], nothing[name]) == (1.0, 0.0), name
        assert len(needs(found)) >= 3
        assert whole["refetch_tokens"] == 0 and nothing["refetch_tokens"] > 0  # type: ignore[operator]
        assert whole["budget"] == 1.0 and nothing["budget"] == 0.0


def test_identity_and_emptiness_hold_in_recordings(corpus: Path) -> None:
    folder = corpus / "charming-with-claude"
    found = load(folder / "58b4f056-70da-42df-bc8e-fa516d8816f7.jsonl")[0]
    known = index(found, "o200k_base")
    place = cuts(found, 1)[0]
    here = span_at(found, place.at, known)
    whole, nothing = contestant(here, here.removed), contestant(here, "")
    scored = [name for name in SHARES if whole[f"{name}_n"]]
    assert {"frr", "bound_frr", "anchor_recall", "next_action", "verbatim"} <= set(scored)
    assert {whole[name] for name in scored} == {1.0}
    assert {nothing[name] for name in scored} == {0.0}


@pytest.mark.parametrize("control", [keep_newest, random_lines])
def test_nested_windows_are_monotone(control: object) -> None:
    found, before = story_span(), dict.fromkeys(SHARES, 0.0)
    held: set[str] = set()
    for share in (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 0.8, 1.0):
        text = control(found.removed, int(share * found.removed_tokens), found.store)  # type: ignore[operator]
        lines = set(text.splitlines())
        assert all(line in text for line in held), "the last one that fits may be cut"
        row = contestant(found, text)
        for name in ("frr", "bound_frr", "anchor_recall", "next_action"):
            assert row[name] >= before[name] - 1e-12, (name, share)  # type: ignore[operator]
            before[name] = float(row[name])  # type: ignore[arg-type]
        held = lines
    assert before["frr"] == 1.0


def test_deleting_one_needed_anchor_lowers_frr_by_exactly_its_weight() -> None:
    found = story_span()
    total = fsum(need.weight for need in needs(found))
    whole = "\n".join(message.text for message in found.removed)
    assert recall.forward_reference_recall(text_case(found, whole)).value == 1.0
    for need in needs(found):
        without = re.sub(rf"\b{lexicon(found.store).keys[need.anchor]}\b", "it", whole)
        lower = recall.forward_reference_recall(text_case(found, without)).value
        assert lower == pytest.approx(1 - need.weight / total, abs=1e-12)


def test_a_bag_of_identifiers_has_frr_but_no_bonds() -> None:
    found = story_span()
    budget = found.removed_tokens
    bag = text_case(found, CONTROLS["anchor_dump"](found.removed, budget, found.store))
    assert recall.forward_reference_recall(bag).value >= 0.9
    assert recall.bound_recall(bag).value <= 0.4


def test_a_bag_of_identifiers_of_recordings_too(corpus: Path) -> None:
    for name in ("0a0eb7b7-3abb-4e69-aa2b-0ff2d27f24e8", "9cfd6e0a-1756-4452-9524-ec866855c9de"):
        found = load(corpus / "charming-with-claude" / f"{name}.jsonl")[0]
        known = index(found, "o200k_base")
        for place in cuts(found, 3):
            here = span_at(found, place.at, known)
            limit = here.removed_tokens // 5
            bag = at_cut(here, CONTROLS["anchor_dump"](here.removed, limit, known))
            assert recall.forward_reference_recall(bag).value >= 0.9
            assert recall.bound_recall(bag).value <= 0.4


def test_swapped_digits_lower_the_recall_of_numbers_and_are_made_up() -> None:
    found = span([user("wait 250 ms, then 4096 MB, 87% and 1.5 GB"), says("ok")], 1)
    right = text_case(found, "250 ms, 4096 MB, 87%, 1.5 GB")
    wrong = text_case(found, "205 ms, 4069 MB, 87%, 1.5 GB")
    assert recall.anchor_recall(right, "number") == (1.0, 4)
    assert recall.anchor_recall(wrong, "number") == (0.5, 4)
    assert artifacts.novel_anchors(right).value == 0.0
    assert artifacts.novel_anchors(wrong).value == 0.5


def test_a_future_of_another_session_needs_next_to_nothing() -> None:
    own = story_span()
    other = long_story(8, "leaf")
    foreign = Span(own.store, own.before, own.removed, (), other[81:])
    assert len(needs(own)) >= 10
    assert len(needs(foreign)) == 0


def test_what_stands_in_what_was_kept_is_not_at_risk() -> None:
    messages = tuple(ten()[:CUT])
    found = Span(store(), messages, messages[:4], messages[4:], tuple(ten()[CUT:]))
    risk = {lexicon(found.store).keys[a] for a in lexicon(found.store).bits(found.at_risk)}
    assert "parse_line" in risk and "valueerror" not in risk


def test_the_gate_sees_an_orphan_that_the_session_did_not_have() -> None:
    found = span(ten(), CUT)
    assert is_sound(Case(found, found.removed))
    assert not is_sound(Case(found, found.removed[2:]))  # a result without its call
    assert not is_sound(Case(found, found.removed[:2]))  # a call without its result
    broken = span([says("", read_1={"path": "x"}), user("go")], 1)
    assert is_sound(Case(broken, broken.removed))  # it was open before


def test_figures_do_not_depend_on_what_was_measured_before() -> None:
    fresh = contestant(story_span(), "reads_row_1 in src/parser/row_1.py")
    used = story_span()
    for share in (0.5, 0.1):
        contestant(used, keep_newest(used.removed, int(share * used.removed_tokens), used.store))
    again = contestant(used, "reads_row_1 in src/parser/row_1.py")
    assert repr(again) == repr(fresh)
