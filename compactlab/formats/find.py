"""Find recorded sessions: in given folders, and where coding agents keep them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from compactlab.counting import CHARS_PER_TOKEN, weight
from compactlab.errors import BadSession
from compactlab.formats import load, sniff
from compactlab.formats.named import NO_IMPORTER
from compactlab.session import Session

SUFFIXES = (".jsonl", ".json", ".traj")  # also with .gz behind; `.json` only in a format known here
ALWAYS_LISTED = (".jsonl", ".traj")  # most likely sessions, even in a format that is not read
NOT_ENTERED = frozenset({".git", ".venv", "venv", "node_modules", "__pycache__"})


class Place(NamedTuple):
    """Where an agent keeps its sessions: `folder` below its home, which a variable may move."""

    format: str
    variable: str
    home: str
    folder: str

    def path(self) -> Path:
        """The folder on this machine."""
        home = os.environ.get(self.variable) or self.home
        return Path(home).expanduser() / self.folder


USUAL_PLACES = (
    Place("claude-code", "CLAUDE_CONFIG_DIR", "~/.claude", "projects"),
    Place("codex", "CODEX_HOME", "~/.codex", "sessions"),
    Place("pi", "PI_CODING_AGENT_DIR", "~/.pi/agent", "sessions"),
)


@dataclass(frozen=True)
class Found:
    """One session, or a file that looks like one and cannot be read: then `problem` says why."""

    path: Path
    format: str  # "" where it is not known
    id: str = ""
    parent: str = ""  # the session that a sub-agent belongs to
    messages: int = 0
    requests: int = 0
    turns: int = 0
    rough_tokens: int = 0  # estimate: characters // 4, and images by their size
    start: float | None = None  # Unix time, seconds
    end: float | None = None
    usage: bool = False  # whether any request has recorded usage
    compactions: int = 0  # recorded ones
    skipped: tuple[tuple[str, int], ...] = ()
    problem: str = ""

    @property
    def name(self) -> str:
        """The file's name without its folder."""
        return self.path.name

    @property
    def span(self) -> float | None:
        """Seconds from the first to the last message; None without timestamps."""
        return None if self.start is None or self.end is None else self.end - self.start


def find_sessions(places: Sequence[Path] | None = None) -> Iterator[Found]:
    """Every session in these files and folders, with all below them, in order of path.

    Without places: the current folder and the usual places of coding agents. A file is read when
    its turn comes, so the first sessions appear at once. No tokens are counted.
    """
    usual = {place.path(): place.format for place in USUAL_PLACES}
    wanted = [Path.cwd(), *usual] if places is None else [Path(place) for place in places]
    seen: set[Path] = set()
    for place in wanted:
        if not place.exists() and place in usual:
            continue  # the agent is not used here
        for path in _files(place):
            real = Path(os.path.realpath(path))  # a link to itself is no error here
            if real not in seen:
                seen.add(real)
                known = next((usual[above] for above in path.parents if above in usual), "")
                yield from _look(path, known, asked=path == place)


def _files(place: Path) -> Iterator[Path]:
    """The place itself if it is no folder, else the files below it that may be sessions."""
    if not place.is_dir():
        yield place
        return
    for folder, folders, names in os.walk(place):
        folders[:] = sorted(name for name in folders if name not in NOT_ENTERED)
        for name in sorted(names):
            if name.removesuffix(".gz").endswith(SUFFIXES):
                yield Path(folder) / name


def _look(path: Path, known: str, *, asked: bool) -> Iterator[Found]:
    """The sessions of one file; nothing for a file that nobody asked for and that is none."""
    try:
        format = sniff(path)
        if format is not None:
            yield from (_summary(path, session) for session in load(path))
        elif asked or known or path.name.removesuffix(".gz").endswith(ALWAYS_LISTED):
            yield Found(path, known, problem=NO_IMPORTER)
    except BadSession as error:
        yield Found(path, known, problem=str(error).removeprefix(f"{path}: "))


def _summary(path: Path, session: Session) -> Found:
    times = [message.time for message in session.messages if message.time is not None]
    weights = [weight(message) for message in session.messages]
    return Found(
        path=path,
        format=session.format,
        id=session.id,
        parent=session.parent,
        messages=len(session.messages),
        requests=len(session.requests),
        turns=session.turns,
        rough_tokens=(sum(w.chars for w in weights) // CHARS_PER_TOKEN
                      + sum(w.images for w in weights)),
        start=min(times, default=None),
        end=max(times, default=None),
        usage=any(request.usage is not None for request in session.requests),
        compactions=len(session.compactions),
        skipped=session.skipped,
    )
