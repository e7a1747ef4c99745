"""What-ifs of the prompt cache for a notebook: layouts and lifetimes, and the validation.

The what-ifs are simulated under Anthropic's rules, at the prices of a Claude model.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from compactlab.bench.billed import WHAT_IF_MODEL, Billed, CacheOptions, billed_by
from compactlab.bench.cache import simulator_error
from compactlab.caching import LAYOUTS, CacheRun, simulate
from compactlab.caching.clock import clock
from compactlab.caching.groups import GAPS, gap_name
from compactlab.caching.models import family
from compactlab.charts.caching import off_the_bill
from compactlab.index import index
from compactlab.pricing.bill import request_cost
from compactlab.replay import Replay, replay
from compactlab.session import Session
from compactlab.words import NONE, dollars, joined, percent, points

if TYPE_CHECKING:
    from pandas import DataFrame

TTLS = ("5m", "1h")
NO_CACHE = "none"
ORDER = (NO_CACHE, "single", "automatic", "tools_system_2", "system_and_3", "system_and_3_fixed")


@dataclass(frozen=True)
class Priced:
    """A replay, and whose prices it is billed by when it is simulated under Anthropic's rules."""

    done: Replay
    by: Billed

    @property
    def model(self) -> str:
        """Of these prices."""
        return self.by.prices.model

    def run(self, layout: str, ttl: str) -> CacheRun:
        """Its cache run; made once by the index."""
        return simulate(self.done, layout=layout, ttl=ttl, model=self.by.model,
                        provider="anthropic")

    def inputs(self, run: CacheRun) -> list[float]:
        """USD of each request's prompt, answers left out."""
        return [float(request_cost(self.by.prices, r, output=0)) for r in run.requests]


def each_priced(sessions: Iterable[Session], strategies: Sequence[tuple[str, int | None]],
                summariser: str, tokenizer: str) -> Iterator[list[Priced]]:
    """The replays of each session that can be simulated, one for each strategy and window.

    Billed by list prices, whatever table a run was given; by those of a Claude model.
    """
    for session in sessions:
        if session.derived or not session.requests:
            continue
        store, made = index(session, tokenizer), []
        for strategy, window in strategies:
            done = replay(session, strategy, window=window, store=store, summariser=summariser)
            by = billed_by(done, CacheOptions())
            if not family(by.model or session.model):
                by = billed_by(done, CacheOptions(model=WHAT_IF_MODEL))
            made.append(Priced(done, by))
        yield made


# -- layouts and lifetimes -------------------------------------------------------------------------


def layouts(sessions: Iterable[Session], *, strategy: str = "raw", window: int | None = None,
            summariser: str = "extractive", tokenizer: str = "auto") -> DataFrame:
    """A line a layout and lifetime: the share of prompt tokens read, by the pause before them.

    `input cost` is USD without answers, `against none` the share of it that caching saves,
    `checked` how far simulated hit rates of the recordings are from their bills, `prices` the list
    prices that were taken. Sessions without
    recorded times are left out: nothing would expire. Tokens and USD are sums over the sessions.
    """
    import pandas as pd

    sums: dict[tuple[str, str], _Sums] = {}
    count, errors, prices = 0, list[float](), dict[str, None]()
    for (priced,) in each_priced(sessions, [(strategy, window)], summariser, tokenizer):
        if not clock(priced.done.session).recorded:
            continue
        count += 1
        error = simulator_error(priced.done.store).hit_rate
        errors += [] if error is None else [error]
        prices[f"{priced.model} as of {priced.by.prices.prices_as_of}"] = None
        for layout in (name for name in ORDER if name in LAYOUTS):
            for ttl in TTLS if layout != NO_CACHE else TTLS[:1]:
                sums.setdefault((layout, ttl), _Sums()).add(priced, priced.run(layout, ttl))
    plain = sums[NO_CACHE, TTLS[0]].cost if sums else 0.0
    lines = []
    for (layout, ttl), found in sums.items():
        line: dict[str, Any] = {"layout": layout, "TTL": ttl if layout != NO_CACHE else NONE,
                                "sessions": count}
        for name, (requests, read, prompt) in found.gaps.items():
            line[f"{name} (n = {requests})"] = _of(read, prompt)
        reads, prompts = (sum(gap[at] for gap in found.gaps.values()) for at in (1, 2))
        lines.append(line | {
            "hit rate": _of(reads, prompts), "input cost": dollars(found.cost),
            "against none": _of(plain - found.cost, plain),
            "checked": off_the_bill(errors), "prices": joined(prices, 1)})
    return pd.DataFrame(lines).set_index(["layout", "TTL"]) if lines else pd.DataFrame()


class _Sums:
    """(requests, tokens read, prompt tokens) by pause, and the input cost."""

    def __init__(self) -> None:
        self.gaps = {name: [0, 0, 0] for _, name in GAPS}
        self.cost = 0.0

    def add(self, priced: Priced, run: CacheRun) -> None:
        starts, before = clock(priced.done.session).starts, None
        for r in run.requests:
            start = starts[r.request]
            gap = start - before if before is not None else 0.0
            before = start
            found = self.gaps[gap_name(gap)]
            found[0] += 1
            found[1] += r.cache_read
            found[2] += r.total
        self.cost += sum(priced.inputs(run))


def _of(part: float, whole: float) -> str:
    return percent(part / whole if whole else None)


# -- validation ------------------------------------------------------------------------------------


def validation(sessions: Iterable[Session]) -> DataFrame:
    """Recorded usage against the simulator, a line a format, model and question; empty without.

    Question A takes prompt sizes from the recording, B from our own counter.
    """
    import pandas as pd

    from compactlab.caching import by_group, validate

    found = [v for s in sessions if any(r.usage is not None and r.usage.prompt for r in s.requests)
             for v in validate(s)]
    lines = [{
        "format": group.format, "model": group.model, "question": group.question,
        "sessions": group.sessions, "requests": group.requests,
        "reads": percent(group.reads, 1, sign=True), "writes": percent(group.writes, 1, sign=True),
        "hit rate": points(group.hit_rate, sign=True),
        "median session: reads": percent(group.median_reads),
        "within 1 % of the prompt": percent(group.close)} for group in by_group(found)]
    return pd.DataFrame(lines).set_index(["format", "model", "question"]) if lines else (
        pd.DataFrame())
