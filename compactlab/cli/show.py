"""`compactlab show`: one compaction of a replayed session, before and after, in the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from compactlab.cli import parse
from compactlab.cli.options import Json, SessionId, Settings, Summariser, Tokenizer, Window
from compactlab.cli.text import safe, say, say_json, show_table
from compactlab.errors import BadSetting
from compactlab.words import is_missing, less, number, plural, share

if TYPE_CHECKING:
    from compactlab.fates import Fates, Row
    from compactlab.replay import Replay
    from compactlab.walk import Made

STYLES = {"cleared": "yellow", "truncated": "yellow", "summarised": "cyan", "dropped": "red",
          "new": "green"}
SHOWN_FIRST, SHOWN_LAST = 3, 2  # messages of a run of one fate that are shown in any case
COLUMNS = ("#", "role", "tokens", "fate", "text")


def show(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A recorded session.")],
    strategy: Annotated[str, typer.Option(
        metavar="NAME", help="The strategy to replay under.")] = "compressor",
    window: Window = "64K",
    compaction: Annotated[int, typer.Option(
        "--compaction", "-n", metavar="N", help="Which compaction, from 1.")] = 1,
    silent: Annotated[bool, typer.Option(
        "--silent", help="Count silent ones too (micro, truncation).")] = False,
    session: SessionId = "",
    summariser: Summariser = "extractive",
    tokenizer: Tokenizer = "auto",
    set_: Settings = None,
    quality: Annotated[bool, typer.Option(
        "--quality", help="Say how much of what the agent needed later is left; the whole profile "
                          "with --json.")] = False,
    whole: Annotated[bool, typer.Option(
        "--all", help="Every message, long runs of one fate too.")] = False,
    as_json: Json = False,
) -> None:
    """One compaction, before and after: each message with its tokens and its fate.

    \b
    compactlab show session.jsonl
    compactlab show session.jsonl --strategy escalating --window 64K -n 2 --quality
    compactlab show session.jsonl --strategy layered --silent --all
    """
    from compactlab.cli.files import one
    from compactlab.fates import fates
    from compactlab.replay import replay

    done = replay(one(file, session), strategy, window=parse.window(window),
                  summariser=summariser, tokenizer=tokenizer, **parse.settings(set_ or ()))
    made = [m for m in done.made if m.compaction.changed and (silent or not m.compaction.silent)]
    if not made and not as_json:
        _show_none(done)
        return
    if made and not 1 <= compaction <= len(made):
        raise BadSetting(f"--compaction {compaction}: this replay has {len(made)} "
                         f"compaction{'s' if len(made) > 1 else ''}, numbered from 1")
    chosen = made[compaction - 1] if made else None
    if as_json:
        more = {"quality": _profile(done, chosen)} if quality and chosen else {}
        say_json(_for_scripts(done, chosen, compaction, len(made)) | more)
    elif chosen is not None:
        _show(done, chosen, fates(chosen.before, chosen.compaction), compaction, len(made), whole)
        if quality:
            say(_kept(_profile(done, chosen)))


def _profile(done: Replay, made: Made) -> dict[str, Any]:
    """The profile of a compaction; None where a metric is taken over nothing."""
    from compactlab.quality.profile import profile

    return {name: None if is_missing(value) else value
            for name, value in profile(done, made).items()}


def _kept(row: dict[str, Any]) -> str:
    out = f" (not for the headline: {row['flag']})" if row["flag"] else ""
    return (f"\nkept of what the agent needed later: FRR {share(row['frr'])} of {row['frr_n']} "
            f"needs, among their old neighbours {share(row['bound_frr'])} of "
            f"{row['bound_frr_n']}{out}. Upper bounds on what a model would recall.")


def _show_none(done: Replay) -> None:
    silent = sum(m.compaction.silent and m.compaction.changed for m in done.made)
    say(f"{done.strategy} made no compaction of session {safe(done.session.id)} in a window of "
        f"{done.window:,} tokens{f' but {silent} silent ones (--silent)' if silent else ''}.")
    largest = max((s.raw_tokens for s in done.sent), default=0)
    say(f"The largest of its {plural(len(done.sent), 'request')} had {largest:,} tokens as "
        f"recorded; {plural(len(done.stops), 'turn')} ended refused.")
    for made in done.made:
        if made.compaction.reason and not made.compaction.changed:
            say(f"request {made.request}: {made.compaction.strategy} changed nothing "
                f"({made.compaction.reason})")


def _show(done: Replay, made: Made, found: Fates, at: int, of: int, whole: bool) -> None:
    c = made.compaction
    level = f", level {c.level}" if c.level is not None else ""
    say(f"session {safe(done.session.id)} ({done.session.format}), {done.strategy}, window "
        f"{done.window:,} tokens by {done.tokenizer}")
    say(f"compaction {at} of {of}: {c.strategy}{level}, before request {made.request} "
        f"(turn {made.turn}), trigger {made.trigger}")
    say(f"messages: {c.before:,} -> {c.after:,} tokens, {less(c.reduction)}"
        f"{f', {c.reason}' if c.reason else ''}")
    for side in ("before", "after"):
        rows = found.side(side)
        by_fate = ", ".join(f"{fate} {tokens:,}" for fate, tokens in found.tokens(side).items())
        show_table(COLUMNS, _cells(rows, whole), right=["#", "tokens"],
                   title=f"{side}: {plural(len(rows), 'message')}; tokens {by_fate}")
    for step in c.steps:
        say(safe(f"step {step.name}: {step.detail}" if step.detail else f"step {step.name}"))
    if c.summary is not None:
        writer = "fallback" if c.fallback else done.summariser
        say(f"\nsummary by {writer}, {done.store.count(c.summary):,} tokens:\n")
        say(safe(c.summary))


def _cells(rows: Sequence[Row], whole: bool) -> list[tuple[Any, ...]]:
    """The rows as cells; in the middle of a long run of one fate there is one line for all."""
    from rich.text import Text

    found: list[tuple[Any, ...]] = []
    for fate, same in groupby(rows, key=lambda row: row.fate):
        run = list(same)
        hidden = run[SHOWN_FIRST:-SHOWN_LAST]
        folds = len(hidden) > 1 and not whole
        for row in run[:SHOWN_FIRST] if folds else run:
            found.append(_cell(row))
        if folds:
            tokens = sum(row.tokens for row in hidden)
            found.append(("…", "", number(tokens), Text(fate, STYLES.get(fate, "")),
                          f"({len(hidden)} messages more; --all shows them)"))
            found.extend(_cell(row) for row in run[-SHOWN_LAST:])
    return found


def _cell(row: Row) -> tuple[Any, ...]:
    from rich.text import Text

    role = row.role if row.kind in (row.role, "user", "assistant") else f"{row.role}, {row.kind}"
    return (row.index, role, number(row.tokens), Text(row.fate, STYLES.get(row.fate, "")),
            " ".join(safe(row.text).split()))


def _for_scripts(done: Replay, made: Made | None, at: int, of: int) -> dict[str, Any]:
    from dataclasses import asdict

    from compactlab.fates import fates

    found: dict[str, Any] = {
        "session": done.session.id, "strategy": done.strategy, "window": done.window,
        "tokenizer": done.tokenizer, "summariser": done.summariser, "compactions": of,
    }
    if made is not None:
        c = made.compaction
        found |= {
            "compaction": at, "request": made.request, "turn": made.turn,
            "trigger": made.trigger, "member": c.strategy, "level": c.level, "before": c.before,
            "after": c.after, "reason": c.reason, "summary": c.summary,
            "steps": [{"name": s.name, "detail": s.detail, "count": s.count} for s in c.steps],
            "messages": [asdict(row) for row in fates(made.before, c).rows],
        }
    return found
