"""Validations summed up: by format, model and question, and by the pause before a request."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median
from typing import NamedTuple

from compactlab.caching.validate import Validation

GAPS = ((300.0, "under 5 min"), (3600.0, "5 to 60 min"), (float("inf"), "over an hour"))


class Group(NamedTuple):
    """Errors of the sessions of one format, model and question; shares, simulated against billed.

    `reads`, `writes`, `hit_rate` are of the sums over all requests (None where nothing was billed
    as such), `close` the share of requests whose read is within 1 % of the prompt, `unexplained`
    the share of the differing tokens that no cause explains.
    """

    format: str
    model: str
    question: str
    sessions: int
    requests: int
    reads: float | None
    writes: float | None
    hit_rate: float
    close: float
    median_reads: float
    median_prompts: float
    unexplained: float


def by_group(validations: Iterable[Validation]) -> list[Group]:
    """A group for each format, model and question, in the order of first appearance."""
    groups: dict[tuple[str, str, str], list[Validation]] = {}
    for one in validations:
        key = (one.session.format, one.session.model, one.question)
        groups.setdefault(key, []).append(one)
    return [_group(key, ones) for key, ones in groups.items()]


def _group(key: tuple[str, str, str], ones: list[Validation]) -> Group:
    sums = [one.sums for one in ones]
    read, mine, write, wrote, prompt, total = (
        sum(getattr(s, name) for s in sums)
        for name in ("read", "read_simulated", "write", "write_simulated", "prompt", "total"))
    requests = sum(len(one.pairs) for one in ones)
    differing = sum(d.tokens for one in ones for d in one.differences)
    unknown = sum(d.tokens for one in ones for d in one.differences if d.why == "unexplained")
    return Group(
        *key, len(ones), requests, _error(mine, read), _error(wrote, write),
        _share(mine, total) - _share(read, prompt),
        _share(sum(one.close for one in ones), requests),
        median(abs(_error(s.read_simulated, s.read) or 0.0) for s in sums),
        median(_share(s.apart, s.prompt) for s in sums), _share(unknown, differing))


def by_gap(validations: Iterable[Validation]) -> list[tuple[str, int, int, int]]:
    """(pause before the request, requests, tokens read as recorded, as simulated)."""
    sums = {name: (0, 0, 0) for _, name in GAPS}
    for validation in validations:
        before: float | None = None
        for prompt, usage, served in validation.pairs:
            name = gap_name(prompt.t - before if before is not None else 0.0)
            before = prompt.t
            requests, read, mine = sums[name]
            sums[name] = (requests + 1, read + usage.cache_read, mine + served.read)
    return [(name, *values) for name, values in sums.items()]


def gap_name(seconds: float) -> str:
    """The name of a pause; see GAPS."""
    return next(name for bound, name in GAPS if seconds < bound)


def _error(simulated: int, recorded: int) -> float | None:
    return (simulated - recorded) / recorded if recorded else None


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0
