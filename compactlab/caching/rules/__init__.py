"""One file for each provider's cache rules, with source and date; here they get their names."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any, NamedTuple, get_args, get_type_hints

from compactlab.caching.parts import Rule
from compactlab.caching.rules import anthropic as _anthropic
from compactlab.caching.rules import (
    deepseek,
    gemini_implicit,
    none,
    openai_56,
    openai_classic,
    vllm_sglang,
)
from compactlab.caching.tree import Tree
from compactlab.errors import BadSetting, UnknownName


class Provider(NamedTuple):
    """A rule: how to make its state, its default settings, where it is from."""

    make: Callable[[Tree, Any], Rule]
    settings: Any
    source: str
    date: str


def _of(module: Any, make: Callable[[Tree, Any], Rule], settings: Any) -> Provider:
    return Provider(make, settings, module.SOURCE, module.DATE)


RULES: dict[str, Provider] = {
    "anthropic": _of(_anthropic, _anthropic.Anthropic, _anthropic.AnthropicSettings()),
    "openai_classic": _of(openai_classic, openai_classic.OpenAIClassic,
                          openai_classic.ClassicSettings()),
    "openai_56": _of(openai_56, openai_56.OpenAI56, openai_56.Openai56Settings()),
    "deepseek": _of(deepseek, deepseek.DeepSeek, deepseek.DeepSeekSettings()),
    "gemini_implicit": _of(gemini_implicit, gemini_implicit.GeminiImplicit,
                           gemini_implicit.DEFAULTS),
    "vllm": _of(vllm_sglang, vllm_sglang.BlockCache, vllm_sglang.BlockSettings()),
    "sglang": _of(vllm_sglang, vllm_sglang.BlockCache, vllm_sglang.BlockSettings(block=1)),
    "none": _of(none, none.NoCache, None),
}
ALIASES = {
    "openai_legacy": "openai_classic", "openai": "openai_classic", "openai_gpt56": "openai_56",
    "openai_gpt_56": "openai_56", "openai_5_6": "openai_56", "openai_new": "openai_56",
    "openai56": "openai_56", "gemini": "gemini_implicit", "google": "gemini_implicit",
    "vllm_sglang": "vllm", "bedrock": "anthropic", "claude": "anthropic",
}
# Other names under which settings are known.
SYNONYMS = {
    "min": "min_tokens", "page_size": "block", "block_size": "block", "idle_ttl_s": "idle_ttl",
    "ttl_s": "idle_ttl", "ttl": "idle_ttl", "capacity": "capacity_blocks", "p_route_hit": "p_hit",
    "hidden_tokens": "hidden", "step": "granularity",
}


SIZES = frozenset({"block", "granularity", "interval", "lookback", "capacity_blocks",
                   "most_marks"})
OPTIONAL = frozenset({"interval", "idle_ttl", "max_ttl", "capacity_blocks"})
MOST = {"lookback": 100_000, "endings": 100_000, "p_hit": 1, "factor": 1}


def name_of(provider: str) -> str:
    """The rule's own name; UnknownName with the choices."""
    found = ALIASES.get(provider.lower(), provider.lower())
    if found not in RULES:
        raise UnknownName("provider of a prompt cache", provider, RULES)
    return found


def rule(provider: str, tree: Tree, **settings: Any) -> Rule:
    """A fresh cache of this provider; `settings` replace its defaults (BadSetting if unknown)."""
    found = RULES[name_of(provider)]
    if found.settings is None:
        return found.make(tree, None)
    known = {field.name for field in fields(found.settings)}
    values: dict[str, Any] = {}
    for key, value in settings.items():
        if key == "lookback_rule":
            key, value = "collapse_runs", _collapses(value)
        name = key if key in known else SYNONYMS.get(key, key)
        if name not in known:
            raise BadSetting(f"{provider} has no setting {key!r}: choose one of "
                             f"{', '.join(sorted(known))}")
        _check(f"{provider}: {key}", value, getattr(found.settings, name), name)
        if isinstance(value, str):
            choices = get_args(get_type_hints(type(found.settings))[name])
            if value not in choices:
                raise BadSetting(f"{provider}: {key} = {value!r}: choose one of "
                                     f"{', '.join(choices)}")
        values[name] = value
    return found.make(tree, replace(found.settings, **values))


def _check(what: str, value: object, default: object, name: str) -> None:
    """A value must be of its default's type: numbers from 0, sizes from 1."""
    if default is None or name in OPTIONAL:
        if value is None:
            return
        default = 0.0 if default is None else default
    if isinstance(default, bool) or isinstance(value, bool):
        fits = isinstance(default, bool) and isinstance(value, bool)
    elif isinstance(default, str):
        fits = isinstance(value, str)
    else:
        whole = isinstance(default, int) or name in SIZES
        fits = isinstance(value, int) if whole else isinstance(value, int | float)
        least = 1 if name in SIZES else 0
        most = MOST.get(name, sys.float_info.max)
        fits = fits and least <= value <= most  # type: ignore[operator]  # a number by now
    if not fits:
        bound = f", at most {MOST[name]:,}" if name in MOST else ""
        raise BadSetting(f"{what} = {value!r}: needs a value like {default!r}{bound}")


def _collapses(rule: object) -> bool:
    if rule not in ("runs_collapsed", "every_block"):
        raise UnknownName("lookback_rule", rule, ("runs_collapsed", "every_block"))
    return rule == "runs_collapsed"
