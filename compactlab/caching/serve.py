"""Which cache a recorded request meets: upstream pools, what others keep alive, what an event took.

The what-ifs and their validation against the bill stand on the same rules, because both ask here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from compactlab.caching.models import AUTO, rule_of
from compactlab.caching.parts import Rule
from compactlab.caching.tree import ROOT
from compactlab.errors import UnknownName
from compactlab.session import Session

RESUME = "resume"


class CacheEvent(NamedTuple):
    """Something outside the rules before a request: entries of more than `keep` tokens are gone."""

    request: int
    keep: int
    kind: str = "event"


class Caches:
    """The caches of one client, one for each pool; times never go back.

    `make`: a fresh cache. `pools`: the pool of each request (the upstream provider that a router
    named), None = one for all. `shared`: the prefix that other sessions of the user keep alive at
    every moment, 0 = none. `events` in any order.
    """

    def __init__(self, make: Callable[[], Rule], *, pools: Sequence[str] | None = None,
                 shared: int = ROOT, events: Sequence[CacheEvent] = ()) -> None:
        self._make, self._pools, self._shared = make, pools, shared
        self._caches: dict[str, Rule] = {}
        self._one = self._of("") if pools is None else None
        self._due = sorted(events, key=lambda event: event.request, reverse=True)

    def at(self, number: int, t: float) -> Rule:
        """The cache that the request with this number meets at t."""
        cache = self._one or self._of(self._pools[number] if self._pools else "")
        while self._due and self._due[-1].request <= number:
            keep = self._due.pop().keep
            for known in self._caches.values():
                known.forget(keep)
        if self._shared:
            cache.warm(self._shared, t)
        return cache

    def _of(self, pool: str) -> Rule:
        found = self._caches.get(pool)
        if found is None:
            found = self._caches[pool] = self._make()
        return found


def pools(session: Session, rule: str) -> tuple[str, ...] | None:
    """The upstream provider of each request, where the session's own cache is simulated.

    None where there is but one, and under another model's rule: who would serve it is not known.
    """
    named = tuple(request.provider for request in session.requests)
    try:
        own, _ = rule_of(session.model, AUTO)
    except UnknownName:
        return None
    return named if own == rule and len(set(named)) > 1 else None


def resumes(session: Session, keep: int) -> list[CacheEvent]:
    """The recorded restarts of the client as events: `keep` tokens of the head are left."""
    found = []
    for event in session.events:
        number = next((k for k, r in enumerate(session.requests) if r.message >= event.at), None)
        if number is not None and event.kind == RESUME:
            found.append(CacheEvent(number, keep, event.kind))
    return found
