"""`compactlab sessions`: find recorded sessions, turn them into the own format, record new ones."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from compactlab.cli.files import check_new, writing
from compactlab.cli.options import Json, Replace
from compactlab.cli.summary import show_not_read
from compactlab.cli.text import progress, safe, say, say_json, short, show_table, warn
from compactlab.words import NONE, is_missing, number, plural

if TYPE_CHECKING:
    from compactlab.formats.find import Found
    from compactlab.session import Session

LIST_COLUMNS = ("tokens ~", "messages", "requests", "turns", "span", "compactions", "usage",
                "format", "file")
NUMBERS = ("messages", "requests", "turns", "tokens ~", "compactions")
PATH_WIDTH = 200


def build() -> typer.Typer:
    """The commands below `sessions`."""
    app = typer.Typer(
        no_args_is_help=True, rich_markup_mode=None,
        help="Find recorded sessions, convert them, record new ones.")
    app.command("list", short_help="What lies on this machine.")(list_)
    app.command("import", short_help="Any format into compactlab's own.")(import_)
    app.command(short_help="A recipe into a session with real tool output.")(record)
    return app


def list_(
    places: Annotated[list[Path] | None, typer.Argument(
        metavar="PATH", show_default="here, and where Claude Code, Codex and pi keep theirs",
        help="Files or folders to look into.")] = None,
    limit: Annotated[int, typer.Option(
        metavar="N", min=0, help="Show so many; 0 shows all.")] = 40,
    as_json: Json = False,
) -> None:
    """Recorded sessions, the largest first: length, tokens, span, usage, compactions.

    Tokens are an estimate (characters // 4, images by their size), so that listing is quick.

    \b
    compactlab sessions list
    compactlab sessions list ~/.claude/projects --limit 10
    """
    from compactlab.formats.find import find_sessions

    found = []
    with progress("looking", None) as step:
        for one in find_sessions(places or None):
            found.append(one)
            step()
    sessions = sorted((f for f in found if not f.problem), key=lambda f: -f.rough_tokens)
    problems = [f for f in found if f.problem]
    if as_json:
        say_json({"sessions": [_listed(f) for f in sessions],
                  "not_read": [{"file": str(f.path), "reason": f.problem} for f in problems]})
        return
    shown = sessions[:limit] if limit else sessions
    in_file = Counter(f.path for f in sessions)
    if shown:
        rows = [_row(f, in_file[f.path] > 1) for f in shown]
        show_table(LIST_COLUMNS, rows, right=NUMBERS)
    if len(shown) < len(sessions):
        say(f"{len(sessions) - len(shown)} more: --limit 0 shows all {len(sessions)}.")
    show_not_read([(f.path, f.problem) for f in problems])
    if not sessions:
        say("No session found. `make demo` uses the one in datasets/.")


def _listed(found: Found) -> dict[str, Any]:
    return {
        "session": found.id, "format": found.format, "file": str(found.path),
        "parent": found.parent or None, "messages": found.messages, "requests": found.requests,
        "turns": found.turns, "rough_tokens": found.rough_tokens, "start": found.start,
        "end": found.end, "usage": found.usage, "compactions": found.compactions,
        "skipped": dict(found.skipped),
    }


def _row(found: Found, several: bool) -> tuple[Any, ...]:
    where = short(_near(found.path) + (f" {found.id}" if several else ""), PATH_WIDTH)
    return (
        number(found.rough_tokens), number(found.messages), number(found.requests),
        number(found.turns), _span(found.span), number(found.compactions),
        "yes" if found.usage else "no", found.format, where,
    )


def _near(path: Path) -> str:
    """The path as a user would type it: from here, or from home."""
    for start, prefix in ((Path.cwd(), ""), (Path.home(), "~/")):
        if path.is_relative_to(start):
            return f"{prefix}{path.relative_to(start)}"
    return str(path)


def _span(seconds: float | None) -> str:
    """A time span in the largest unit that it fills."""
    if seconds is None or is_missing(seconds):
        return NONE
    for size, unit in ((86400.0, "days"), (3600.0, "hours"), (60.0, "minutes")):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return plural(round(seconds), "second")


def import_(
    files: Annotated[list[str], typer.Argument(
        metavar="PATH", help="Files, folders or globs of recorded sessions.")],
    out: Annotated[Path, typer.Option(
        "--out", "-o", metavar="FILE", help="Where they go; gzipped where it ends in .gz.")],
    force: Replace = False,
    as_json: Json = False,
) -> None:
    """Read sessions of any format and write them into one file of compactlab's own.

    \b
    compactlab sessions import chats/*.json --out chats.jsonl.gz
    """
    from compactlab.errors import BadSession
    from compactlab.formats import own
    from compactlab.formats.named import expand, read_all

    check_new(out, force)
    loaded = read_all(expand(files))
    if not loaded.sessions:
        show_not_read(loaded.not_read)
        raise BadSession("no session among these files: nothing was written")
    with writing(out):
        own.save(out, loaded.sessions)
    if as_json:
        say_json({"file": str(out), "sessions": [_described(s) for s in loaded.sessions],
                  "not_read": [{"file": str(p), "reason": r} for p, r in loaded.not_read]})
        return
    show_not_read(loaded.not_read)
    for session in loaded.sessions:
        skipped = ", ".join(f"{reason} {count}" for reason, count in session.skipped)
        say(f"{short(session.id)}: {plural(len(session.messages), 'message')}"
            f"{f'; left out: {safe(skipped)}' if skipped else ''}")
    say(f"written to {out}")


def record(
    recipe: Annotated[Path, typer.Argument(metavar="RECIPE.yaml", help="The steps to play.")],
    out: Annotated[Path | None, typer.Option(
        "--out", "-o", metavar="FILE", show_default="<name>.jsonl.gz here",
        help="Where the session goes.")] = None,
    as_json: Json = False,
) -> None:
    """Play a recipe: scripted words, tools that really run in a scratch copy of a code base.

    A recipe runs commands on this machine: record only recipes you trust.

    \b
    compactlab sessions record datasets/recipes/NAME.yaml --out session.jsonl.gz
    """
    from compactlab.record import record as record_recipe

    if not as_json:
        warn(f"recording {recipe}: its tools really run")
    written = record_recipe(recipe, out)
    if as_json:
        say_json({"file": str(written)})
    else:
        say(f"written to {written}")


def _described(session: Session) -> dict[str, Any]:
    return {"session": session.id, "format": session.format, "messages": len(session.messages),
            "requests": len(session.requests), "skipped": dict(session.skipped)}
