"""Medians of interleaved rounds, and the table that a benchmark run leaves behind."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from statistics import median
from time import perf_counter

ROUNDS = 7


def interleaved(work: Mapping[str, Callable[[], object]], rounds: int = ROUNDS) -> dict[str, float]:
    """Median seconds of each piece of work; the rounds take turns, so that drift hits all."""
    times: dict[str, list[float]] = {name: [] for name in work}
    gc.collect()
    gc.freeze()  # what the other benchmarks left alive is not collected over and over
    for _ in range(rounds):
        for name, call in work.items():
            gc.collect()
            start = perf_counter()
            call()
            times[name].append(perf_counter() - start)
    gc.unfreeze()
    return {name: median(found) for name, found in times.items()}


def growth(short: Callable[[], object], long: Callable[[], object], factor: int,
           rounds: int = 9) -> float:
    """Least seconds of the longer work / of the shorter one: for how time grows with size.

    `factor`: how much longer it is. The shorter one is done so many times in a row, and the rounds
    take turns: so both meet the same share of what else the machine does.
    """
    found: tuple[list[float], list[float]] = ([], [])
    gc.collect()
    gc.freeze()
    for _ in range(rounds):
        for call, repeats, times in ((short, factor, found[0]), (long, 1, found[1])):
            gc.collect()
            start = perf_counter()
            for _ in range(repeats):
                call()
            times.append((perf_counter() - start) / repeats)
    gc.unfreeze()
    return min(found[1]) / min(found[0])
