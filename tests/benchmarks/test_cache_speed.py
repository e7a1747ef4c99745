"""The cache simulator costs no more than the new blocks of a request."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from compactlab.caching import simulate
from compactlab.caching.parts import CacheBlock, CacheMark, CacheRequest
from compactlab.caching.simulator import simulate_requests
from compactlab.index import Index, index
from compactlab.replay import Replay, replay
from compactlab.session import Session
from compactlab.tokens import EncodingCounter
from tests.benchmarks.ratios import growth, interleaved
from tests.benchmarks.test_speed import ENCODING, WINDOW, repeated, texts, tokenizing

Report = Callable[[str, float, str], None]
NEW = 3  # blocks a request
GATES = {"raw": 0.04, "layered": 0.12, "compressor": 0.08, "escalating": 0.08}


def session(requests: int) -> list[CacheRequest]:
    """Requests that each bring three new blocks, with marks at the system prompt and the end."""
    made = []
    for n in range(requests):
        fresh = tuple(CacheBlock((n, k), 100) for k in range(NEW))
        marks = (CacheMark(2), CacheMark(NEW * (n + 1) - 1))
        made.append(CacheRequest(10.0 * n, fresh, marks, keep=NEW * n))
    return made


def test_twenty_thousand_requests_cost_ten_times_two_thousand(
    report: Report, benchmark: BenchmarkFixture
) -> None:
    short, long = session(2_000), session(20_000)
    grown = growth(lambda: simulate_requests(short), lambda: simulate_requests(long), 10)
    benchmark.pedantic(lambda: simulate_requests(short), rounds=1)
    report("cache simulation, 20,000 requests / 2,000", grown, "<= 13")
    assert grown <= 13


def cached(session: Session, store: Index, name: str, layout: str = "automatic"
           ) -> Callable[[], object]:
    return lambda: simulate(walked(session, store, name), layout=layout)


def walked(session: Session, store: Index, name: str) -> Replay:
    return replay(session, name, window=WINDOW, store=store, summariser="fallback")


def test_warm_replays_with_a_cache_cost_a_few_hundredths_of_the_tokenizer(
    pi: Session, report: Report, benchmark: BenchmarkFixture
) -> None:
    store = index(pi, ENCODING)
    work = {name: cached(pi, store, name) for name in GATES}
    plain = {"plain raw": lambda: walked(pi, store, "raw")}
    for run in (*work.values(), *plain.values()):
        run()
    times = interleaved({"tokenizer": tokenizing(texts([pi])), **work, **plain})
    benchmark.pedantic(work["raw"], rounds=1)
    ratios = {name: times[name] / times["tokenizer"] for name in GATES}
    for name, gate in GATES.items():
        report(f"warm {name} replay of pi with cache / tokenizer", ratios[name], f"<= {gate}")
    added = times["raw"] / times["plain raw"]
    report("raw replay with cache simulation / without", added, "<= 4")
    assert all(ratios[name] <= gate for name, gate in GATES.items()), ratios
    assert added <= 4


@pytest.mark.parametrize("layout", ["automatic", "system_and_3"])
def test_a_cached_replay_grows_in_proportion_to_the_session(
    pi: Session, report: Report, benchmark: BenchmarkFixture, layout: str
) -> None:
    count = EncodingCounter(ENCODING)

    def once(session: Session) -> Callable[[], object]:
        store = Index(session, count.texts, ENCODING)
        run = cached(session, store, "compressor", layout)
        run()
        return run

    short, long = once(repeated(pi, 2)), once(repeated(pi, 8))
    grown = growth(short, long, 4)
    benchmark.pedantic(short, rounds=1)
    report(f"t(4n) / t(n), compressor with cache, {layout}", grown, "<= 5.0")
    assert grown <= 5.0
