"""The published systems as presets: which members, in which order, from which source."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from compactlab.errors import BadSetting, UnknownName
from compactlab.pieces.invariants import ALTERNATION, GROWTH
from compactlab.setting import Setting, settings_of
from compactlab.strategies.auto import Auto
from compactlab.strategies.clear_tool_uses import ClearToolUses
from compactlab.strategies.codex import Codex
from compactlab.strategies.compressor import Compressor
from compactlab.strategies.escalate import Escalate
from compactlab.strategies.micro import Micro
from compactlab.strategies.observation_masking import ObservationMasking
from compactlab.strategies.pi import Pi
from compactlab.strategies.recent import Recent
from compactlab.strategies.recorded import Recorded
from compactlab.strategies.trim import Trim
from compactlab.strategies.truncate import Truncate
from compactlab.strategy import Pipeline, Strategy, check_strategy

StrategyLike = str | Strategy | Pipeline
# Invariants that a system breaks as it is described.
ALTERNATES, GROWS = frozenset({ALTERNATION}), frozenset({GROWTH})


@dataclass(frozen=True)
class Preset:
    """A system under its public name: member classes in order, what it does, source.

    `breaks` are the numbers of the invariants that the described system is known to break.
    """

    name: str
    members: tuple[type[Any], ...]
    help: str
    source: str
    breaks: frozenset[int] = frozenset()
    fixed: bool = False

    def values(self, member: type[Any], given: dict[str, Any]) -> dict[str, Any]:
        """What a member is made with: what was given, and the fixed values where it is fixed.

        A fixed floor or cap gives way to an explicit value of the setting that it binds.
        """
        found = {}
        for declared in settings_of(member):
            if declared.name in given:
                found[declared.name] = given[declared.name]
            elif self.fixed and declared.fixed is not None and declared.binds not in given:
                found[declared.name] = declared.fixed
        return found

    def settings(self) -> tuple[Setting, ...]:
        """Every setting of its members, each name once, in their order."""
        found: dict[str, Setting] = {}
        for member in self.members:
            for declared in settings_of(member):
                found.setdefault(declared.name, declared)
        return tuple(found.values())


PUBLISHED = (
    Preset(
        "escalating", (Truncate, Escalate),
        "compacts when a request is refused, a larger share at each refusal of a turn",
        '"Context compaction", documentation of a Go coding agent, 2026', GROWS),
    Preset(
        "compressor", (Compressor,),
        "compacts from half the window on: protected head and tail, updated summary",
        '"Context compression and caching", VibeOS documentation, mid-2026; the design known '
        "from NousResearch/hermes-agent", ALTERNATES | GROWS),
    Preset(
        "layered", (Micro, Auto),
        "clears old tool results before each request, summarises all over 50,000 tokens",
        "shareAI-lab/learn-claude-code, session s06", ALTERNATES | GROWS),
)

BASELINES = (
    Preset(
        "observation_masking", (ObservationMasking,),
        "masks the tool results of all but the newest 10 answers",
        "arXiv 2508.21433 (paper); SWE-agent, LastNObservations (code)", GROWS),
    Preset(
        "recent", (Recent,), "keeps the first message and the newest, 100 in all",
        "OpenHands V0, RecentEventsCondenser (code)", ALTERNATES),
    Preset(
        "trim", (Trim,), "over 0.9 of the window drops the oldest fifth of the messages",
        "inspect_ai, CompactionTrim (code)", ALTERNATES),
    Preset(
        "clear_tool_uses", (ClearToolUses,),
        "over 100,000 tokens clears all tool results but the newest 3",
        "Claude API, clear_tool_uses_20250919 (documentation)", GROWS),
    Preset(
        "codex", (Codex,), "at 0.9 of the window keeps newest user messages and a summary",
        "Codex, compact.rs (code)", ALTERNATES | GROWS),
    Preset(
        "pi", (Pi,), "between turns, near the window, keeps the newest 20,000 tokens and a summary",
        "pi, compaction.ts (code)", GROWS),
)
"""What other agents and APIs do, each under its own name with the defaults of its source."""


def _fixed(described: Preset) -> Preset:
    """The same system with all its switches on."""
    return replace(described, name=f"{described.name}-fixed", breaks=frozenset(), fixed=True,
                   help=f"{described.name} with the known faults of its description mended")


PRESETS = {
    known.name: known
    for known in (
        Preset("raw", (), "nothing is compacted; refusals are counted", "the control"),
        *PUBLISHED,
        *map(_fixed, PUBLISHED),
        *BASELINES,
        Preset("recorded", (Recorded,), "the compactions that the recording agent made itself",
               "the recording", ALTERNATES | GROWS),
    )
}


def names() -> tuple[str, ...]:
    """The names of all presets."""
    return tuple(PRESETS)


def preset(name: str) -> Preset:
    """The preset of this name. Raises UnknownName."""
    if name not in PRESETS:
        raise UnknownName("strategy", name, PRESETS)
    return PRESETS[name]


def find(strategy: StrategyLike, **settings: Any) -> Pipeline:
    """The pipeline of a preset's name, a strategy or a pipeline.

    Settings go to every member that declares them. UnknownName for an unknown preset, BadSetting
    for a setting that no member has, or with a strategy that is a value already, BadStrategy for
    such a value that cannot be asked.
    """
    if isinstance(strategy, str):
        found = preset(strategy)
        _check_known(found, settings)
        members = tuple(member(**found.values(member, settings)) for member in found.members)
        return Pipeline(members, found.name, found.source)
    if settings:
        raise BadSetting(f"settings go with a preset's name; {', '.join(settings)} must be set in "
                         "the strategy that is passed")
    if isinstance(strategy, Pipeline):
        for member in strategy:
            check_strategy(member)
        return strategy
    if not callable(strategy):
        raise BadSetting(f"{strategy!r} is no strategy: give a preset's name "
                         f"({', '.join(PRESETS)}), a Strategy or a pipeline")
    check_strategy(strategy)
    return Pipeline((strategy,), strategy.name)


def _check_known(found: Preset, settings: dict[str, Any]) -> None:
    known = [s.name for s in found.settings()]
    for name in settings:
        if name not in known:
            valid = f"choose one of {', '.join(known)}" if known else "it has none"
            raise BadSetting(f"{found.name} has no setting {name!r}: {valid}")
