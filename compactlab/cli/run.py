"""`compactlab run`: sessions replayed under strategies and windows, into a folder of results."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from compactlab.cli import parse
from compactlab.cli.options import Cache, Json, Sessions, Summariser, Tokenizer
from compactlab.cli.text import progress, records, say_json, warn
from compactlab.words import plural

if TYPE_CHECKING:
    from compactlab.bench import Plan
    from compactlab.formats.named import Read
    from compactlab.results import RunFolder

RESULTS = Path("results")
ALL = "all"
DEFAULT_WINDOWS = "32K,64K,128K"


@dataclasses.dataclass(frozen=True)
class Job:
    """A run that has been checked: what is replayed, how, and where it is written."""

    loaded: Read
    planned: Plan
    determines: dict[str, Any]
    place: RunFolder
    workers: int


def run(
    files: Annotated[list[str] | None, typer.Argument(
        metavar="PATH", help="More files, folders or globs of recorded sessions.")] = None,
    sessions: Sessions = None,
    strategies: Annotated[list[str] | None, typer.Option(
        metavar="NAMES", show_default="raw and the published ones",
        help="Separated by commas (see `compactlab explain`), or all; a+b runs both.")] = None,
    windows: Annotated[list[str] | None, typer.Option(
        metavar="TOKENS", show_default=DEFAULT_WINDOWS,
        help="Context windows, separated by commas; K = 1,000.")] = None,
    summariser: Summariser = "extractive",
    tokenizer: Tokenizer = "auto",
    set_: Annotated[list[str] | None, typer.Option(
        "--set", metavar="NAME=VALUE",
        help="A setting, for every strategy that has it (STRATEGY.NAME: for one); values "
             "separated by commas are all tried. Also on_stop, reserve_output, summariser_window, "
             "manual_at.")] = None,
    cache: Cache = None,
    quality: Annotated[bool, typer.Option(
        "--quality", help="Measure what survives too: a profile of each compaction, and at the "
                          "same cuts of a session what each strategy had sent.")] = False,
    out: Annotated[Path | None, typer.Option(
        metavar="FOLDER", show_default="results/<run id>", help="Where the results go.")] = None,
    workers: Annotated[int, typer.Option(
        metavar="N", min=1, help="Processes; the result is the same.")] = 1,
    force: Annotated[bool, typer.Option(
        "--force", help="Do it again, or replace the other run in the folder.")] = False,
    with_report: Annotated[bool, typer.Option(
        "--report", help="Write the notebooks and report.html too.")] = False,
    as_json: Json = False,
) -> None:
    """Replay recorded sessions under strategies and windows, and compare.

    Writes runs, requests and compactions as Parquet, with --quality what survived too, and a
    manifest that explains every column, into one folder. The same run again does nothing and says
    so; an interrupted one goes on where it was.

    \b
    compactlab run --sessions datasets --quality --report
    compactlab run ~/.claude/projects --windows 100K,200K --workers 2
    compactlab run --sessions 'logs/*.jsonl' --strategies raw,compressor \\
      --set threshold=0.5,0.75 --out results/threshold
    """
    from compactlab.bench import plan
    from compactlab.cli.summary import show_run
    from compactlab.formats.named import expand

    planned = plan(
        _strategies(strategies), parse.windows(windows or (DEFAULT_WINDOWS,)),
        summariser=summariser, tokenizer=tokenizer, quality=quality,
        cache=parse.cache(cache or ()), **parse.settings(set_ or ()))
    loaded = _load(expand([*(sessions or ()), *(files or ())] or ["."]), as_json)
    job = _job(loaded, planned, out, workers)
    fresh = _work(job, force)
    page = _report(job) if with_report else None
    if as_json:
        say_json(_for_scripts(job, fresh, page))
    else:
        show_run(job.place.folder, job.loaded.not_read, fresh=fresh, report=page,
                 prices=job.planned.cache.prices or "")


def _strategies(named: list[str] | None) -> list[str]:
    """The strategies that were named; without a name raw and the published systems."""
    from compactlab.errors import BadSetting
    from compactlab.strategies.presets import PUBLISHED, names

    if not named:
        return ["raw", *(preset.name for preset in PUBLISHED)]
    found = parse.names(named)
    if not found:
        raise BadSetting(f"no strategy: choose some of {', '.join(names())}, or {ALL}")
    return list(names()) if found == [ALL] else found


def _load(paths: list[Path], quiet: bool) -> Read:
    from compactlab.errors import BadSession
    from compactlab.formats.named import read_all

    with progress("reading", len(paths)) as step:
        loaded = read_all(paths, step)
    if not loaded.sessions:
        from compactlab.cli.summary import show_not_read

        if not quiet:
            show_not_read(loaded.not_read)
        raise BadSession(f"no session in {plural(len(paths), 'file')}: `compactlab sessions list` "
                         "finds sessions on this machine")
    return loaded


def _job(loaded: Read, planned: Plan, out: Path | None, workers: int) -> Job:
    from compactlab.results import RunFolder, determined_by, run_id
    from compactlab.tokens import counter

    determines = determined_by(
        planned.described(), list(loaded.files), counter(planned.tokenizer).name)
    name = run_id(determines)
    folder = out if out is not None else RESULTS / name
    return Job(loaded, planned, determines, RunFolder(folder, name, planned.quality), workers)


def _work(job: Job, force: bool) -> bool:
    """Replay what is not done yet, keep each session's rows as it ends, and write everything.

    False where this very run stands in the folder already: nothing is done.
    """
    from compactlab.bench import run as run_bench
    from compactlab.bench import size
    from compactlab.results import Tables, make_manifest

    sessions, place = job.loaded.sessions, job.place
    if not force and place.is_finished():
        return False
    place.check_free(replace=force)
    with place.working(replace=force):
        kept = {at: tables for at in range(len(sessions))
                if (tables := place.kept(_key(at))) is not None}
        if kept:
            warn(f"going on: {len(kept)} of {len(sessions)} sessions are done already")
        sizes = [size(session) + 1 for session in sessions]
        left = sum(size for at, size in enumerate(sizes) if at not in kept)
        with progress(f"replaying {len(sessions) - len(kept)} sessions", left) as step:

            def done(at: int, tables: Tables) -> None:
                place.keep(_key(at), tables)
                step(sizes[at])

            made = run_bench(sessions, job.planned, workers=job.workers, on_done=done, kept=kept)
        not_read = [{"name": path.name, "reason": why} for path, why in job.loaded.not_read]
        rows = {name: table.num_rows for name, table in made.items()}
        place.finish(made, make_manifest(job.determines, not_read, rows))
    return True


def _key(at: int) -> str:
    return f"{at:06d}"


def _report(job: Job) -> Path:
    from compactlab.report import report

    return report(job.place.folder, files=job.loaded.by_id)


def _for_scripts(job: Job, fresh: bool, page: Path | None) -> dict[str, Any]:
    from compactlab.cli.summary import without_requests
    from compactlab.results import overview, read, read_quality
    from compactlab.results.trust import trust

    runs = read(job.place.folder)
    table = overview(runs, read_quality(job.place.folder))
    return {
        "run": job.place.run,
        "folder": str(job.place.folder),
        "fresh": fresh,
        "report": str(page) if page else None,
        "overview": records(table),
        "prices": sorted({f"{m} ({day})" for m, day in zip(
            runs["price_model"].dropna(), runs["prices_as_of"].dropna(), strict=True)}),
        "notes": list(trust(runs, job.planned.cache.prices or "")),
        "not_read": [{"file": str(path), "reason": why} for path, why in job.loaded.not_read],
        "without_requests": without_requests(runs),
    }
