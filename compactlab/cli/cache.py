"""`compactlab cache validate|check`: the simulated prompt cache against what was billed."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from compactlab.cli.options import Json
from compactlab.cli.text import progress, records, say, say_json, short, show_table
from compactlab.words import number, percent, plural, points

if TYPE_CHECKING:
    from compactlab.caching.groups import Group
    from compactlab.caching.validate import Validation
    from compactlab.session import Session

DIFFERENT = 1
WHY_WIDTH = 200
MOST_TOKENS = 1_000_000_000  # of one request: no bill holds more
COLUMNS = ("format", "model", "question", "sessions", "requests", "reads", "writes", "hit rate",
           "within 1 %", "median session: reads", "prompts", "unexplained")


def build() -> typer.Typer:
    """The group of commands."""
    app = typer.Typer(no_args_is_help=True, rich_markup_mode=None,
                      help="The simulated prompt cache against recorded usage and worked vectors.")
    app.command(short_help="Against recorded usage.")(validate)
    app.command(short_help="Against a file of worked vectors.")(check)
    return app


def validate(
    paths: Annotated[list[str], typer.Argument(
        metavar="PATH", help="Files, folders or globs of recorded sessions.")],
    observed: Annotated[bool, typer.Option(
        "--observed", help="Pin recorded misses as outside events (validates only the rest).",
    )] = False,
    as_json: Json = False,
) -> None:
    """Replay sessions as they were, with the recording client's marks, and compare with the bill.

    Question A takes prompt sizes from the recording, B from our own counter. Errors are
    (simulated - recorded) / recorded over all requests of the group.

    \b
    compactlab cache validate ~/.claude/projects
    compactlab cache validate sessions/*.jsonl --observed --json
    """
    from compactlab.caching.groups import by_gap, by_group
    from compactlab.caching.validate import table
    from compactlab.cli.summary import show_not_read
    from compactlab.formats.named import expand, read_all

    files = expand(paths)
    with progress("reading", len(files)) as step:
        loaded = read_all(files, step)
    sessions = [s for s in loaded.sessions if any(r.usage and r.usage.prompt for r in s.requests)]
    found, left = _compared(sessions, observed)
    if as_json:
        say_json({"observed": observed, "sessions": records(table(found)),
                  "gaps": [list(gap) for gap in by_gap(found)],
                  "left_out": [{"session": name, "reason": why} for name, why in left]})
        return
    if observed:
        say("recorded misses are pinned as outside events: this validates nothing but the rest")
    show_table(COLUMNS, [_row(group) for group in by_group(found)],
               right=[c for c in COLUMNS if c not in ("format", "model", "question")])
    gaps = [(name, number(n), number(read), number(mine), percent(
        (mine - read) / read if read else None, 2, sign=True)) for name, n, read, mine in by_gap(
                 [v for v in found if v.question == "A"])]
    show_table(("pause before (question A)", "requests", "read, recorded", "read, simulated",
                "error"), gaps, right=["requests", "read, recorded", "read, simulated", "error"])
    _say_causes(found)
    say(f"{plural(len(loaded.sessions) - len(sessions), 'session')} without usage left out.")
    for name, why in left:
        say(f"not compared: {short(name)}: {short(why, WHY_WIDTH)}")
    show_not_read(loaded.not_read)


def _compared(sessions: list[Session], observed: bool
              ) -> tuple[list[Validation], list[tuple[str, str]]]:
    """What could be compared, and the names of the other sessions with the reason."""
    from compactlab.caching.validate import validate as compare
    from compactlab.errors import CompactlabError

    found: list[Validation] = []
    left: list[tuple[str, str]] = []
    with progress("comparing", len(sessions)) as step:
        for session in sessions:
            why = _no_bill(session)
            if not why:
                try:
                    found += compare(session, observed=observed)
                except CompactlabError as error:  # no rule for its model
                    why = str(error)
            if why:
                left.append((session.name or session.id, why))
            step()
    return found, left


def _no_bill(session: Session) -> str:
    """Why the recorded usage of a session cannot be one; empty where it can."""
    for at, request in enumerate(session.requests):
        usage = request.usage
        if usage and not all(0 <= tokens <= MOST_TOKENS for tokens in (
                usage.input, usage.cache_read, usage.cache_write_5m, usage.cache_write_1h,
                usage.output)):
            return f"request {at} records less than 0 or over {MOST_TOKENS:,} tokens"
    return ""


def _row(group: Group) -> tuple[str, ...]:
    return (group.format, group.model, group.question, number(group.sessions),
            number(group.requests), percent(group.reads, 2, sign=True),
            percent(group.writes, 2, sign=True), points(group.hit_rate, 2, sign=True),
            percent(group.close, 1),
            percent(group.median_reads, 2), percent(group.median_prompts, 2),
            percent(group.unexplained, 1))


def _say_causes(found: list[Validation]) -> None:
    sums: dict[str, int] = defaultdict(int)
    for one in found:
        if one.question == "A":
            for difference in one.differences:
                sums[difference.why] += difference.tokens
    total = sum(sums.values())
    ranked = sorted(sums.items(), key=lambda pair: -pair[1])
    say("Why reads differ (question A): " + (", ".join(
        f"{why} {percent(tokens / total, 1)}" for why, tokens in ranked) if total
        else "they do not"))


def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A JSON file of cache vectors.")],
    as_json: Json = False,
) -> None:
    """Run a file of worked cache vectors; exit 1 when any figure differs.

    \b
    compactlab cache check vectors.json
    """
    from compactlab.caching.vectors import check_file

    found = check_file(file)
    rows: list[Any] = [difference._asdict() for difference in found.differences]
    if as_json:
        say_json({"vectors": found.vectors, "requests": found.requests, "differences": rows})
    else:
        for row in rows:
            say(", ".join(f"{name} {value}" for name, value in row.items()))
        say(f"{found.vectors} vectors, {found.requests} requests, {len(rows)} differences")
    if rows:
        raise typer.Exit(DIFFERENT)
