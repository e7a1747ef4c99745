"""What a run ends with in the terminal: a table by format, the files not read, an honest note."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compactlab.cli.text import say, short, show_table
from compactlab.words import HEAD_NAMES, dollars, joined, number, percent, plural, share

if TYPE_CHECKING:
    from pandas import DataFrame

NOTE = (
    "A replay holds the agent's recorded behaviour fixed: it measures size, cost and loss, never "
    "whether the task would have succeeded."
)
KEPT_NOTE = (
    "kept: share (by weight) of what the agent needed later that was still in the prompt "
    "(forward-reference recall); bound: that stood among its old neighbours, too. Mean over the "
    "same cuts for all, then over the sessions served whole; n = those with a cut that counts for "
    "the headline (3 needs or more). Upper bounds on what a model would recall."
)
COLUMNS = ("window", "strategy", "token reduction", "effective", "cache hits", "money saved",
           "cost", "stops")
KEPT = ("kept", "bound")  # where quality was measured
MOST_FILES = 40
MOST_ERRORS = 10
MOST_MODELS = 4
REASON_WIDTH = 100
PATH_WIDTH = 200


def show_run(folder: Path, not_read: Sequence[tuple[Path, str]], *, fresh: bool,
             report: Path | None, prices: str = "") -> None:
    """Print what a finished run found; `prices`: the file of your own prices."""
    from compactlab.results import overview, read, read_quality

    runs, quality = read(folder), read_quality(folder)
    kinds = ["format", "head_kind", "tokenizer"]
    for (form, head, counter), group in overview(runs, quality).groupby(
            kinds, sort=False, dropna=False):
        show_group(str(form), str(head), str(counter), group)
    _say_how(runs, prices)
    if quality is not None:
        say(KEPT_NOTE)
    _show_errors(runs)
    _say_empty(runs)
    show_not_read(not_read)
    if not fresh:
        say(f"{folder} holds this very run already: nothing was done (--force does it again).")
    else:
        say(f"written to {folder}")
    if report:
        say(f"report: {report}")


def show_group(form: str, head: str, tokenizer: str, group: DataFrame) -> None:
    """The table of one format; kinds of heads and of tokens are never pooled."""
    ordered = group.sort_values("window", kind="stable").to_dict("records")
    rows = [_row({str(k): v for k, v in row.items()}) for row in ordered]
    sessions = int(group["sessions"].max())
    known = HEAD_NAMES.get(head, "not replayed")
    title = f"{form}: {plural(sessions, 'session')}, {known}, tokens by {tokenizer}"
    columns = [*COLUMNS, *(KEPT if "frr" in group else ())]
    show_table(
        columns, rows, title=title, right=[name for name in columns if name != "strategy"])


def _row(values: dict[str, Any]) -> tuple[str, ...]:
    left_out = values["left_out"] + values["impossible"] + values["errors"]
    reduction = percent(values["token_reduction"], 1)
    hard = f" ({values['hard_stops']} hard)" if values["hard_stops"] else ""
    settings = f" {values['settings']}" if values["settings"] else ""
    return (
        number(values["window"]),
        values["strategy"] + settings,
        f"{reduction} [{left_out}]" if left_out else reduction,
        percent(values["effective_rate"]),
        percent(values["hit_rate"]),
        percent(values["cost_saving"]),
        dollars(values["cost"]),
        f"{values['stops']}{hard}",
        *(_kept(values) if "frr" in values else ()),
    )


def _kept(values: dict[str, Any]) -> tuple[str, str]:
    frr, bound = (share(values[name]) for name in ("frr", "bound_frr"))
    return f"{frr} n={values['frr_sessions']}", bound


def _say_how(runs: DataFrame, prices: str) -> None:
    from compactlab.results.trust import trust

    say("token reduction: mean over the sessions that were served whole; [n] = sessions left out, "
        "because a request was refused or nothing could be replayed. effective: share of "
        "compactions that saved at least 10 %. stops: turns that ended refused. Of a simulated "
        "prompt cache, over the sessions that were served whole: cache hits, pooled; cost, USD "
        "summed, summaries included; money saved, the mean of each session's own share.")
    models = {f"{m} ({day})" for m, day in zip(
        runs["price_model"].dropna(), runs["prices_as_of"].dropna(), strict=False)}
    if models:
        say(f"prices of {joined(models, MOST_MODELS)}")
    for sentence in trust(runs, prices):
        say(sentence)
    say(f"summaries by {joined(runs['summariser'])}. {NOTE}")


def _show_errors(runs: DataFrame) -> None:
    """Replays that failed or could not be made, one line for each session and reason."""
    titles = {"impossible": "not replayed: the hidden head fills the window", "error": "failed"}
    for status, title in titles.items():
        found = runs[runs["status"] == status]
        rows = [
            (short(str(session)), number(len(group)), _windows(group),
             short(str(reason), REASON_WIDTH))
            for (session, reason), group in found.groupby(["session", "reason"], sort=False)
        ]
        if len(rows) > MOST_ERRORS:
            more = f"… and {len(rows) - MOST_ERRORS} sessions more: see the column `reason` of runs"
            rows[MOST_ERRORS:] = [(more, "", "", "")]
        if rows:
            show_table(("session", "replays", "windows", "reason"), rows, title=title,
                       right=["replays", "windows"])


def without_requests(runs: DataFrame) -> list[str]:
    """The sessions of a run in which there is no request, so nothing that could be replayed."""
    return [str(s) for s in runs[runs["requests"] == 0]["session"].unique()]


def _say_empty(runs: DataFrame) -> None:
    empty = without_requests(runs)
    if empty:
        count = f"{len(empty):,} of {plural(runs['session'].nunique(), 'session')}"
        say(f"not replayed: there is no model request in {count}, only messages (as in a file that "
            f"`compactlab compact` wrote): {_listed(empty)}")


def _windows(group: DataFrame) -> str:
    return " ".join(number(window) for window in sorted(group["window"].dropna().unique()))


def show_not_read(not_read: Sequence[tuple[Path, str]]) -> None:
    """Name the files that were not read, by reason."""
    from compactlab.formats.named import NO_IMPORTER

    by_reason: dict[str, list[Path]] = {}
    for path, why in not_read:
        by_reason.setdefault(why if why == NO_IMPORTER else "", []).append(path)
    nameless = by_reason.get(NO_IMPORTER, [])
    if nameless:
        folders: dict[Path, list[str]] = {}
        for path in nameless:
            folders.setdefault(path.parent, []).append(path.name)
        say(f"{NO_IMPORTER}: {plural(len(nameless), 'file')}, left out")
        for folder, names in folders.items():
            say(f"  {short(str(folder), PATH_WIDTH)}: {_listed(names)}")
    for path, why in not_read:
        if why != NO_IMPORTER:
            say(f"not read: {short(str(path), PATH_WIDTH)}: {short(why, PATH_WIDTH)}")


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(short(name, PATH_WIDTH) for name in names[:MOST_FILES])
    more = len(names) - MOST_FILES
    return f"{shown} and {more} more" if more > 0 else shown
