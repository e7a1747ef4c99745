"""`compactlab doctor`: is everything in place, and what is in this file?"""

from __future__ import annotations

import platform
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from compactlab.cli.counters import show_counters
from compactlab.cli.options import Json
from compactlab.cli.text import safe, say, say_json, show_table
from compactlab.errors import CompactlabError
from compactlab.words import number

if TYPE_CHECKING:
    from compactlab.session import Session

PACKAGES = ("tiktoken", "pandas", "pyarrow", "matplotlib", "papermill", "jupyterlab", "typer")
FAILED = 1


class Finding(NamedTuple):
    """One thing that was looked at; `ok` None = it is optional and missing."""

    what: str
    ok: bool | None
    detail: str


def doctor(
    session: Annotated[Path | None, typer.Option(
        metavar="FILE", help="Say what is in a recorded file, what was skipped, and how far off "
        "the counter is; for a folder the counter's errors by format.")] = None,
    as_json: Json = False,
) -> None:
    """Check versions, tokenizer, folders and fonts; or look into one recorded file.

    \b
    compactlab doctor
    compactlab doctor --session ~/.claude/projects/my-project/1234.jsonl
    compactlab doctor --session ~/.claude/projects
    """
    if session is not None:
        (show_counters if session.is_dir() else _show_file)(session, as_json)
        return
    found = list(_findings())
    if as_json:
        say_json([finding._asdict() for finding in found])
    else:
        marks = {True: "ok", False: "FAILED", None: "-"}
        rows = [(marks[f.ok], f.what, f.detail) for f in found]
        show_table(("", "what", "found"), rows, whole=["", "what"])
    if any(finding.ok is False for finding in found):
        raise typer.Exit(FAILED)


def _findings() -> Iterator[Finding]:
    from importlib import metadata, util

    from compactlab.formats.find import USUAL_PLACES

    yield Finding("python", sys.version_info >= (3, 11), platform.python_version())
    for name in ("compactlab", *PACKAGES):
        yield _checked(name, partial(metadata.version, name))
    yield _checked("vocabulary", _vocabulary)
    yield _checked("cache folder", _cache_folder)
    yield _checked("token store", _token_store)
    yield Finding("fast tokenizer", True if util.find_spec("quicktok") else None,
                  "installed" if util.find_spec("quicktok") else "optional: extra `fast`")
    yield _checked("formats", _formats)
    for place in USUAL_PLACES:
        there = place.path().is_dir()
        yield Finding(f"sessions of {place.format}", True if there else None,
                      str(place.path()) if there else "none on this machine")
    yield _checked("fonts", _fonts)
    yield _checked("notebook kernel", _kernel)


def _checked(what: str, look: Callable[[], str]) -> Finding:
    try:
        return Finding(what, True, look())
    except (CompactlabError, ImportError, OSError, LookupError) as error:
        return Finding(what, False, f"{type(error).__name__}: {error}")


def _vocabulary() -> str:
    from compactlab import vocabulary
    from compactlab.tokens import DEFAULT_ENCODING

    tokens = len(vocabulary.load(DEFAULT_ENCODING).encode_ordinary("hello world"))
    offline = ", ".join(vocabulary.OFFLINE)
    return f"{DEFAULT_ENCODING}: 'hello world' = {tokens} tokens; without a network: {offline}"


def _cache_folder() -> str:
    from compactlab.vocabulary import cache_folder

    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder):
        return f"{folder} is writable"


def _token_store() -> str:
    from compactlab.token_store import STORE_VARIABLE, store_path

    path = store_path()
    if path is None:
        return f"off ({STORE_VARIABLE})"
    size = path.stat().st_size if path.exists() else 0
    return f"{path} ({size / 1e6:.1f} MB)"


def _formats() -> str:
    from compactlab.formats import importers

    return ", ".join(importer.NAME for importer in importers())


def _fonts() -> str:
    from matplotlib import font_manager

    return Path(font_manager.findfont("DejaVu Sans", fallback_to_default=False)).name


def _kernel() -> str:
    from jupyter_client.kernelspec import KernelSpecManager

    names = KernelSpecManager().find_kernel_specs()
    if "python3" not in names:
        raise LookupError("no kernel python3: install ipykernel")
    return "python3"


def _show_file(path: Path, as_json: bool) -> None:
    from compactlab.formats import load

    found = [_described(session) for session in load(path)]
    if as_json:
        say_json({"file": path.name, "sessions": found})
        return
    for values in found:
        skipped = values.pop("skipped")
        rows = [(name.replace("_", " "), _cell(value)) for name, value in values.items()]
        show_table((path.name, ""), rows, whole=[path.name])
        if skipped:
            show_table(("left out", "count"), skipped.items(), right=["count"])
        else:
            say("nothing was left out")


def _described(session: Session) -> dict[str, Any]:
    from collections import Counter

    from compactlab.index import index
    from compactlab.session import pairs

    counted = index(session)
    fitted = counted.calibration
    times = [m.time for m in session.messages if m.time is not None]
    usage = [r.usage for r in session.requests if r.usage is not None]
    kinds = Counter(m.kind for m in session.messages)
    return {
        "session": session.id,
        "format": session.format,
        "parent": session.parent or None,
        "model": session.model or None,
        "messages": len(session.messages),
        "kinds": dict(kinds.most_common()),
        "turns": session.turns,
        "requests": len(session.requests),
        "requests_with_usage": len(usage),
        "tool_calls": sum(len(m.calls) for m in session.messages),
        "open_calls": len(pairs(session.messages).open),
        "recorded_compactions": len(session.compactions),
        "tokens": counted.raw[-1],
        "tokenizer": counted.tokenizer,
        "counter_factor": round(fitted.factor, 3) if fitted else None,
        "counter_constant": fitted.constant if fitted and fitted.answers else None,
        "counter_error_percent": round(100 * fitted.error, 2) if fitted else None,
        "counter_error_over_requests": fitted.n if fitted else None,
        "hidden_head": counted.head.tokens,
        "head_kind": counted.head.kind,
        "largest_recorded_prompt": max((u.prompt for u in usage), default=None),
        "hours": round((max(times) - min(times)) / 3600, 2) if times else None,
        "derived": session.derived,
        "skipped": dict(session.skipped),
    }


def _cell(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {count:,}" for name, count in value.items())
    if isinstance(value, bool):
        return "yes" if value else "no"
    return number(value) if isinstance(value, int) or value is None else safe(str(value))


