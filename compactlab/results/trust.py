"""How far the simulated cache of a run and its prices can be trusted, in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

FEW = 0.0005  # of a run's cost: bands that are narrower show as nothing


def trust(runs: pd.DataFrame) -> tuple[str, ...]:
    """What must be said beside the money of a run (table `runs`); nothing where none was made."""
    known = runs[runs["cost"].notna()]
    if not len(known):
        return ()
    return (*_checked(known), *_band(known), *_basis(known), *_times(known))


def _checked(runs: pd.DataFrame) -> Iterator[str]:
    one = runs.drop_duplicates("session")
    rates = sorted(abs(float(error)) for error in one["hit_rate_error"].dropna())
    costs = sorted(abs(float(error)) for error in one["cost_error"].dropna())
    if not rates:
        yield ("error of the simulated cache: not known, no recording here says what was read from "
               "such a cache; the figures stand on the published rules alone")
        return
    told = (f"error of the simulated cache: replayed as they were recorded, {_sessions(len(rates))}"
            f" with a bill {'comes' if len(rates) == 1 else 'come'} out {100 * median(rates):.1f} points of hit rate off it (median; "
            f"worst {100 * rates[-1]:.1f})")
    if costs:
        told += (f" and {100 * median(costs):.1f} % of input cost (worst {100 * costs[-1]:.1f}); "
                 "`compactlab cache validate` says more")
    yield told


def _band(runs: pd.DataFrame) -> Iterator[str]:
    paid = runs[runs["cost"] > 0]
    if not len(paid):
        return
    below = float((1 - paid["cost_low"] / paid["cost"]).max())
    above = float((paid["cost_high"] / paid["cost"] - 1).max())
    if max(below, above) >= FEW:
        yield ("where the provider's documentation is open, other readings change a run's cost by "
               f"-{100 * below:.1f} % to +{100 * above:.1f} % (cost_low, cost_high)")


def _basis(runs: pd.DataFrame) -> Iterator[str]:
    one = runs.drop_duplicates("session")
    others = one[one["price_basis"] == "what-if"]
    if len(others):
        models = ", ".join(sorted(set(others["price_model"].astype(str))))
        yield (f"a what-if: {_sessions(len(others))} billed as {models}, which they did not run on "
               "or do not name")
    without = one[(one["cache_rule"] == "none") & (one["cache_layout"] != "none")]
    if len(without):
        models = ", ".join(sorted(set(without["price_model"].astype(str))))
        yield (f"no cache rule is known for {models}: nothing is cached in "
               f"{_sessions(len(without))} (--cache provider=… names one)")


def _times(runs: pd.DataFrame) -> Iterator[str]:
    one = runs.drop_duplicates("session")
    untimed = int((one["time"] == "assumed").sum())
    if untimed:
        yield (f"{_sessions(untimed)} without times: nothing expires in the simulated cache, so "
               "hits are as many as can be")
    back = int(one["clock_back"].fillna(0).sum())
    if back:
        yield (f"the recorded clock went back {back} times: such a request stands at the time of "
               "the one before it")


def _sessions(count: int) -> str:
    return f"{count:,} session" + ("" if count == 1 else "s")
