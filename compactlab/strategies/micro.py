"""Micro compaction: before each request, old tool results become a one-line placeholder."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, NamedTuple

from compactlab.fold import Fold
from compactlab.history import History
from compactlab.pieces.prune import exchanged, placeholder, result_chars, standing
from compactlab.session import Image, Message, pairs
from compactlab.setting import check_settings, setting
from compactlab.strategies._switches import switch
from compactlab.strategy import Compaction, Situation, Step

SOURCE = "shareAI-lab/learn-claude-code, session s06: micro_compact"
PLACEHOLDER = "[Previous: used {tool}]"
UNKNOWN_TOOL = "unknown"


class Pending(NamedTuple):
    """A result that may be cleared: its number among the tool results, its place, its tool."""

    number: int
    place: int
    tool: str | None


class Results(NamedTuple):
    """Tool results so far, those that may be cleared, the open calls of the last answer."""

    total: int = 0
    pending: tuple[Pending, ...] = ()
    calls: tuple[tuple[str, str], ...] = ()


@lru_cache
def clearable(min_chars: int, keep_tools: str = "") -> Fold[Results]:
    """The queue of tool results with more than `min_chars` characters, not of `keep_tools`."""
    kept = frozenset(name.strip() for name in keep_tools.split(",") if name.strip())

    def step(state: Results, message: Message, index: int) -> Results:
        if message.role == "tool":
            pending, result = state.pending, message.result
            # By open calls in order: two calls of one answer may share an id.
            call = next((c for c in state.calls if result and c[0] == result.call_id), None)
            if (message.kind != "placeholder" and result_chars(message) > min_chars
                    and not (call and call[1] in kept)):
                pending = (*pending, Pending(state.total, index, call[1] if call else None))
            return Results(state.total + 1, pending, _without(state.calls, call))
        if message.role == "assistant":
            calls = message.calls
            if calls:
                return Results(state.total, state.pending, tuple((c.id, c.name) for c in calls))
        return state

    return Fold(f"results over {min_chars} characters", Results(), step)


def _without(calls: tuple[tuple[str, str], ...], answered: tuple[str, str] | None
             ) -> tuple[tuple[str, str], ...]:
    if answered is None:
        return calls
    at = calls.index(answered)
    return calls[:at] + calls[at + 1 :]


@dataclass(frozen=True)
class Micro:
    """Clears all tool results but the newest few; silent, before each request."""

    name: ClassVar[str] = "micro"
    triggers: ClassVar[frozenset[str]] = frozenset({"request"})

    keep_recent: int = setting(3, "newest tool results that stay", unit="results", low=0,
                               source=SOURCE)
    min_chars: int = setting(100, "results with no more text than this stay", unit="characters",
                             low=0, source=SOURCE)

    keep_tools: str = switch("results of these tools stay, names separated by commas", "",
                             fixed="read_file,read,Read")
    only_shown: bool = switch("a result is cleared only after a request has shown it to the model")
    batch: int = switch("least results to clear at once, so that the prefix changes rarely", 1,
                        unit="results", low=1, fixed=10)
    refuse_growth: bool = switch("a result shorter than its placeholder stays")

    def __post_init__(self) -> None:
        check_settings(self)

    def __call__(self, history: History, situation: Situation) -> Compaction | None:
        """Clears what is older than the newest results; None when nothing is."""
        state = history.fold(clearable(self.min_chars, self.keep_tools))
        old = state.total - self.keep_recent
        pending = state.pending
        if not pending or pending[0].number >= old:
            return None
        ready = [p for p in pending if p.number < old]
        if self.only_shown:
            ready = [p for p in ready if p.place < situation.shown]
        if self.refuse_growth:
            ready = [p for p in ready if self._saves(history, p)]
        if len(ready) < self.batch:
            return None
        # What is cleared says it all: settings that come to the same share the answer.
        return history.remember(("micro", *[p.place for p in ready]),
                                lambda: self._clear(history, ready))

    def _saves(self, history: History, entry: Pending) -> bool:
        message, tokens = history[entry.place], history.store.tokens
        return tokens(_cleared(history, message, entry)) < tokens(message)

    def _clear(self, history: History, ready: list[Pending]) -> Compaction:
        old = standing(history, [p.place for p in ready])
        copies = {p.place: _cleared(history, old[p.place], p) for p in ready}
        images = sum(map(_images, old.values()))
        detail = f"{len(ready)} tool results cleared, {images} images with them"
        return exchanged(history, self.name, copies, silent=True, cleared=len(ready),
                         steps=(Step("clear", detail, len(ready)),))


def _cleared(history: History, message: Message, entry: Pending) -> Message:
    tool = entry.tool or _tool_name(history, entry.place)
    return history.once(message, ("micro", tool), lambda m: placeholder(
        m, PLACEHOLDER.format(tool=tool)))


def _images(message: Message) -> int:
    result = message.result
    return sum(isinstance(part, Image) for part in result.content) if result else 0


def _tool_name(history: History, index: int) -> str:
    """The tool of a result that does not follow its call; found by pairing the whole history."""
    call = pairs(history).call(history, index)
    return call.name if call else UNKNOWN_TOOL
