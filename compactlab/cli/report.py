"""`compactlab report`: the notebooks of a finished run, executed, and one HTML page of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from compactlab.cli.options import Json, Sessions
from compactlab.cli.text import say, say_json


def report(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A finished run's folder.")],
    sessions: Sessions = None,
    as_json: Json = False,
) -> None:
    """Run the notebooks on a finished run and join them into report.html, which opens offline.

    \b
    compactlab run --sessions datasets --quality --out results/mine
    compactlab report results/mine --sessions datasets
    """
    from compactlab.formats.named import expand, read_all
    from compactlab.report import report as make_report
    from compactlab.results import read_manifest

    read_manifest(folder)
    page = make_report(folder, files=read_all(expand(sessions)).by_id if sessions else None)
    if as_json:
        say_json({"report": str(page)})
    else:
        say(f"report: {page}")
