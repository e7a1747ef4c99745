"""`compactlab cache validate|check`: the simulated prompt cache against what was billed."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Annotated, Any

import typer

from compactlab.cli.options import Json
from compactlab.cli.text import (
    number,
    percent,
    plural,
    progress,
    records,
    say,
    say_json,
    show_table,
)

if TYPE_CHECKING:
    from compactlab.caching.validate import Validation

DIFFERENT = 1
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
    from compactlab.caching.validate import by_gap, table
    from compactlab.caching.validate import validate as compare
    from compactlab.cli.files import expand, load_all
    from compactlab.cli.summary import show_not_read

    files = expand(paths)
    with progress("reading", len(files)) as step:
        loaded = load_all(files, step)
    sessions = [s for s in loaded.sessions if any(r.usage and r.usage.prompt for r in s.requests)]
    found: list[Validation] = []
    with progress("comparing", len(sessions)) as step:
        for session in sessions:
            found += compare(session, observed=observed)
            step()
    if as_json:
        say_json({"sessions": records(table(found)),
                  "gaps": [list(gap) for gap in by_gap(found)]})
        return
    groups: dict[tuple[str, str, str], list[Validation]] = defaultdict(list)
    for one in found:
        groups[one.session.format, one.session.model, one.question].append(one)
    show_table(COLUMNS, [_row(key, ones) for key, ones in groups.items()],
               right=[c for c in COLUMNS if c not in ("format", "model", "question")])
    gaps = [(name, number(n), number(read), number(mine), percent((mine - read) / read, 2)
             if read else "-") for name, n, read, mine in by_gap(
                 [v for v in found if v.question == "A"])]
    show_table(("pause before (question A)", "requests", "read, recorded", "read, simulated",
                "error"), gaps, right=["requests", "read, recorded", "read, simulated", "error"])
    _say_causes(found)
    say(f"{plural(len(loaded.sessions) - len(sessions), 'session')} without usage left out.")
    show_not_read(loaded.not_read)


def _row(key: tuple[str, str, str], ones: list[Validation]) -> tuple[str, ...]:
    from compactlab.caching.validate import table

    rows = table(ones)
    read, mine = int(rows["read"].sum()), int(rows["read_simulated"].sum())
    write, wrote = int(rows["write"].sum()), int(rows["write_simulated"].sum())
    requests = int(rows["requests"].sum())
    close = float((rows["close"] * rows["requests"]).sum()) / requests
    differing = int(rows["differing"].sum())
    unexplained = float((rows["unexplained"].fillna(0) * rows["differing"]).sum())
    points = 100 * float((rows["hit_rate_error"] * rows["requests"]).sum()) / requests
    return (*key, number(len(ones)), number(requests), _error(mine, read), _error(wrote, write),
            f"{points:+.2f} points", percent(close, 1),
            percent(median(abs(float(e)) for e in rows["read_error"].fillna(0)), 2),
            percent(median(float(e) for e in rows["prompt_error"]), 2),
            percent(unexplained / differing if differing else 0.0, 1))


def _error(simulated: int, recorded: int) -> str:
    return f"{(simulated - recorded) / recorded:+.2%}" if recorded else "-"


def _say_causes(found: list[Validation]) -> None:
    sums: dict[str, int] = defaultdict(int)
    for one in found:
        if one.question == "A":
            for difference in one.differences:
                sums[difference.why] += difference.tokens
    total = sum(sums.values())
    ranked = sorted(sums.items(), key=lambda pair: -pair[1])
    say("Why reads differ (question A): " + (", ".join(
        f"{why} {tokens / total:.1%}" for why, tokens in ranked) if total else "they do not"))


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
