"""The simulator against what providers billed in recorded sessions."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from statistics import median

import pytest

from compactlab.caching import by_gap
from compactlab.caching.bridge import simulate
from compactlab.caching.validate import (
    VALIDATION,
    Validation,
    recorded_misses,
    table,
    validate,
)
from compactlab.errors import BadSession
from compactlab.formats import load
from compactlab.replay import replay
from compactlab.session import Event, Message, Request, Session, Text, Usage

NAMES = [column.name for column in VALIDATION]


def column(found: Iterable[Validation], name: str) -> list[float]:
    return [v.row[NAMES.index(name)] for v in found]


def totals(found: list[Validation]) -> tuple[float, float, float, float]:
    """(error of reads, of writes, of the hit rate in points, share of near requests)."""
    read, mine = sum(column(found, "read")), sum(column(found, "read_simulated"))
    write, wrote = sum(column(found, "write")), sum(column(found, "write_simulated"))
    prompt = sum(u.prompt for v in found for _, u, _ in v.pairs)
    total = sum(m.total for v in found for _, _, m in v.pairs)
    counts = column(found, "requests")
    near = sum(c * n for c, n in zip(column(found, "close"), counts, strict=True)) / sum(counts)
    writes = (wrote - write) / write if write else 0.0
    return (mine - read) / read, writes, 100 * (mine / total - read / prompt), near


def of(folder: Path, pattern: str, questions: str = "A") -> list[Validation]:
    return [v for path in sorted(folder.glob(pattern))
            for v in validate(load(path)[0], questions=questions)]


def test_opus_sessions_of_claude_code(corpus: Path) -> None:
    found = of(corpus / "charming-with-claude", "*.jsonl")
    reads, writes, hits, near = totals(found)
    assert abs(reads) <= 0.01
    assert abs(writes) <= 0.12
    assert abs(hits) <= 1
    assert near >= 0.95
    assert median(map(abs, column(found, "read_error"))) <= 0.002
    assert median(map(abs, column(found, "write_error"))) <= 0.01
    assert median(map(abs, column(found, "hit_rate_error"))) <= 0.002
    assert sum(column(found, "unexplained")) <= 0.05


def test_sonnet_sessions_of_claude_code(corpus: Path) -> None:
    found = of(corpus / "sungather-k8s-operator", "*.jsonl")
    reads, writes, hits, near = totals(found)
    assert abs(reads) <= 0.025
    assert abs(writes) <= 0.35
    assert abs(hits) <= 2.5
    assert near >= 0.93


def test_pi_with_its_observed_restarts(corpus: Path) -> None:
    session = load(corpus / "pi-mono" / "before-compaction.jsonl")[0]
    reads, writes, _, near = totals(validate(session, questions="A", observed=True))
    assert abs(reads) <= 0.01
    assert abs(writes) <= 0.06
    assert near >= 0.98
    (bare,) = validate(session, questions="A")
    assert {d.why for d in bare.differences if d.tokens > 1000} == {"restart"}


def test_gemini_through_openrouter(corpus: Path) -> None:
    found = of(corpus / "mini-swe-agent", "*.json")
    assert abs(totals(found)[0]) <= 0.02
    assert median(map(abs, column(found, "hit_rate_error"))) <= 0.02


def test_our_own_counter_gives_nearly_the_same(corpus: Path) -> None:
    both = of(corpus / "charming-with-claude", "*.jsonl", "AB")
    ours = [v for v in both if v.question == "B"]
    theirs = [v for v in both if v.question == "A"]
    assert median(column(ours, "prompt_error")) <= 0.02
    assert max(column(theirs, "prompt_error")) == 0
    assert abs(totals(ours)[2] - totals(theirs)[2]) <= 1


def test_the_gaps_hold_every_request(corpus: Path) -> None:
    found = of(corpus / "sungather-k8s-operator", "*.jsonl")
    rows = by_gap(found)
    assert sum(requests for _, requests, _, _ in rows) == sum(column(found, "requests"))
    assert rows[0][2] > rows[1][2]


def recorded(*usages: Usage, gap: float = 10.0, events: tuple[Event, ...] = (),
             kind: str = "user") -> Session:
    """One user message and one answer for each usage."""
    messages: list[Message] = []
    requests = []
    for n, usage in enumerate(usages):
        messages.append(Message("user", (Text(f"task {n}"),), "user", time=n * gap))
        requests.append(Request(len(messages), usage=usage, time=n * gap + 1,
                                model="claude-opus-5"))
        messages.append(Message("assistant", (Text(f"done {n}"),), "assistant", time=n * gap + 1))
    return Session("s", "test", tuple(messages), tuple(requests), model="claude-opus-5",
                   events=events)


FIRST = Usage(cache_read=5000, cache_write_5m=1000, output=5)
NEXT = Usage(cache_read=6000, cache_write_5m=500, output=5)
LOST = Usage(cache_read=5000, cache_write_5m=2000, output=5)


def test_a_session_that_behaves_has_no_error() -> None:
    (found,) = validate(recorded(FIRST, NEXT), questions="A")
    assert found.differences == ()
    assert len(table([found])) == 1


def test_a_resume_explains_a_lost_history_and_without_it_it_is_unexplained() -> None:
    (known,) = validate(recorded(FIRST, NEXT, LOST, events=(Event(4, "resume"),)), questions="A")
    assert known.differences == ()
    (unknown,) = validate(recorded(FIRST, NEXT, LOST), questions="A")
    assert [(d.why, d.tokens) for d in unknown.differences] == [("unexplained", 1500)]
    (pinned,) = validate(recorded(FIRST, NEXT, LOST), questions="A", observed=True)
    assert pinned.differences == ()


def test_recorded_misses_can_be_pinned_for_a_what_if() -> None:
    session = recorded(FIRST, NEXT, LOST)
    (event,) = recorded_misses(session)
    assert (event.request, event.keep) == (2, 5000)
    walk = replay(session, "raw", window=None, tokenizer="o200k_base")
    run = simulate(walk, events=[event])
    assert run.requests[2].cause == "event"


def test_a_resume_is_kept_in_what_ifs_unless_it_is_left_out() -> None:
    session = recorded(FIRST, NEXT, LOST, events=(Event(4, "resume"),))
    walk = replay(session, "raw", window=None, tokenizer="o200k_base")
    with_it, without = simulate(walk, layout="tools_system_2"), simulate(walk, events=())
    assert with_it.totals["miss_event"] > 0 == without.totals["miss_event"]


def test_a_session_without_usage_cannot_be_validated() -> None:
    session = recorded(Usage())
    with pytest.raises(BadSession, match="usage"):
        validate(session)
