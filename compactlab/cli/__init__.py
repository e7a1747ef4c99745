"""The command line: `main` runs it, one file a command; heavy imports stay inside the commands."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

INTERRUPTED = 130
GOES_ON = "run"  # the command that keeps what is done


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; gives the exit code: 0, 2 for an error, 130 when interrupted.

    Hardly anything is imported before Ctrl-C is looked after. Without `arguments` the process is
    this command alone, and Ctrl-C while it shuts down is let pass.
    """
    try:
        with _every_interrupt_counts():
            from compactlab.cli.app import work

            return work(arguments)
    except KeyboardInterrupt:
        given = sys.argv[1:] if arguments is None else arguments
        more = ": the same command goes on where it was" if GOES_ON in given[:1] else ""
        sys.stderr.write(f"interrupted{more}\n")
        return INTERRUPTED
    finally:
        if arguments is None:
            _let_one_pass()


@contextmanager
def _every_interrupt_counts() -> Iterator[None]:
    """Ctrl-C inside a callback of Python's own, as imports have, would be printed and lost."""
    before = sys.unraisablehook
    sys.unraisablehook = _sent_again(before)
    try:
        yield
    finally:
        sys.unraisablehook = before


def _sent_again(otherwise: Callable[[Any], object]) -> Callable[[Any], None]:
    def hook(unraisable: Any) -> None:
        import _thread

        if not issubclass(unraisable.exc_type, KeyboardInterrupt):
            otherwise(unraisable)
            return
        with suppress(RuntimeError):  # Python ends anyway
            # from a thread of its own: here it would be lost once more
            _thread.start_new_thread(_thread.interrupt_main, ())

    return hook


def _let_one_pass() -> None:
    """The next Ctrl-C does nothing, since all is done; the one after it ends the process."""
    import signal

    signal.signal(signal.SIGINT, lambda *_: signal.signal(signal.SIGINT, signal.SIG_DFL))
