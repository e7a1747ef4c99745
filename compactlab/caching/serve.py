"""Which cache a recorded request meets: upstream pools, what others keep alive, what an event took.

The what-ifs and their validation against the bill stand on the same rules, because both ask here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from compactlab.caching.models import rule_of
from compactlab.caching.parts import Rule
from compactlab.caching.rules import rule as make_rule
from compactlab.caching.tree import ROOT, Tree
from compactlab.errors import UnknownName
from compactlab.session import Session

RESUME = "resume"


class CacheEvent(NamedTuple):
    """Something outside the rules before a request: entries of more than `keep` tokens are gone."""

    request: int
    keep: int
    kind: str = "event"


class Pool(NamedTuple):
    """Who keeps the cache that a request meets: upstream provider, where a router named it, model.

    Empty = that of the session.
    """

    provider: str = ""
    model: str = ""


class Caches:
    """The caches of one client, one for each pool; times never go back.

    `make`: a fresh cache of a pool. `pools`: the pool of each request, None = one for all.
    `shared`: the prefix that other sessions of the user keep alive at every moment, 0 = none.
    `events` in any order.
    """

    def __init__(self, make: Callable[[Pool], Rule], *, pools: Sequence[Pool] | None = None,
                 shared: int = ROOT, events: Sequence[CacheEvent] = ()) -> None:
        self._make, self._pools, self._shared = make, pools, shared
        self._caches: dict[Pool, Rule] = {}
        self._one = self._of(Pool()) if pools is None else None
        self._due = sorted(events, key=lambda event: event.request, reverse=True)

    def at(self, number: int, t: float) -> Rule:
        """The cache that the request with this number meets at t."""
        cache = self._one or self._of(self._pools[number] if self._pools else Pool())
        while self._due and self._due[-1].request <= number:
            keep = self._due.pop().keep
            for known in self._caches.values():
                known.forget(keep)
        if self._shared:
            cache.warm(self._shared, t)
        return cache

    def _of(self, pool: Pool) -> Rule:
        found = self._caches.get(pool)
        if found is None:
            found = self._caches[pool] = self._make(pool)
        return found


def pools(session: Session) -> tuple[Pool, ...] | None:
    """The pool of each request of a session's own cache; None where there is but one.

    Under another model's rule who would serve it is not known: one for all.
    """
    found = tuple([Pool(r.provider, "" if r.model == session.model else r.model)
                   for r in session.requests])
    return found if len(set(found)) > 1 else None


def maker(model: str, provider: str, tree: Tree, settings: Mapping[str, object]
          ) -> Callable[[Pool], Rule]:
    """Fresh caches by pool: under the rule of the pool's model, else of this one.

    `settings` are the rule's, behind those of the model. Raises UnknownName and BadSetting.
    """
    name, own = rule_of(model, provider)

    def make(pool: Pool) -> Rule:
        rule, its = name, own
        if pool.model:
            with suppress(UnknownName):  # a model that nothing is known of is taken for its like
                rule, its = rule_of(pool.model, provider)
        return make_rule(rule, tree, **{**its, **(settings if rule == name else {})})

    return make


def resumes(session: Session, keep: int) -> list[CacheEvent]:
    """The recorded restarts of the client as events: `keep` tokens of the head are left."""
    found = []
    for event in session.events:
        number = next((k for k, r in enumerate(session.requests) if r.message >= event.at), None)
        if number is not None and event.kind == RESUME:
            found.append(CacheEvent(number, keep, event.kind))
    return found
