"""`compactlab quality`: what survives a compaction, strategies beside summarisers and controls."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from compactlab.cli import parse
from compactlab.cli.options import Json, Summariser, Tokenizer
from compactlab.cli.text import progress, records, say, say_json, show_table
from compactlab.words import NONE, is_missing, number, plural

if TYPE_CHECKING:
    from pandas import DataFrame

    from compactlab.bench import Plan
    from compactlab.formats.named import Read
    from compactlab.session import Session

STRATEGIES = "escalating,compressor,layered,observation_masking,recent,recorded"
WINDOW = "64K"
BUDGETS = "1,2,5,10"  # per cent of what stood before a cut, for summarisers and controls
HOW = (
    "mean over cuts within a session, then over sessions [95 % bootstrap interval]; n = sessions "
    "with a value. view cut: the same cuts for all, a strategy at its own size, summarisers and "
    "controls at a budget (share of what stood before the cut). Cuts whose future followed from a "
    "recorded compaction, and cuts with fewer than 3 needs, stay out. Pairs: at the cuts that both "
    "share; p (Wilcoxon, Holm-corrected) from 8 sessions on; not separable when the interval, "
    "which is not corrected for the number of pairs, holds 0."
)
NOWHERE = "\0"
TABLES = (  # (title, metrics, or what their names begin with)
    ("headline", ("size", "frr", "bound_frr", "frr_newest", "bound_frr_newest", "next_action"),
     NOWHERE),
    ("anchors at risk that survive, by class", (), "anchor_recall"),
    ("the rest of the profile", ("verbatim", "refetch_tokens", "net_saving",
                                 "constraint_retention", "novel_anchors", "artifact_trail",
                                 "redundancy"), NOWHERE),
)
MANY = 100  # from here on a figure is shown without digits behind the point


def quality(
    paths: Annotated[list[str], typer.Argument(
        metavar="PATH", help="Files, folders or globs of recorded sessions.")],
    strategies: Annotated[list[str] | None, typer.Option(
        metavar="NAMES", show_default=STRATEGIES, help="Separated by commas.")] = None,
    windows: Annotated[list[str] | None, typer.Option(
        metavar="TOKENS", show_default=WINDOW, help="Windows of the replays.")] = None,
    summariser: Summariser = "extractive",
    tokenizer: Tokenizer = "auto",
    budgets: Annotated[list[str] | None, typer.Option(
        metavar="PERCENTS", show_default=BUDGETS,
        help="Sizes of summaries and controls, in per cent of what stood before a cut.")] = None,
    cuts: Annotated[int, typer.Option(
        metavar="N", min=1, help="Cuts of each session, spread over it.")] = 3,
    most: Annotated[int, typer.Option(
        metavar="N", min=1, help="Most sessions of a format, the longest ones.")] = 12,
    out: Annotated[Path | None, typer.Option(
        metavar="FILE", help="Write every row as Parquet, too.")] = None,
    as_json: Json = False,
) -> None:
    """Score what strategies keep, at the same cuts and budgets, beside the controls.

    Offline and exact: what the agent's own later text and tool calls use of what was removed.
    Found loss is an upper bound on what a model would recall; no figure is a single score.

    \b
    compactlab quality ~/.claude/projects --strategies compressor,recorded
    compactlab quality datasets --windows 64K --cuts 5 --out quality.parquet
    """
    from compactlab.cli.summary import show_not_read
    from compactlab.quality.pairs import pairs
    from compactlab.quality.table import summary

    sizes = parse.shares(budgets or (BUDGETS,))
    planned = _plan(strategies, windows, summariser, tokenizer, out)
    loaded, chosen = _read(paths, most)
    rows = _scored(chosen, planned, cuts, sizes)
    if out is not None:
        _write(rows, out)
    found, compared = summary(rows), pairs(rows)
    if as_json:
        say_json({"summary": records(found), "pairs": records(compared)})
        return
    for (form, view), group in found.groupby(["format", "view"], sort=False, dropna=False):
        _show(str(form), str(view), group)
        if view == "cut":
            _show_pairs(str(form), compared[compared["format"] == form], sizes[len(sizes) // 2])
    left = len(loaded.sessions) - len(chosen)
    say(f"{HOW} {left} shorter sessions left out (--most). Summaries by {summariser}.")
    show_not_read(loaded.not_read)


def _plan(strategies: list[str] | None, windows: list[str] | None, summariser: str, tokenizer: str,
          out: Path | None) -> Plan:
    """Check everything before anything is read."""
    from compactlab.bench import plan
    from compactlab.errors import BadFile

    if out is not None and not out.resolve().parent.is_dir():
        raise BadFile(f"{out} cannot be written: no folder {out.resolve().parent.name}")
    return plan(parse.names(strategies or (STRATEGIES,)),
                parse.windows(windows or (WINDOW,)), summariser=summariser, tokenizer=tokenizer)


def _read(paths: list[str], most: int) -> tuple[Read, list[Session]]:
    """What was read, and the sessions that are scored."""
    from compactlab.bench.work import unique_ids
    from compactlab.errors import BadSession
    from compactlab.formats.named import expand, read_all

    files = expand(paths)
    with progress("reading", len(files)) as step:
        loaded = read_all(files, step)
    chosen = _longest([s for s in unique_ids(loaded.sessions) if s.requests], most)
    if not chosen:
        raise BadSession(f"no session with a request in {plural(len(files), 'file')}")
    return loaded, chosen


def _scored(sessions: list[Session], planned: Plan, cuts: int, budgets: list[float]) -> DataFrame:
    from compactlab.quality.table import quality_table

    with progress("scoring", len(sessions)) as step:
        return quality_table(
            sessions, [variant.pipeline for variant in planned.variants], windows=planned.windows,
            count=cuts, summariser=str(planned.summariser), tokenizer=planned.tokenizer,
            budgets=budgets, on_done=step)


def _write(rows: DataFrame, out: Path) -> None:
    from compactlab.cli.files import writing
    from compactlab.files import write_bytes

    with writing(out):
        write_bytes(out, rows.to_parquet(index=False))


def _longest(sessions: list[Session], most: int) -> list[Session]:
    """The longest sessions of each format, in the order given."""
    by_format: dict[str, list[Session]] = {}
    for session in sessions:
        by_format.setdefault(session.format, []).append(session)
    kept: set[int] = set()
    for group in by_format.values():
        group.sort(key=lambda s: (-len(s.requests), s.id))
        kept.update(id(s) for s in group[:most])
    return [s for s in sessions if id(s) in kept]


def _show(form: str, view: str, group: DataFrame) -> None:
    """Three tables of one format and view: headline, anchors by class, the rest."""
    rows: list[dict[str, Any]] = [{str(k): v for k, v in r.items()}
                                  for r in group.to_dict("records")]
    known = list(dict.fromkeys(str(row["metric"]) for row in rows))
    shown = [(title, [m for m in known if m in names or m.startswith(starts)])
             for title, names, starts in TABLES]
    for title, metrics in shown:
        lines: dict[tuple[str, str, str], dict[str, str]] = {}
        for row in rows:
            if row["metric"] in metrics:
                window = "" if is_missing(row["window"]) else number(int(row["window"]))
                budget = _budget(row["budget"])
                at = (str(row["strategy"]), window, budget)
                lines.setdefault(at, {})[str(row["metric"])] = _value(row)
        columns = ["strategy", "window", "budget", *(m.replace("_", " ") for m in metrics)]
        show_table(columns, [[*at, *(values.get(m, NONE) for m in metrics)]
                             for at, values in lines.items()],
                   title=f"{form}, view {view}: {title}", right=columns[1:])


def _show_pairs(form: str, compared: DataFrame, budget: float) -> None:
    """Who is ahead: strategies at their own size, the others at one budget, the middle one."""
    from compactlab.quality.pairs import METRICS, lines

    rows = [(line.pair, "" if line.window is None else number(line.window), _budget(line.budget),
             *(line.said.get(metric, NONE) for metric in METRICS))
            for line in lines(compared, budget)]
    if rows:
        show_table(("pair", "window", "budget", *(m.replace("_", " ") for m in METRICS)), rows,
                   title=f"{form}, view cut: who is ahead, paired by session",
                   right=["window", "budget"])


def _budget(value: Any) -> str:
    return "own" if is_missing(value) else f"{100 * float(value):g} %"


def _value(row: dict[Any, Any]) -> str:
    if is_missing(row["value"]):
        return NONE
    value = float(row["value"])
    text = f"{value:,.0f}" if abs(value) >= MANY else f"{value:.2f}"
    if not is_missing(row["low"]):
        low, high = float(row["low"]), float(row["high"])
        ends = f"{low:,.0f}, {high:,.0f}" if abs(value) >= MANY else f"{low:.2f}, {high:.2f}"
        text += f" [{ends}]"
    return f"{text} n={int(row['sessions'])}"
