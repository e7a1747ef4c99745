"""What the price table lacks: smallest stored prefix, thinking kept or stripped, which rule."""

from __future__ import annotations

import re
from typing import NamedTuple

from compactlab.caching.rules import RULES, name_of
from compactlab.errors import UnknownName

SOURCE = "platform.claude.com/docs: prompt caching, extended thinking"
AUTO = "auto"


class ModelRow(NamedTuple):
    """Models by family and version; sizes in tokens; `keep_thinking` None = not stated."""

    models: tuple[str, ...]
    min_tokens: int
    keep_thinking: bool | None
    date: str
    source: str = SOURCE


ROWS = (
    ModelRow(("fable-5", "fable-5-1", "mythos-5", "mythos-5-1", "opus-5"), 512, True, "2026-09"),
    ModelRow(("opus-5-5", "sonnet-5-5"), 512, True, "2026-10-08", "that page as quoted"),
    ModelRow(("haiku-5-5",), 512, None, "2026-10-08", "that page as quoted"),
    ModelRow(("opus-4-8", "sonnet-5", "sonnet-4-6"), 1024, True, "2026-09"),
    ModelRow(("sonnet-4-5", "opus-4-1", "opus-4", "sonnet-4"), 1024, False, "2026-09"),
    ModelRow(("opus-4-7", "mythos-preview"), 2048, True, "2026-09"),
    ModelRow(("haiku-3-5", "haiku-3"), 2048, False, "2026-09"),
    ModelRow(("sonnet-3-7", "sonnet-3-5", "sonnet-3", "opus-3"), 1024, False, "2026-09"),
    ModelRow(("opus-4-6", "opus-4-5"), 4096, True, "2026-09"),
    ModelRow(("haiku-4-5",), 4096, False, "2026-09"),
)
UNKNOWN_CLAUDE = ModelRow((), 1024, True, "", "a guess: the commonest minimum")
_BY_NAME = {name: row for row in ROWS for name in row.models}
_CLAUDE = re.compile(r"(opus|sonnet|haiku|fable|mythos)-(preview|\d+)(?:-(\d{1,2}))?(?!\d)")
_OLD_CLAUDE = re.compile(r"claude-(\d)-(\d)-(opus|sonnet|haiku)")
_FIRST_CLAUDE = re.compile(r"claude-(\d)-(opus|sonnet|haiku)")
_GPT = re.compile(  # behind the version may stand a date, such as -2025-08-07 or -08-07
    r"gpt-(\d{1,2})(?:-(?!\d\d-\d\d(?!\d))([1-9]\d?))?(?!\d)")
GPT_WITH_WRITES = (5, 6)  # from this version on writes are paid
GPT_55_INTERVAL = 2048
MOST_GPT = 20
GEMINI_MIN = 2048  # the page says 4,096 for 3.x; recorded requests of 3 read 2,048-token prefixes


def family(model: str) -> str:
    """A Claude model as family and version ("opus-4-6"); empty for any other model."""
    name = model.lower().replace(".", "-").replace("_", "-")
    if found := _OLD_CLAUDE.search(name):
        return f"{found[3]}-{found[1]}-{found[2]}"
    if found := _FIRST_CLAUDE.search(name):
        return f"{found[2]}-{found[1]}"
    if "claude" not in name and not _BY_NAME.keys() & {name}:
        return ""
    if found := _CLAUDE.search(name):
        return "-".join(part for part in found.groups() if part)
    return "unknown" if "claude" in name else ""


def row(model: str) -> ModelRow:
    """The row of a Claude model; a marked guess for one that is not in the table."""
    return _BY_NAME.get(family(model), UNKNOWN_CLAUDE)


def rule_of(model: str, provider: str) -> tuple[str, dict[str, object]]:
    """(the rule's name, its settings for this model); `provider` "auto" goes by the model.

    UnknownName where neither says which rule holds.
    """
    name = model.lower().replace(".", "-")
    chosen = provider.lower()
    if chosen in ("", AUTO, "openrouter", "openai", "google", "gemini"):
        chosen = _by_model(name) or chosen
    if chosen in ("", AUTO, "openrouter"):
        raise UnknownName("provider of a prompt cache", f"{provider} for {model}", RULES)
    rule = name_of(chosen)
    settings: dict[str, object] = {}
    if rule == "anthropic":
        settings["min_tokens"] = row(model).min_tokens
    elif rule == "gemini_implicit":
        settings["min_tokens"] = GEMINI_MIN
    elif rule == "openai_classic" and "gpt-5-5" in name:
        settings["interval"] = GPT_55_INTERVAL
    return rule, settings


def _by_model(name: str) -> str:
    if family(name):
        return "anthropic"
    if found := _GPT.search(name):
        version = (int(found[1]), int(found[2] or 0))
        if version[0] > MOST_GPT:  # gpt-35 is 3.5
            version = divmod(version[0], 10)
        return "openai_56" if version >= GPT_WITH_WRITES else "openai_classic"
    return next((rule for word, rule in (("gemini", "gemini_implicit"), ("deepseek", "deepseek"))
                 if word in name), "")
