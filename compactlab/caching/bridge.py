"""From a replay to a cache run: histories become prefixes, recorded times the clock."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compactlab.caching.bust import Buster
from compactlab.caching.clock import Clock, clock, first_read, recorded_ttl
from compactlab.caching.layouts import is_native
from compactlab.caching.models import AUTO, row, rule_of
from compactlab.caching.parts import TTLS, Rule, Sending, Served
from compactlab.caching.places import placing
from compactlab.caching.prefixes import Head, Prefixes
from compactlab.caching.rules import RULES
from compactlab.caching.run import CachedRequest, CacheRun, SummaryCall
from compactlab.caching.serve import CacheEvent, Caches, maker, pools, resumes
from compactlab.caching.tree import ROOT
from compactlab.errors import BadSetting, UnknownName
from compactlab.history import History
from compactlab.index import Index
from compactlab.replay import Replay
from compactlab.session import Request

SHARES_PREFIX, SEPARATE = "shares_prefix", "separate"
SUMMARISER_CALLS = (SEPARATE, SHARES_PREFIX)
INSTRUCTION_TOKENS = 500  # what a summary call adds to the prefix that it shares; an assumption
DEFAULT_TTL = "5m"
CLAUDE = "anthropic"  # the rule whose marks say how long they live
UNNAMED = "anthropic"  # who serves a session that does not say
NEVER = float("inf")


def simulate(
    replay: Replay,
    *,
    layout: str = "automatic",
    ttl: str | None = None,
    model: str | None = None,
    provider: str = AUTO,
    summariser_calls: str = SEPARATE,
    warm: int | None = None,
    head_levels: Sequence[int] = (),
    keep_thinking: bool | None = None,
    salt_images: bool = True,
    events: Sequence[CacheEvent] | None = None,
    ttft: float = 0.0,
    **settings: Any,
) -> CacheRun:
    """What the provider's cache would have served each request of a replay; tokens, seconds.

    `ttl` None = what the recording wrote, else 5m. `model` None = the session's; `provider` "auto"
    goes by the model. `warm`: tokens of the head that other sessions of the user keep in the cache,
    None = what the first recorded request read. `head_levels`: cumulative tokens of marks within
    the hidden head. `keep_thinking` None = as the model does. `events` None = the recorded resumes,
    which leave nothing but that head; `validate.recorded_misses` pins all that was seen. Where a
    router named upstream providers, each has a cache of its own. `settings` are the rule's
    (`rules`). Without recorded times nothing expires, and `time` says `assumed`. Raises UnknownName
    and BadSetting with the valid choices.
    """
    known = replay.store.remember
    lifetime = ttl or known("cache ttl", lambda: recorded_ttl(replay.session)) or DEFAULT_TTL
    if lifetime not in TTLS:
        raise BadSetting(f"ttl = {lifetime!r}: choose one of {', '.join(TTLS)}")
    if summariser_calls not in SUMMARISER_CALLS:
        raise UnknownName("mode of summary calls", summariser_calls, SUMMARISER_CALLS)
    name = replay.session.model if model is None else model
    chosen, _ = rule_of(name, provider)
    keep = row(name).keep_thinking is not False if keep_thinking is None else keep_thinking
    left = first_read(replay.session) if warm is None else warm
    prefixes = prefixes_of(replay.store, left, head_levels, strip=not keep,
                           salt_images=salt_images and chosen == CLAUDE)
    times = known("cache clock", lambda: clock(replay.session))
    shared = prefixes.tree.up_to(prefixes.head, left) if left > 0 else ROOT
    caches = Caches(
        maker(name, provider, prefixes.tree, settings), shared=shared,
        pools=pools(replay.session) if name == replay.session.model else None,
        events=resumes(replay.session, prefixes.tree.tokens[shared]) if events is None else events)
    seller = replay.session.provider or UNNAMED if provider.lower() == AUTO else provider
    walk = _Walk(replay, prefixes, caches, times, layout, TTLS[lifetime], is_native(seller), ttft)
    walk.instruction = INSTRUCTION_TOKENS if summariser_calls == SHARES_PREFIX else None
    walk.run()
    return CacheRun(
        replay.session.id, provider, chosen, name, layout, lifetime if chosen == CLAUDE else "",
        "recorded" if times.recorded else "assumed", times.back, summariser_calls,
        tuple(sorted(settings.items())), f"{RULES[chosen].source} ({RULES[chosen].date})",
        tuple(walk.rows), tuple(walk.calls), prefixes.tree.runs)


def prefixes_of(store: Index, warm: int, levels: Sequence[int], *, strip: bool, salt_images: bool
                ) -> Prefixes:
    """The prefixes of a store under one head, made once for all replays of the session."""
    schemas = store.fixed - store.head.tokens
    inside = tuple(sorted({n for n in (warm, *levels) if 0 < n < store.fixed}))
    head = Head(schemas, store.head.tokens, inside)
    return store.remember(
        ("cache prefixes", head, strip, salt_images),
        lambda: Prefixes(store, head, strip=strip, salt_images=salt_images))


class _Walk:
    """One pass over the requests that were served."""

    def __init__(self, replay: Replay, prefixes: Prefixes, caches: Caches, times: Clock,
                 layout: str, ttl: float, native: bool, ttft: float) -> None:
        self.replay, self.prefixes, self.caches, self.times = replay, prefixes, caches, times
        self.place, self.ttl, self.native, self.ttft = placing(layout), ttl, native, ttft
        self.rows: list[CachedRequest] = []
        self.calls: list[SummaryCall] = []
        self.instruction: int | None = None
        self.made: dict[int, list[int]] = {}
        for number, made in enumerate(replay.made):
            if made.compaction.changed or made.compaction.calls:
                self.made.setdefault(made.request, []).append(number)
        self.buster = Buster(prefixes, ttl if times.recorded else NEVER)

    def run(self) -> None:
        """Serve every request that the replay served, summary calls before them."""
        replay, prefixes, made = self.replay, self.prefixes, self.made
        starts, nodes = self.times.starts, replay.nodes
        compacted = False
        requests = replay.session.requests
        for number, sent in enumerate(replay.sent):
            if number in made:
                compacted = self._compactions(number) or compacted
            if not sent.served:
                continue
            t, tail = starts[number], prefixes.tail(nodes[number])
            rule = self.caches.at(number, t)
            served = rule.step(self._sending(number, tail, t, rule))
            bust = self.buster.bust(rule, tail, served, t) if compacted else 0
            compacted = False
            self.buster.served(tail, served, t)
            usage = requests[number].usage
            output = self._counted(requests[number]) if usage is None else usage.output
            self.rows.append(_row(number, served, bust, output))

    def _counted(self, request: Request) -> int:
        """Tokens of an answer without recorded usage."""
        return self.replay.store.tokens(self.replay.session.messages[request.message])

    def _sending(self, number: int, tail: int, t: float, rule: Rule) -> Sending:
        ttl, nodes = self.ttl, self.place(self.prefixes, tail, self.native)
        marks = ((nodes[0], ttl),) if len(nodes) == 1 else tuple([(n, ttl) for n in nodes])
        output = self._answered(number) if rule.outputs else ROOT
        return Sending(t, tail, marks, self.ttft, output)

    def _answered(self, number: int) -> int:
        """The prompt of a request with its recorded answer."""
        session = self.replay.session
        before = History(self.replay.store, self.replay.nodes[number])
        return self.prefixes.tail(before.append(
            session.messages[session.requests[number].message]).node)

    def _compactions(self, number: int) -> bool:
        changed = False
        for index in self.made[number]:
            made = self.replay.made[index]
            changed = changed or made.compaction.changed
            if made.compaction.calls or made.compaction.summary is not None:
                self._summary(number, index)
        return changed

    def _summary(self, number: int, index: int) -> None:
        """The summariser's calls: on their own, or one behind the whole prefix.

        Of a recording's own compaction no call is known: an estimate, one over the whole prompt.
        """
        made = self.replay.made[index]
        c, store = made.compaction, self.replay.store
        answer = store.count(c.summary) if c.summary else 0
        if self.instruction is None:
            for call in c.calls:
                output = min(answer, call.limit)
                self.calls.append(SummaryCall(number, 0, 0, 0, call.prompt_tokens, output))
            if not c.calls:
                whole = store.fixed + made.before.prompt_tokens
                self.calls.append(SummaryCall(number, 0, 0, 0, whole, answer))
            return
        before = self.prefixes.tail(made.before.node)
        key = ("summary call", index)
        tail = self.prefixes.tree.child(before, key, self.instruction)
        marks = tuple((n, self.ttl) for n in self.place(self.prefixes, before, self.native))
        t = self.times.starts[number]
        served = self.caches.at(number, t).step(Sending(t, tail, marks, self.ttft))
        self.calls.append(SummaryCall(number, *served[:4], answer))


def _row(number: int, served: Served, bust: int, output: int) -> CachedRequest:
    read, five, hour, uncached, missed, _, error = served
    hit = read / ((read + five + hour + uncached) or 1)
    if not missed:
        return CachedRequest(number, read, five, hour, uncached, hit, "", 0, bust, (), output,
                             error)
    lost = missed[0][1] if len(missed) == 1 else sum([tokens for _, tokens in missed])
    return CachedRequest(number, read, five, hour, uncached, hit, served.cause, lost, bust, missed,
                         output, error)
