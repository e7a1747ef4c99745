"""What the terminal shows: tables, sentences, and recorded text made harmless."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from compactlab import words

if TYPE_CHECKING:
    from pandas import DataFrame
    from rich.console import Console

UNKNOWN_WIDTH = 160  # characters of a line where the output is no terminal and COLUMNS is unset
SHORT = 60

# Terminal commands: CSI (colours, cursor), OSC (titles, links) up to BEL or ST, two-byte escapes.
_COMMANDS = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c|$)"
    r"|\x1b[ -/]*[0-~]"
)
# Other control characters, marks that reorder or hide text, halves of surrogate pairs.
_UNSAFE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069"
    r"\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)


def safe(text: str) -> str:
    """Recorded text for a terminal: commands go, other control characters show as escapes.

    Line feeds and tabs stay.
    """
    plain = _COMMANDS.sub("", text.replace("\r\n", "\n"))
    return _UNSAFE.sub(lambda found: ascii(found[0])[1:-1], plain)


def short(text: str, limit: int = SHORT) -> str:
    """Recorded text, made harmless, on one line of at most `limit` characters."""
    return words.short(safe(text[: 4 * limit + 1]), limit)


def console(error: bool = False) -> Console:
    """A console that takes every string literally: no markup, no emoji, no guessed colours.

    Rich itself honours NO_COLOR and leaves colours out where the output is no terminal.
    """
    from rich.console import Console

    stream = sys.stderr if error else sys.stdout
    width = None if stream.isatty() or os.environ.get("COLUMNS") else UNKNOWN_WIDTH
    return Console(stderr=error, width=width, markup=False, emoji=False, highlight=False)


def show_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    title: str = "",
    right: Iterable[str] = (),
    whole: Iterable[str] = (),
) -> None:
    """Print a table of plain cells below its title.

    Columns named in `right` are numbers, those in `whole` never fold.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    made = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        made.add_column(
            column,
            justify="right" if column in set(right) else "left",
            overflow="fold",
            no_wrap=column in set(whole),
        )
    for row in rows:
        made.add_row(*(cell if isinstance(cell, Text) else Text(safe(str(cell))) for cell in row))
    if title:
        say(safe(title))
    console().print(made)


def say(text: str = "") -> None:
    """One line for people, folded at words."""
    console().print(text, soft_wrap=not sys.stdout.isatty())


def warn(text: str) -> None:
    """One line on the error stream."""
    console(error=True).print(text, soft_wrap=not sys.stderr.isatty())


def say_json(value: Any) -> None:
    """JSON for scripts, in ASCII: nothing recorded reaches the terminal raw."""
    sys.stdout.write(json.dumps(value, indent=1, default=str) + "\n")


def records(table: DataFrame) -> list[dict[str, Any]]:
    """The rows of a table as JSON values; missing ones are null."""
    found: list[dict[str, Any]] = json.loads(table.to_json(orient="records"))
    return found


@contextmanager
def progress(what: str, total: int | None) -> Iterator[Callable[..., object]]:
    """A bar with the time left, on the error stream of a terminal; what moves it on."""
    from rich import progress as bars

    shown = console(error=True)
    columns = (
        bars.TextColumn("{task.description}"), bars.BarColumn(),
        bars.TaskProgressColumn(), bars.TimeRemainingColumn(),
    )
    with bars.Progress(*columns, console=shown, transient=True,
                       disable=not shown.is_terminal) as bar:
        task = bar.add_task(what, total=total)
        yield lambda amount=1: bar.advance(task, amount)


