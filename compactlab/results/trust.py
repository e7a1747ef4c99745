"""How far the simulated cache of a run and its prices can be trusted, in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import TYPE_CHECKING

from compactlab.words import joined, percent, plural, points

if TYPE_CHECKING:
    import pandas as pd

FEW = 0.0005  # of a run's cost: bands that are narrower show as nothing


def trust(runs: pd.DataFrame, prices: str = "") -> tuple[str, ...]:
    """What must be said beside the money of a run (table `runs`); nothing where none was made.

    `prices`: the file of your own prices that the run was given.
    """
    known = runs[runs["cost"].notna()]
    if not len(known):
        return ()
    unused = prices and not known["prices_as_of"].str.contains("your table", regex=False).any()
    told = (f"no row of {prices} names a model that was billed: all prices are list prices",)
    return (*_checked(known), *_band(known), *_basis(known), *_times(known),
            *(told if unused else ()))


def _checked(runs: pd.DataFrame) -> Iterator[str]:
    one = runs.drop_duplicates("session")
    rates = sorted(abs(float(error)) for error in one["hit_rate_error"].dropna())
    costs = sorted(abs(float(error)) for error in one["cost_error"].dropna())
    if not rates:
        yield ("error of the simulated cache: not known, no recording here says what was read from "
               "such a cache; the figures stand on the published rules alone")
        return
    told = ("error of the simulated cache: replayed as they were recorded, "
            f"{plural(len(rates), 'session')} with a bill {'comes' if len(rates) == 1 else 'come'} "
            f"out {points(median(rates))} of hit rate off it (median; worst {100 * rates[-1]:.1f})")
    if costs:
        told += (f" and {percent(median(costs), 1)} of input cost (worst {100 * costs[-1]:.1f}); "
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
               f"{percent(-below, 1)} to {percent(above, 1, sign=True)} (cost_low, cost_high)")


def _basis(runs: pd.DataFrame) -> Iterator[str]:
    one = runs.drop_duplicates("session")
    others = one[one["price_basis"] == "what-if"]
    if len(others):
        yield (f"a what-if: {plural(len(others), 'session')} billed as "
               f"{joined(others['price_model'])}, which they did not run on "
               "or do not name")
    without = one[(one["cache_rule"] == "none") & (one["cache_layout"] != "none")]
    if len(without):
        yield (f"no cache rule is known for {joined(without['price_model'])}: nothing is cached in "
               f"{plural(len(without), 'session')} (--cache provider=… names one)")


def _times(runs: pd.DataFrame) -> Iterator[str]:
    one = runs.drop_duplicates("session")
    untimed = int((one["time"] == "assumed").sum())
    if untimed:
        yield (f"{plural(untimed, 'session')} without times: nothing expires in the simulated "
               "cache, so hits are as many as can be")
    back = int(one["clock_back"].fillna(0).sum())
    if back:
        yield (f"the recorded clock went back {back} times: such a request stands at the time of "
               "the one before it")
