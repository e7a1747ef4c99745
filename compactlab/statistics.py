"""Every 95 % interval over sessions, paired comparisons and p-values: by SciPy, from one seed.

Intervals are percentile bootstraps: plain to say, never outside what was measured, and there for
every two values; with the few sessions of a study a correction of bias (BCa) is itself a guess.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import combinations
from math import isnan, nan
from typing import NamedTuple

SEED = 20_260_101
RESAMPLES = 2_000
LEVEL = 0.95
LEAST_FOR_P = 8  # sessions: under these no p-value is given
LEAST_FOR_INTERVAL = 2
NOT_SEPARABLE = "not separable"


class Estimate(NamedTuple):
    """A mean over sessions with its interval; NaN bounds where there are too few sessions."""

    value: float
    low: float
    high: float
    sessions: int


class Comparison(NamedTuple):
    """Two contestants on the sessions that both have: mean of first - second, its interval.

    `p` is Wilcoxon's signed-rank test, corrected by Holm over the family, None under 8 sessions.
    """

    first: str
    second: str
    difference: Estimate
    p: float | None

    @property
    def verdict(self) -> str:
        """Who is ahead; `not separable` when the interval holds 0 or there is none."""
        low, high = self.difference.low, self.difference.high
        if isnan(low) or low <= 0 <= high:
            return NOT_SEPARABLE
        return f"{self.first if low > 0 else self.second} higher"


def estimate(values: Sequence[float], *, seed: int = SEED, level: float = LEVEL) -> Estimate:
    """The mean of one value a session, with the percentile bootstrap over sessions.

    NaN values are left out and not counted. The same values and seed give the same bounds.
    """
    return _estimate(tuple(float(value) for value in values if not isnan(value)), seed, level)


@lru_cache(maxsize=1 << 14)
def _estimate(known: tuple[float, ...], seed: int, level: float) -> Estimate:
    import numpy as np
    from scipy.stats import bootstrap

    if not known:
        return Estimate(nan, nan, nan, 0)
    mean = float(np.mean(known))
    if len(known) < LEAST_FOR_INTERVAL:
        return Estimate(mean, nan, nan, len(known))
    if min(known) == max(known):
        return Estimate(mean, mean, mean, len(known))
    found = bootstrap((np.asarray(known),), np.mean, confidence_level=level,
                      n_resamples=RESAMPLES, method="percentile", vectorized=True,
                      rng=np.random.default_rng(seed)).confidence_interval
    return Estimate(mean, float(found.low), float(found.high), len(known))


def compare(contestants: Mapping[str, Mapping[str, float]], *, seed: int = SEED,
            level: float = LEVEL) -> tuple[Comparison, ...]:
    """Every pair of contestants, paired by session; p-values corrected together by Holm.

    `contestants`: name -> session -> the session's mean. Sessions that one of a pair lacks, or
    where it is NaN, are left out of that pair.
    """
    pairs = []
    for first, second in combinations(contestants, 2):
        one, other = contestants[first], contestants[second]
        differences = [one[key] - other[key] for key in sorted(one.keys() & other.keys())
                       if not isnan(one[key] - other[key])]
        pairs.append((first, second, differences))
    corrected = holm([_p_value(differences) for _, _, differences in pairs])
    return tuple(
        Comparison(first, second, estimate(differences, seed=seed, level=level), p)
        for (first, second, differences), p in zip(pairs, corrected, strict=True))


def _p_value(differences: Sequence[float]) -> float | None:
    from scipy.stats import wilcoxon

    if len(differences) < LEAST_FOR_P:
        return None
    if not any(differences):
        return 1.0
    return float(wilcoxon(differences).pvalue)


def holm(values: Sequence[float | None]) -> list[float | None]:
    """Holm's step-down correction; None (no test made) stays None and is not counted."""
    known = sorted((value, at) for at, value in enumerate(values) if value is not None)
    found: list[float | None] = [None] * len(values)
    highest = 0.0
    for rank, (value, at) in enumerate(known):
        highest = max(highest, min(value * (len(known) - rank), 1.0))
        found[at] = highest
    return found
