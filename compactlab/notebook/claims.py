"""Published claims about the caching of Claude, beside what the simulator finds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

from compactlab.caching.clock import clock
from compactlab.caching.models import row
from compactlab.notebook.caching import NO_CACHE, TTLS, Priced, each_priced
from compactlab.replay import Replay
from compactlab.session import Session
from compactlab.words import NONE, less, percent

if TYPE_CHECKING:
    from pandas import DataFrame

CLAIMED = "system_and_3"  # the layout that the claims are about
RESTORED = 0.8  # of its prompt: a request that reads so much has its cache back
SOON = 2  # requests: "restored within one or two"
LENGTHS = ((30, "up to 30 requests"), (100, "31 to 100"), (10**9, "over 100"))
SHORT, LONG = 300.0, 3600.0  # seconds: the lifetimes
CURVE = ("session", "model", "layout", "ttl", "request", "saving", "prices_as_of", "tokenizer")


def input_savings(sessions: Iterable[Session], *, layout: str = CLAIMED, tokenizer: str = "auto"
                  ) -> DataFrame:
    """What caching saves of the input cost up to each request, nothing compacted; see `CURVE`.

    `saving` = 1 - cost with marks / cost without any, summed from the first request on.
    """
    import pandas as pd

    rows = []
    for (priced,) in each_priced(sessions, [("raw", None)], "fallback", tokenizer):
        done = priced.done
        for ttl in TTLS:
            for number, saving in enumerate(_savings(priced, layout, ttl)):
                rows.append((done.session.id, priced.model, layout, ttl, number, saving,
                             priced.by.prices.prices_as_of, done.tokenizer))
    return pd.DataFrame(rows, columns=list(CURVE))


def _savings(priced: Priced, layout: str, ttl: str) -> Iterator[float]:
    paid = plain = 0.0
    for mine, other in zip(priced.inputs(priced.run(layout, ttl)),
                           priced.inputs(priced.run(NO_CACHE, ttl)), strict=True):
        paid, plain = paid + mine, plain + other
        yield 1 - paid / plain if plain else 0.0


def published(sessions: Iterable[Session], strategy: str, window: int | None, *,
              summariser: str = "extractive", tokenizer: str = "auto") -> DataFrame:
    """Published claims about `system_and_3` beside what the simulator finds, by session length.

    The first and the last are of the sessions with nothing compacted, the others of their
    compactions under the strategy. n in brackets: sessions, or compactions.
    """
    import pandas as pd

    by_length: dict[str, list[_Facts]] = {}
    for raw, compacted in each_priced(sessions, [("raw", None), (strategy, window)], summariser,
                                  tokenizer):
        facts = _Facts(raw, compacted)
        length = len(raw.done.session.requests)
        by_length.setdefault(next(name for most, name in LENGTHS if length <= most), []).append(
            facts)
    names = [name for _, name in LENGTHS if name in by_length]
    said = ("input costs about 75 % less", "the system prompt's cache survives a compaction",
            "caching is restored within 1 to 2 turns", "1 h for sessions with pauses")
    told = (_input_cost, _survived, _restored, _hour)
    rows = {claim: [tell(by_length[name]) for name in names]
            for claim, tell in zip(said, told, strict=True)}
    columns = [f"{name} (n = {len(by_length[name])})" for name in names]
    table = pd.DataFrame.from_dict(rows, orient="index", columns=columns)
    table.index.name = "published"
    return table


class _Facts:
    """What one session says to each claim."""

    def __init__(self, raw: Priced, compacted: Priced) -> None:
        five, hour, none = (raw.run(*at) for at in (
            (CLAIMED, "5m"), (CLAIMED, "1h"), (NO_CACHE, "5m")))
        self.five, self.hour, self.none = (sum(raw.inputs(r)) for r in (five, hour, none))
        starts = clock(raw.done.session).starts
        self.pause = any(SHORT <= b - a < LONG for a, b in pairwise(starts))
        self.heads = list(_heads(compacted))
        self.restored = list(_waits(compacted))


def _heads(priced: Priced) -> Iterator[tuple[bool, str]]:
    """(first compaction, was the system prompt read?) for each compaction; see below.

    Counted is the first request behind it. `hidden`: the system prompt is not in the log; `small`:
    under the least size that is cached; `late`: the entries had expired.
    """
    done, run = priced.done, priced.run(CLAIMED, "5m")
    served = {r.request: r for r in run.requests}
    starts, least = clock(done.session).starts, row(priced.model).min_tokens
    for number, first in enumerate(_compacted(done)):
        found = served.get(first)
        history = done.prompt(first)
        before = [n for n in served if n < first]
        if found is None or history is None or not before:
            continue
        lead = [message for message, _ in zip(history, range(history.lead), strict=False)]
        head = done.store.fixed + sum(map(done.store.tokens, lead))
        if not lead:
            yield not number, "hidden"  # a note in it could not be seen
        elif head < least:
            yield not number, "small"
        elif starts[first] - starts[max(before)] >= SHORT:
            yield not number, "late"
        else:
            yield not number, "read" if found.cache_read >= head else "lost"


def _compacted(done: Replay) -> list[int]:
    """Requests in front of which something was compacted, not silently."""
    return sorted({m.request for m in done.made
                   if m.compaction.changed and not m.compaction.silent})


def _waits(priced: Priced) -> Iterator[int | None]:
    """Requests after each compaction until one reads most of its prompt; None = not before the next
    compaction or the end."""
    made = _compacted(priced.done)
    run = priced.run(CLAIMED, "5m")
    for first, following in zip(made, [*made[1:], len(priced.done.sent)], strict=False):
        own = [r for r in run.requests if first <= r.request < following]
        yield next((n for n, r in enumerate(own) if r.hit >= RESTORED), None)


def _input_cost(facts: Sequence[_Facts]) -> str:
    shares = [1 - f.five / f.none for f in facts if f.none]
    if not shares:
        return NONE
    mean = sum(shares) / len(shares)
    sign = -100 if mean < 0 else 100
    ends = sorted(sign * share for share in (min(shares), max(shares)))
    return less(mean, 0) + ("" if len(shares) == 1 else " ({:.0f} to {:.0f})".format(*ends))


def _survived(facts: Sequence[_Facts]) -> str:
    heads = [head for f in facts for head in f.heads]
    parts = []
    for name, first in (("first", True), ("later", False)):
        known = [what for is_first, what in heads if is_first == first and what in ("read", "lost")]
        if known:
            parts.append(f"{name}: {known.count('read')} of {len(known)}")
    for name, told in (("hidden", "not in the log"), ("small", "too small to be cached"),
                       ("late", "expired anyway")):
        count = sum(what == name for _, what in heads)
        if count:
            parts.append(f"{told}: {count}")
    return "; ".join(parts) or "no compaction"


def _restored(facts: Sequence[_Facts]) -> str:
    waits = [wait for f in facts for wait in f.restored]
    known = [wait for wait in waits if wait is not None]
    if not waits:
        return "no compaction"
    soon = sum(wait <= SOON for wait in known)
    middle = f", median {median(known):.0f}" if known else ""
    return (f"within {SOON} requests: {soon} of {len(waits)}{middle}; "
            f"never before the next one: {len(waits) - len(known)}")


def _hour(facts: Sequence[_Facts]) -> str:
    parts = []
    for name, pause in (("with a pause of 5 to 60 min", True), ("without", False)):
        change = [f.hour / f.five - 1 for f in facts if f.pause == pause and f.five]
        if change:
            cheaper = sum(c < 0 for c in change)
            parts.append(f"{name}: cheaper in {cheaper} of {len(change)} "
                         f"({percent(sum(change) / len(change), sign=True)})")
    return "; ".join(parts) or NONE
