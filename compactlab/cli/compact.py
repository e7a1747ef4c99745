"""`compactlab compact`: a recorded file in, the compacted history out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from compactlab.cli import parse
from compactlab.cli.options import (
    Json,
    Replace,
    SessionId,
    Settings,
    Summariser,
    Tokenizer,
    Window,
)
from compactlab.cli.text import safe, say, say_json
from compactlab.errors import UnknownName
from compactlab.words import less, plural

if TYPE_CHECKING:
    from compactlab.history import History
    from compactlab.session import Session
    from compactlab.strategy import Compaction

FORMATS = {"own": "own", "openai": "openai-chat", "anthropic": "anthropic-messages"}
SUFFIXES = {"own": ".jsonl", "openai": ".json", "anthropic": ".json"}


def compact(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A recorded session.")],
    out: Annotated[Path | None, typer.Option(
        "--out", "-o", metavar="FILE", show_default="<name>.compacted.json[l] here",
        help="Where the compacted history goes.")] = None,
    strategy: Annotated[str, typer.Option(
        metavar="NAME", help="The strategy that compacts, as its /compact does.")] = "compressor",
    window: Window = "200K",
    level: Annotated[int, typer.Option(
        metavar="N", min=0, help="Escalation level, for a strategy that has levels.")] = 0,
    budget: Annotated[int, typer.Option(
        metavar="TOKENS", min=0,
        help="Leave a history of at most so many tokens as it is; 0 compacts any.")] = 0,
    as_: Annotated[str, typer.Option(
        "--as", metavar="FORMAT", show_default="the file's own; for a log: own",
        help="own, openai or anthropic.")] = "",
    session: SessionId = "",
    summariser: Summariser = "extractive",
    tokenizer: Tokenizer = "auto",
    set_: Settings = None,
    force: Replace = False,
    as_json: Json = False,
) -> None:
    """Compact a recorded session once, and write the new history.

    \b
    compactlab compact chat.json
    compactlab compact chat.json --strategy escalating --level 1 -o smaller.json
    compactlab compact log.jsonl --as anthropic --window 64K
    """
    from compactlab.cli.files import check_new, one, writing
    from compactlab.files import write_bytes
    from compactlab.index import index
    from compactlab.replay import compact as compact_history

    found = one(file, session)
    form = _form(as_, found.format)
    target = out if out is not None else Path(f"{_stem(file)}.compacted{SUFFIXES[form]}")
    check_new(target, force)
    store = index(found, tokenizer)
    before = store.history(found.messages)
    made = compact_history(
        before, strategy, window=parse.window(window), level=level, budget=budget,
        summariser=summariser, **parse.settings(set_ or ()))
    after = made[-1].history if made else before
    with writing(target):
        write_bytes(target, _bytes(found, after, form, target))
    if as_json:
        say_json(_for_scripts(target, form, before, after, made))
    else:
        _show(target, form, strategy, before, after, made)


def _form(asked: str, recorded: str) -> str:
    if not asked:
        return next((short for short, name in FORMATS.items() if name == recorded), "own")
    short = next((s for s, name in FORMATS.items() if asked in (s, name)), None)
    if short is None:
        raise UnknownName("format to write", asked, FORMATS)
    return short


def _stem(file: Path) -> str:
    name = file.name.removesuffix(".gz")
    return Path(name).stem or name


def _bytes(session: Session, after: History, form: str, target: Path) -> bytes:
    """The file's content; what was measured at recorded requests does not go along."""
    import gzip

    import msgspec

    from compactlab.formats import anthropic_messages, openai_chat, own

    messages = tuple(after)
    if form == "own":
        new = msgspec.structs.replace(session, messages=messages, requests=(), compactions=(),
                                      events=())
        data = own.write([new])
    elif form == "openai":
        data = openai_chat.write(messages, session.tools) + b"\n"
    else:
        data = anthropic_messages.write(messages, session.tools) + b"\n"
    return gzip.compress(data, mtime=0) if target.suffix == ".gz" else data


def _show(target: Path, form: str, strategy: str, before: History, after: History,
          made: Sequence[Compaction]) -> None:
    if not made:
        say(f"{strategy} does not answer to a manual compaction: nothing changed.")
    for c in made:
        if not c.changed:
            say(f"{c.strategy} changed nothing: {c.reason}.")
        for step in c.steps if c.changed else ():
            say(safe(f"{c.strategy}, {step.name}: {step.detail}"))
    saved = (before.tokens - after.tokens) / before.tokens if before.tokens else 0.0
    left = plural(len(after) - after.lead, "message")
    say(f"{len(before) - before.lead} -> {left}, {before.tokens:,} -> {after.tokens:,} tokens "
        f"({less(saved)}), system prompt left out")
    alone = ": messages alone, there is no request to replay" if form == "own" else ""
    say(f"written to {target} ({FORMATS[form]}){alone}")


def _for_scripts(target: Path, form: str, before: History, after: History,
                 made: Sequence[Compaction]) -> dict[str, Any]:
    return {
        "file": str(target),
        "format": FORMATS[form],
        "messages_before": len(before) - before.lead,
        "messages_after": len(after) - after.lead,
        "before": before.tokens,
        "after": after.tokens,
        "compactions": [
            {"member": c.strategy, "level": c.level, "before": c.before, "after": c.after,
             "changed": c.changed, "reason": c.reason, "summary": c.summary}
            for c in made
        ],
    }
