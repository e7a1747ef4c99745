"""The commands put together, and what they end with: an exit code, one sentence for an error."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from typing import Annotated

import typer

from compactlab import __version__
from compactlab.cli import INTERRUPTED
from compactlab.cli.text import safe
from compactlab.errors import CompactlabError

USAGE_ERROR = 2
TRACEBACK_VARIABLE = "COMPACTLAB_TRACEBACK"


def work(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; gives the exit code: 0, or 2 for an error.

    Raises KeyboardInterrupt when it is interrupted.
    """
    _steady_streams()
    try:
        # Not by calling the application, which would put a hook of its own in place of ours.
        app = typer.main.get_command(build())
        code = app(arguments, prog_name="compactlab", standalone_mode=False)
        if code == INTERRUPTED:  # what typer makes of KeyboardInterrupt
            raise KeyboardInterrupt
        return code if isinstance(code, int) else 0
    except typer.TyperException as error:
        context = getattr(error, "ctx", None)
        command = context.command_path if context else "compactlab"
        text = error.format_message().rstrip(".")
        return _complain(f"{text} (`{command} --help` shows examples)")
    except CompactlabError as error:
        return _complain(str(error))
    except OSError as error:
        name = f"{error.filename}: " if error.filename else ""
        return _complain(f"{name}{error.strerror or type(error).__name__}")
    except typer.Abort:  # the end of the input where a question was asked
        raise KeyboardInterrupt from None


def build() -> typer.Typer:
    """The application with all its commands."""
    from compactlab.cli import cache, compact, doctor, explain, quality, report, run, sessions, show

    app = typer.Typer(
        name="compactlab", no_args_is_help=True, rich_markup_mode=None, add_completion=False,
        pretty_exceptions_enable=False, context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_root)
    app.command(short_help="Replay sessions under strategies and compare.")(run.run)
    app.command(short_help="One compaction, before and after.")(show.show)
    app.command(short_help="Compact a recorded file once.")(compact.compact)
    app.command(short_help="The settings of a strategy, its derived numbers.")(explain.explain)
    app.command(short_help="Notebooks and report.html of a finished run.")(report.report)
    app.command(short_help="What survives a compaction.")(quality.quality)
    app.add_typer(cache.build(), name="cache")
    app.add_typer(sessions.build(), name="sessions")
    app.command(short_help="Is everything in place; what is in a file?")(doctor.doctor)
    return app


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"compactlab {__version__}")
        raise typer.Exit


def _root(
    version: Annotated[bool, typer.Option(
        "--version", callback=_version, is_eager=True, help="Show the version and exit.")] = False,
) -> None:
    """What would a context-compaction strategy have done to a recorded session?

    \b
    compactlab sessions list                      which sessions lie on this machine
    compactlab run --sessions datasets --report   replay, compare, write a report
    compactlab show SESSION.jsonl                 one compaction, before and after
    compactlab explain compressor --window 64K    its settings, and what follows from them
    """


def _complain(text: str) -> int:
    sys.stderr.write(f"compactlab: {' '.join(safe(text).split())}\n")
    return USAGE_ERROR


def _steady_streams() -> None:
    """No character that a terminal cannot show may end a command; a warning is one line."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")
    warnings.showwarning = _warn_in_a_line
    if not os.environ.get(TRACEBACK_VARIABLE):
        sys.excepthook = _own_fault


def _own_fault(kind: type[BaseException], error: BaseException, _: object) -> None:
    if issubclass(kind, KeyboardInterrupt):  # it came after the work was done
        sys.stderr.write("interrupted\n")
        return
    _complain(f"a fault of compactlab itself, {kind.__name__}: {error} "
              f"({TRACEBACK_VARIABLE}=1 shows where)")


def _warn_in_a_line(message: Warning | str, category: type[Warning], *_: object,
                    **__: object) -> None:
    if issubclass(category, UserWarning):
        sys.stderr.write(f"compactlab: {safe(str(message))}\n")
