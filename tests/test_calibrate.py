"""The calibrated counter finds the factor of a made session and meets its targets on real ones."""

from __future__ import annotations

from pathlib import Path
from statistics import median

import pytest

from compactlab.calibrate import CONSTANTS, ESTIMATE, NAME, calibrate, tokenizer_of
from compactlab.formats import load
from compactlab.index import index
from compactlab.replay import replay
from compactlab.session import Message, Request, Session, Text, Usage

FACTOR, CONSTANT, HEAD = 1.3, 15, 5_000


def words(texts: list[str] | tuple[str, ...]) -> list[int]:
    return [len(text.split()) for text in texts]


def made(turns: int = 30, usage: bool = True) -> Session:
    """A session whose provider counts 1.3 tokens a word, and 15 more an answer."""
    messages: list[Message] = []
    requests = []
    total = float(HEAD)
    for turn in range(turns):
        said = 50 + 37 * (turn % 5)
        messages.append(Message("user", (Text("w " * said),), "user", f"u{turn}"))
        total += 4 + FACTOR * said
        output = 100 + turn
        bill = Usage(input=round(total), output=output) if usage else None
        requests.append(Request(len(messages), f"r{turn}", usage=bill))
        messages.append(Message("assistant", (Text("a " * 90),), "assistant", f"a{turn}"))
        total += output + CONSTANT
    return Session("made", "own", tuple(messages), tuple(requests))


def test_factor_and_constant_of_a_made_session_are_found() -> None:
    found = calibrate(made(), words)
    assert found is not None and found.answers
    assert found.factor == pytest.approx(FACTOR, abs=0.01)
    assert found.constant == CONSTANT
    assert found.error < 0.001 and found.n == 29


def test_answers_weigh_what_was_billed_for_them() -> None:
    session = made()
    store = index(session)
    assert store.tokenizer == NAME
    assert store.tokens(session.messages[1]) == 100 + round(store.calibration.constant)


def test_without_usage_nothing_is_calibrated() -> None:
    assert calibrate(made(usage=False), words) is None
    assert index(made(usage=False)).tokenizer == "o200k_base"


def test_too_few_requests_fix_nothing() -> None:
    assert calibrate(made(turns=4), words) is None


def test_an_encoding_that_is_named_is_not_calibrated() -> None:
    assert index(made(), "o200k_base").tokenizer == "o200k_base"


def test_a_known_family_without_usage_is_a_marked_estimate() -> None:
    import msgspec

    session = msgspec.structs.replace(made(usage=False), model="claude-sonnet-4-5")
    assert index(session).tokenizer == ESTIMATE
    plain = index(made(usage=False)).raw[-1]
    assert plain < index(session).raw[-1] < 1.3 * plain


@pytest.mark.parametrize(("model", "factor"), [
    ("claude-opus-4-6", 1.21), ("claude-opus-4-7-20260401", 1.50), ("claude-sonnet-5-5", 1.50),
    ("anthropic/claude-3-haiku", 1.21), ("claude-sonnet-4-5-20250929", 1.21),
])
def test_families_are_told_by_the_model_s_name(model: str, factor: float) -> None:
    found = tokenizer_of(model)
    assert found is not None and found.factor == factor


def test_other_models_have_no_family() -> None:
    assert tokenizer_of("gpt-5.5") is None and tokenizer_of("") is None


def test_odd_usage_is_clipped_and_shows_in_the_error() -> None:
    import msgspec

    session = made()
    odd = tuple(msgspec.structs.replace(r, usage=Usage(input=7 if i % 2 else 900_000, output=1))
                for i, r in enumerate(session.requests))
    found = calibrate(msgspec.structs.replace(session, requests=odd), words)
    assert found is not None
    assert CONSTANTS[0] <= found.constant <= CONSTANTS[1] and found.error > 1


@pytest.mark.parametrize(("folders", "target"), [
    (("charming-with-claude", "sungather-k8s-operator"), 0.02), (("pi-mono",), 0.01)])
def test_the_median_session_of_the_corpus_meets_its_target(
    corpus: Path, folders: tuple[str, ...], target: float
) -> None:
    sessions = [s for folder in folders for f in sorted((corpus / folder).glob("*.jsonl"))
                for s in load(f)]
    errors = [i.calibration.error for i in map(index, sessions) if i.calibration]
    assert len(errors) == len(sessions)
    assert median(errors) <= target


def test_the_recording_replayed_as_it_was_has_the_recorded_sizes(corpus: Path) -> None:
    session = load(corpus / "pi-mono" / "before-compaction.jsonl")[0]
    run = replay(session, "recorded", window=200_000)
    off = [abs(s.tokens - r.usage.prompt) / r.usage.prompt
           for s, r in zip(run.sent, session.requests, strict=True) if r.usage and s.tokens]
    assert len(off) == 471 and median(off) <= 0.01 and max(off) < 0.05
    assert [m.request for m in run.made] == [171, 294]
