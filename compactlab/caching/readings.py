"""What the documentation leaves open, as readings: the totals of all of them are a band."""

from __future__ import annotations

from typing import Any, NamedTuple

from compactlab.caching.bridge import simulate
from compactlab.caching.clock import clock
from compactlab.caching.models import AUTO, rule_of
from compactlab.caching.parts import TTLS
from compactlab.caching.run import CacheRun
from compactlab.replay import Replay

HOUR = 3600.0
# Each open point of a provider's rule with its other answers; the defaults are the first reading.
READINGS: dict[str, tuple[dict[str, Any], ...]] = {
    "anthropic": ({"refresh": "hit_only"}, {"refresh": "prefix"}, {"collapse_runs": False},
                  {"inside_runs": True}, {"upgrade": True}, {"tie_lives": True}),
    "openai_56": ({"lookup": "reference"},),
    "openai_classic": ({"idle_ttl": 300.0}, {"idle_ttl": 3600.0}, {"max_ttl": HOUR}),
    "deepseek": ({"rule": "blocks"}, {"idle_ttl": 7200.0}),
    "gemini_implicit": ({"p_hit": 0.9}, {"p_hit": 0.8}, {"min_tokens": 4096}),
}
OF_TIME = ({"refresh": "hit_only"}, {"refresh": "prefix"}, {"upgrade": True}, {"tie_lives": True})
OF_RUNS = ({"collapse_runs": False}, {"inside_runs": True})


class Reading(NamedTuple):
    """One reading of a provider's rule: what differs from the default, and its cache run."""

    settings: dict[str, Any]
    run: CacheRun


def readings(replay: Replay, *, provider: str = AUTO, model: str | None = None,
             **settings: Any) -> list[Reading]:
    """A replay under every reading of the provider's rule, the default one first.

    `settings` are those of `simulate`; a point that they set is not varied. A reading that cannot
    differ in this session is not simulated: it shares the default's run (the same object).
    """
    rule, _ = rule_of(replay.session.model if model is None else model, provider)
    given = {"provider": provider, "model": model, **settings}
    first = simulate(replay, **given)
    same = _without_effect(replay, first, rule)
    return [Reading({}, first), *(
        Reading(other, first if other in same else simulate(replay, **given, **other))
        for other in READINGS.get(rule, ()) if not other.keys() & settings.keys())]


def _without_effect(replay: Replay, run: CacheRun, rule: str) -> tuple[dict[str, Any], ...]:
    """Readings under which this run would be the same to the token.

    Those of lifetimes, where the session ends before anything could expire; those of runs of tool
    blocks, where no prompt holds one.
    """
    starts = clock(replay.session).starts
    lasted = 0.0 if run.time == "assumed" else starts[-1] - starts[0]
    if rule == "openai_classic":
        return ({"max_ttl": HOUR},) if lasted <= HOUR else ()
    if rule != "anthropic":
        return ()
    found = OF_TIME if lasted < min(TTLS.values()) else ()
    return found if run.tool_runs else (*found, *OF_RUNS)
