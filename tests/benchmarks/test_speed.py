"""The gates: how far indexing and replaying may lie above the tokenizer's own time."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from time import perf_counter
from typing import Any

import msgspec
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from compactlab import vocabulary
from compactlab.counting import texts_of
from compactlab.formats import load
from compactlab.index import Index, index
from compactlab.replay import replay
from compactlab.session import Message, Session
from compactlab.strategies.presets import find
from compactlab.token_store import TokenStore
from compactlab.tokens import EncodingCounter
from tests.benchmarks.ratios import growth, interleaved

Report = Callable[[str, float, str], None]
ENCODING = "o200k_base"
WINDOW = 128_000
REPLAY_GATES = {"raw": 0.02, "layered": 0.07, "compressor": 0.05, "escalating": 0.05}
SETTINGS: dict[str, list[dict[str, Any]]] = {
    "raw": [{}] * 25,
    "escalating": [{"budget_margin": 8000 + 250 * i} for i in range(25)],
    "compressor": [{"threshold": 0.40 + 0.02 * i} for i in range(25)],
    "layered": [{"threshold": 30_000 + 2_000 * i} for i in range(25)],
}


def texts(sessions: list[Session]) -> list[str]:
    return [text for s in sessions for m in s.messages for text in texts_of(m)]


def tokenizing(found: list[str]) -> Callable[[], None]:
    encode = vocabulary.load(ENCODING).encode_ordinary

    def run() -> None:
        for text in found:
            encode(text)

    return run


def indexing(files: list[Path], store: TokenStore | None = None) -> Callable[[], None]:
    def run() -> None:
        count = EncodingCounter(ENCODING, store=store)
        for path in files:
            for session in load(path):
                Index(session, count.texts, ENCODING)

    return run


def test_index_costs_little_more_than_the_tokenizer(
    files: list[Path], tmp_path: Path, report: Report, benchmark: BenchmarkFixture
) -> None:
    store = TokenStore(tmp_path / "counts.sqlite", ENCODING)
    indexing(files, store)()
    sessions = [s for path in files for s in load(path)]
    times = interleaved({
        "tokenizer": tokenizing(texts(sessions)),
        "cold": indexing(files), "stored": indexing(files, store)}, rounds=15)
    benchmark.pedantic(indexing(files, store), rounds=1)
    cold, stored = times["tokenizer"] / times["cold"], times["stored"] / times["cold"]
    report(f"tokenizer alone / cold index, {len(files)} files", cold, ">= 0.75")
    report("index with stored counts / cold index", stored, "<= 0.30")
    assert cold >= 0.75
    assert stored <= 0.30


def replaying(session: Session, store: Index, name: str, **settings: Any) -> Callable[[], object]:
    pipeline = find(name, **settings)
    return lambda: replay(session, pipeline, window=WINDOW, store=store, summariser="fallback")


def test_warm_replays_cost_a_few_hundredths_of_the_tokenizer(
    pi: Session, report: Report, benchmark: BenchmarkFixture
) -> None:
    store = index(pi, ENCODING)
    work = {name: replaying(pi, store, name) for name in REPLAY_GATES}
    for run in work.values():
        run()
    times = interleaved({"tokenizer": tokenizing(texts([pi])), **work})
    benchmark.pedantic(work["layered"], rounds=1)
    ratios = {name: times[name] / times["tokenizer"] for name in REPLAY_GATES}
    for name, gate in REPLAY_GATES.items():
        report(f"warm {name} replay of pi / tokenizer on its text", ratios[name], f"<= {gate}")
    assert all(ratios[name] <= gate for name, gate in REPLAY_GATES.items()), ratios


def repeated(session: Session, times: int) -> Session:
    """The session several times over; every message a value of its own."""
    messages: list[Message] = []
    requests = []
    for turn in range(times):
        start = len(messages)
        messages += [msgspec.structs.replace(m, id=f"{turn}:{m.id}") for m in session.messages]
        requests += [msgspec.structs.replace(r, message=r.message + start)
                     for r in session.requests]
    return msgspec.structs.replace(session, messages=tuple(messages), requests=tuple(requests),
                                   compactions=())


@pytest.mark.parametrize("name", ["index", *REPLAY_GATES])
def test_time_grows_in_proportion_to_the_session(
    pi: Session, report: Report, benchmark: BenchmarkFixture, name: str
) -> None:
    count = EncodingCounter(ENCODING)
    short, long = repeated(pi, 2), repeated(pi, 8)

    def once(session: Session) -> Callable[[], object]:
        if name == "index":
            return lambda: Index(session, EncodingCounter(ENCODING).texts, ENCODING)
        store = Index(session, count.texts, ENCODING)
        replaying(session, store, name)()
        return replaying(session, store, name)

    small, large = once(short), once(long)
    grown = growth(small, large, 4)
    benchmark.pedantic(small, rounds=1)
    report(f"t(4n) / t(n), {name}", grown, "<= 5.0")
    # The index counts each distinct text once: four copies of a session cost less than four times.
    assert grown <= 5.0


def sweep(sessions: list[tuple[Session, Index]]) -> int:
    done = 0
    for session, store in sessions:
        for name, settings in SETTINGS.items():
            for chosen in settings:
                replay(session, name, window=WINDOW, store=store, summariser="fallback", **chosen)
                done += 1
    return done


def test_replays_per_second_are_reported(
    files: list[Path], report: Report, benchmark: BenchmarkFixture
) -> None:
    count = EncodingCounter(ENCODING)
    sessions = [(s, Index(s, count.texts, ENCODING)) for path in files for s in load(path)]
    sweep(sessions)
    start = perf_counter()
    done = benchmark.pedantic(sweep, (sessions,), rounds=1)
    rate = done / (perf_counter() - start)
    what = f"replays a second, warm, {len(sessions)} sessions x 4 systems x 25 settings"
    report(what, rate, ">= 500 on a quiet machine")
    assert done == len(sessions) * 100


def _sweep_file(path: str) -> float:
    count = EncodingCounter(ENCODING)
    sessions = [(s, Index(s, count.texts, ENCODING)) for s in load(path)]
    sweep(sessions)
    start = perf_counter()
    for _ in range(3):
        sweep(sessions)
    return perf_counter() - start


def test_two_processes_beat_one(
    pi: Session, corpus: Path, report: Report, benchmark: BenchmarkFixture
) -> None:
    path = str(corpus / "pi-mono" / "before-compaction.jsonl")
    with ProcessPoolExecutor(2) as pool:
        list(pool.map(_sweep_file, [path, path]))  # both workers are up and have their vocabulary
        alone = pool.submit(_sweep_file, path).result()
        both = max(pool.map(_sweep_file, [path, path]))
    benchmark.pedantic(lambda: None, rounds=1)
    gain = 2 * alone / both
    report("work of two processes / of one, warm, start-up left out", gain, ">= 1.3")
    assert gain >= 1.3
