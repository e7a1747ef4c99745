"""Run the notebooks on a finished run and join the executed copies into its report.html."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from statistics import median_low
from typing import TYPE_CHECKING, Any

from compactlab.calibrate import ESTIMATE
from compactlab.calibrate import NAME as CALIBRATED
from compactlab.errors import BadRun
from compactlab.files import write_bytes
from compactlab.report.findings import finding
from compactlab.tokens import AUTO
from compactlab.words import plural

if TYPE_CHECKING:
    import pandas as pd

REPORT = "report.html"
ONE_SESSION = "01_one_session.ipynb"
FROM_TABLES = ("02_compare_strategies.ipynb", "03_escalation.ipynb")
CACHING, CACHING_SESSIONS = "04_prompt_caching.ipynb", 6  # most whose what-ifs are simulated
QUALITY, QUALITY_SESSIONS, QUALITY_STRATEGIES = "05_summary_quality.ipynb", 3, 4
SHORT_HASH = 12
Job = tuple[Path, dict[str, Any]]


def report(run_folder: Path | str, *, files: Mapping[str, Path] | None = None,
           notebooks: Path | str | None = None, progress: bool | None = None) -> Path:
    """Execute the notebooks on a run's tables; copies and report.html go into its folder.

    `files` are recorded files by session id: with them the notebook about one session is run as
    well, since the tables hold no messages, and the one about quality, which a run that measured
    it has in any case. The one about caching needs a run with costs.
    `notebooks` is the folder of the notebooks (default: the project's own); `progress` None draws
    a bar in a terminal. Raises BadRun for a folder without a finished run, BadParameter and
    NotebookFailed as `run_notebook` does.
    """
    from compactlab.notebook import run_notebook
    from compactlab.report.page import page, section
    from compactlab.results import read, read_manifest, read_quality

    folder = Path(run_folder)
    manifest, runs, quality = read_manifest(folder), read(folder), read_quality(folder)
    replayed = (runs["status"].eq("ok") & runs["requests"].fillna(0).gt(0)).any()
    jobs = _jobs(Path(notebooks) if notebooks else _own_notebooks(), runs, files or {},
                 measured=quality is not None) if replayed else []  # nothing to draw
    made = []
    with _bar(len(jobs), progress) as step:
        for path, parameters in jobs:
            made.append(run_notebook(path, folder, parameters))
            step()
    sections = [section(path) for path in made]
    title = (f"{', '.join(dict.fromkeys(runs['strategy']))} on "
             f"{plural(runs['session'].nunique(), 'recorded session')}")
    html = page(title, str(manifest.get("run", "")), finding(runs, quality), sections,
                _facts(manifest))
    out = folder / REPORT
    write_bytes(out, html.encode("utf-8", "replace"))
    return out


def _own_notebooks() -> Path:
    found = Path(__file__).resolve().parent.parent.parent / "notebooks"
    if not (found / FROM_TABLES[0]).is_file():
        raise BadRun(f"the notebooks are not in {found}: name their folder")
    return found


def _jobs(notebooks: Path, runs: pd.DataFrame, files: Mapping[str, Path], *,
          measured: bool) -> list[Job]:
    jobs: list[Job] = []
    chosen = shown_run(runs, files)
    if chosen is not None:
        names = ("strategy", "window", "summariser", "tokenizer")
        session = str(chosen["session"])
        given = {name: chosen[name] for name in names}
        given["tokenizer"] = _tokenizer(given["tokenizer"])
        jobs.append((notebooks / ONE_SESSION, {
            "session": Path(files[session]), "session_id": session, **given,
            "window": int(given["window"])}))
    # The copies lie in the run's folder and run there.
    jobs += [(notebooks / name, {"results": "."}) for name in FROM_TABLES]
    if "cost" in runs and runs["cost"].notna().any():
        jobs.append((notebooks / CACHING, {
            "results": ".", "sessions": _longest(runs, files, CACHING_SESSIONS),
            "most": CACHING_SESSIONS, **_counted(runs)}))
    scored = _longest(runs, files, QUALITY_SESSIONS)
    compared = _compacting(runs)
    if compared and (scored or measured):
        windows = runs[runs["strategy"].isin(compared)]["window"].dropna().unique()
        jobs.append((notebooks / QUALITY, {
            "results": "." if measured else None, "sessions": scored, "most": QUALITY_SESSIONS,
            "strategies": compared, "windows": [int(median_low(windows))], **_counted(runs)}))
    return jobs


def _compacting(runs: pd.DataFrame) -> list[str]:
    """The presets, with their own settings and a window, that the run compared."""
    ran = runs[_plain(runs) & runs["window"].notna() & (runs["status"] == "ok")
               & (runs["strategy"] != "raw")]
    return list(dict.fromkeys(map(str, ran["strategy"])))[:QUALITY_STRATEGIES]


def _longest(runs: pd.DataFrame, files: Mapping[str, Path], most: int) -> list[Path]:
    """The files of the sessions with the most requests."""
    ran = runs[runs["session"].isin(list(files)) & runs["requests"].notna()]
    longest = ran.drop_duplicates("session").sort_values("requests", ascending=False,
                                                         kind="stable")
    return list(dict.fromkeys(Path(files[name]) for name in longest["session"].head(most)))


def _counted(runs: pd.DataFrame) -> dict[str, str]:
    """The summariser and tokenizer that a notebook can use to replay sessions as the run did."""
    from compactlab.summarise import names

    given = {}
    for name in ("summariser", "tokenizer"):
        used = set(runs[name].dropna())
        if len(used) == 1:
            given[name] = str(used.pop())
    if given.get("summariser") not in names():
        given.pop("summariser", None)
    if "tokenizer" in given:
        given["tokenizer"] = _tokenizer(given["tokenizer"])
    return given


def _tokenizer(name: str) -> str:
    """The tokenizer to ask for: one that was fitted to a session is fitted to it anew."""
    return AUTO if name in (CALIBRATED, ESTIMATE) else name


def _plain(runs: pd.DataFrame) -> pd.Series[bool]:
    """Which runs are of a preset with its own settings."""
    return runs["settings"].astype("string").fillna("") == ""


def shown_run(runs: pd.DataFrame, files: Mapping[str, Path]) -> dict[str, Any] | None:
    """The run that the notebook about one session shows: of the longest session with a file, the
    one that reduced most among those served whole, else the one with the most compactions.

    Only a preset with its own settings, a window and a summariser known by name can be replayed
    from a notebook's parameters; None where there is no such run.
    """
    from compactlab.charts.paper import numbers
    from compactlab.results.shares import whole
    from compactlab.summarise import names

    fit = runs[_plain(runs) & runs["window"].notna() & runs["summariser"].isin(names())
               & runs["session"].isin(list(files)) & (runs["status"] == "ok")]
    if not len(fit):
        return None
    fit = fit[fit["session"] == fit["session"].iloc[int(numbers(fit["requests"]).argmax())]]
    compacted = numbers(fit["compactions"].fillna(0)) > 0
    served = fit[compacted & whole(fit)]
    by = "token_reduction" if len(served) else "compactions"
    best = (served if len(served) else fit).sort_values(by, ascending=False, kind="stable")
    return {str(name): value for name, value in best.iloc[0].to_dict().items()}


def _facts(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What the foot of the page says of the run, from its manifest."""
    tokenizer = manifest.get("tokenizer", {})
    files, not_read = manifest.get("files", ()), manifest.get("not_read", ())
    skipped = Counter(str(entry.get("reason", "")) for entry in not_read)
    versions = manifest.get("versions", {})
    facts = [
        ("run", str(manifest.get("run", ""))),
        ("code", str(manifest.get("code", ""))[:SHORT_HASH]),
        ("tokenizer", f"{tokenizer.get('name', '')} {tokenizer.get('sha256', '')[:SHORT_HASH]}"),
        ("files read", f"{len(files)}"),
        ("rows", ", ".join(f"{count:,} {name}"
                           for name, count in manifest.get("rows", {}).items())),
        ("versions", ", ".join(f"{name} {version}" for name, version in versions.items())),
    ]
    if skipped:
        facts.append(("files not read", ", ".join(
            f"{count} ({reason})" for reason, count in skipped.most_common(5))))
    return facts


@contextmanager
def _bar(total: int, progress: bool | None) -> Iterator[Callable[[], object]]:
    from tqdm.auto import tqdm

    disable = None if progress is None else not progress
    with tqdm(total=total, desc="notebooks", unit="notebook", disable=disable) as made:
        yield made.update
