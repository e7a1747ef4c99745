"""What a bench does with every session: strategies, settings and windows, checked beforehand."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from compactlab.bench.billed import CacheOptions, check
from compactlab.errors import BadSetting
from compactlab.quality.replayed import described as at_cuts
from compactlab.replay import replay
from compactlab.session import Session
from compactlab.setting import Setting, settings_of
from compactlab.strategies.presets import PRESETS, StrategyLike, find, preset
from compactlab.strategy import Pipeline, Summariser, pipeline
from compactlab.summarise import DEFAULT_SUMMARISER
from compactlab.summarise import find as find_summariser
from compactlab.tokens import AUTO, counter

REPLAY_OPTIONS = ("on_stop", "manual_at", "reserve_output", "summariser_window", "model",
                  "provider")


@dataclass(frozen=True)
class Variant:
    """One strategy with one choice of settings; `settings` is the column's text."""

    pipeline: Pipeline
    settings: str

    def described(self) -> dict[str, Any]:
        """Its name and all settings of its members, given or not."""
        members = []
        for member in self.pipeline:
            values = {s.name: _plain(getattr(member, s.name)) for s in _declared(member)}
            members.append({"member": member.name, "settings": values})
        return {"strategy": self.pipeline.name, "settings": self.settings, "members": members}


@dataclass(frozen=True)
class Plan:
    """What is done with every session; `options` are replay's own arguments.

    `quality`: whether what survives is measured too.
    """

    variants: tuple[Variant, ...]
    windows: tuple[int | None, ...]
    summariser: str | Summariser = DEFAULT_SUMMARISER
    tokenizer: str = AUTO
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    cache: CacheOptions = dataclasses.field(default_factory=CacheOptions)
    quality: bool = False

    def described(self) -> dict[str, Any]:
        """All that it does to a result, every setting of every strategy among it, as JSON values.

        Nothing here is random, so the seed is None.
        """
        return {
            "strategies": [variant.described() for variant in self.variants],
            "windows": list(self.windows),
            "summariser": find_summariser(self.summariser)[0],
            "tokenizer": self.tokenizer,
            "options": {name: _plain(self.options[name]) for name in sorted(self.options)},
            "cache": self.cache.described(),
            "quality": at_cuts() if self.quality else None,
            "seed": None,
        }


def plan(
    strategies: StrategyLike | Sequence[StrategyLike],
    windows: int | Sequence[int | None] | None,
    *,
    summariser: str | Summariser = DEFAULT_SUMMARISER,
    tokenizer: str = AUTO,
    cache: CacheOptions | None = None,
    quality: bool = False,
    **settings: Any,
) -> Plan:
    """Check everything before anything runs.

    Strategies are presets' names (`a+b` is a pipeline of two), strategies or pipelines. A setting
    goes to every strategy that has it, `**{"compressor.threshold": 0.6}` to that one alone; a list
    or tuple of values are alternatives, each of which is run. Among the settings may be replay's
    own arguments (`on_stop`, `reserve_output`, …), one value each. `quality`: measure what
    survives too. Raises UnknownName and BadSetting with the valid choices.
    """
    options = {name: settings.pop(name) for name in REPLAY_OPTIONS if name in settings}
    if "manual_at" in options:
        options["manual_at"] = tuple(_several(options["manual_at"]))
    wanted = _several(strategies)
    if not wanted:
        raise BadSetting(f"no strategy: choose some of {', '.join(PRESETS)}")
    variants = [v for strategy in wanted for v in _variants(strategy, settings, wanted)]
    _check_used(settings, wanted)
    found = Plan(tuple(dict.fromkeys(variants)), tuple(_several(windows)), summariser,
                 tokenizer, options, cache or CacheOptions(), quality)
    find_summariser(summariser)
    counter(tokenizer)
    _check_by_replaying_nothing(found)
    return found


def _several(value: Any) -> list[Any]:
    """A list or tuple is alternatives; anything else is one."""
    return list(value) if isinstance(value, list | tuple | range) else [value]


def _variants(strategy: StrategyLike, settings: Mapping[str, Any],
              named: Sequence[StrategyLike]) -> list[Variant]:
    """A strategy with every combination of the settings that it has."""
    if not isinstance(strategy, str):
        made = find(strategy)
        return [Variant(made, _text(_changed(made)))]
    parts = strategy.split("+")
    names = [name for name in settings if any(_belongs(name, part) for part in parts)]
    found = []
    for values in product(*(_several(settings[name]) for name in names)):
        chosen = dict(zip(names, values, strict=True))
        members = [_found(part, chosen, named) for part in parts]
        if len(parts) > 1:
            made = pipeline(*members, name=strategy)
        else:
            made, chosen = members[0], _for(strategy, chosen)
        found.append(Variant(made, _text(chosen)))
    return found


def _belongs(name: str, strategy: str) -> bool:
    """Whether a setting, `name` or `preset.name`, is one of a preset's. Raises UnknownName."""
    owner, _, bare = name.rpartition(".")
    return bare in {s.name for s in preset(strategy).settings()} and owner in ("", strategy)


def _for(strategy: str, chosen: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that are a preset's, by their bare names; `preset.name` goes before `name`."""
    mine = sorted((name for name in chosen if _belongs(name, strategy)), key=lambda n: "." in n)
    return {name.rpartition(".")[2]: chosen[name] for name in mine}


def _found(strategy: str, chosen: Mapping[str, Any], named: Sequence[StrategyLike]) -> Pipeline:
    """The preset with its settings; the error of one that `named` ones share says how to part."""
    try:
        return find(strategy, **_for(strategy, chosen))
    except BadSetting as error:
        parts = [part for s in named if isinstance(s, str) for part in s.split("+")]
        shared = [n for n in chosen if "." not in n and sum(_belongs(n, p) for p in parts) > 1]
        hint = f" (for one strategy alone: {strategy}.{shared[0]})" if shared else ""
        raise BadSetting(f"{error}{hint}") from error


def _changed(made: Pipeline) -> dict[str, Any]:
    """Settings of a pipeline that are not the declared defaults."""
    return {
        declared.name: getattr(member, declared.name)
        for member in made
        for declared in _declared(member)
        if getattr(member, declared.name) != declared.default
    }


def _declared(member: Any) -> tuple[Setting, ...]:
    """The settings of a strategy; one that is no dataclass declares none."""
    return settings_of(member) if dataclasses.is_dataclass(member) else ()


def _plain(value: Any) -> Any:
    """The value as JSON has it."""
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _text(settings: Mapping[str, Any]) -> str:
    return json.dumps(settings, sort_keys=True, default=str) if settings else ""


def _check_used(settings: Mapping[str, Any], strategies: Sequence[StrategyLike]) -> None:
    """Every setting must belong to some strategy that is named."""
    parts = [part for s in strategies if isinstance(s, str) for part in s.split("+")]
    for name in settings:
        if not any(_belongs(name, part) for part in parts):
            known = dict.fromkeys(s.name for part in parts for s in PRESETS[part].settings())
            choices = ", ".join([*known, *REPLAY_OPTIONS])
            raise BadSetting(f"no strategy named here has a setting {name!r}: choose one of "
                             f"{choices}")


def _check_by_replaying_nothing(planned: Plan) -> None:
    """Windows and replay's own arguments are checked by replay itself, on an empty session."""
    if not planned.windows:
        raise BadSetting("no window: give some in tokens, such as 32000, or None for none")
    for window in planned.windows:
        done = replay(Session("", "", ()), "raw", window=window, tokenizer="rough",
                      **planned.options)
        check(done, planned.cache)
