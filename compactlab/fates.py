"""What one compaction did to each message: the rows behind the strip and the before/after view."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, get_args

from compactlab.session import Message, Summary, ToolCall
from compactlab.words import short

if TYPE_CHECKING:
    import pandas as pd

    from compactlab.history import History
    from compactlab.strategy import Compaction
    from compactlab.walk import Made

Side = Literal["before", "after"]
Fate = Literal["kept", "cleared", "truncated", "summarised", "dropped", "new"]
FATES: tuple[Fate, ...] = get_args(Fate)
COLUMNS = ("side", "index", "role", "kind", "tokens", "fate", "text")
SNIPPET_CHARACTERS = 80


@dataclass(frozen=True)
class Row:
    """One message on one side of a compaction; `index` counts from 0 within its history.

    `tokens` is the size on this side, `text` the beginning of what it says, on one line. A message
    that a summary was merged into is two rows with one index: its own text, and the summary (new).
    """

    side: Side
    index: int
    role: str
    kind: str
    tokens: int
    fate: Fate
    text: str


@dataclass(frozen=True)
class Fates:
    """The rows of one compaction: those before it first, then those after it.

    `request` is the number of the next request, where it is known; `summary` the text it wrote,
    by the fallback where `fallback` says so.
    """

    rows: tuple[Row, ...] = ()
    strategy: str = ""
    level: int | None = None
    before: int = 0
    after: int = 0
    summary: str = ""
    request: int | None = None
    fallback: bool = False

    def side(self, side: Side) -> tuple[Row, ...]:
        """The rows of one side, in the order of the messages."""
        return tuple(row for row in self.rows if row.side == side)

    def tokens(self, side: Side) -> dict[Fate, int]:
        """Tokens by fate on one side; fates without a message are left out."""
        found: Counter[Fate] = Counter()
        for row in self.side(side):
            found[row.fate] += row.tokens
        return {fate: found[fate] for fate in FATES if fate in found}

    @property
    def table(self) -> pd.DataFrame:
        """The rows as a table with the columns COLUMNS."""
        import pandas as pd

        rows = [tuple(getattr(row, name) for name in COLUMNS) for row in self.rows]
        return pd.DataFrame(rows, columns=list(COLUMNS))


def fates(before: History, compaction: Compaction) -> Fates:
    """What `compaction` did to each message of `before`, and what stands after it.

    A message after the compaction belongs to the recorded message it was made from
    (`Message.source`), found in order. Before: *kept* (also when a note was added, or a shortened
    copy came back whole), *cleared* (its text went for a placeholder, even if that placeholder
    was then summarised), *truncated*, *summarised* (the summariser was given it), else *dropped*.
    After: the same words for what was carried over, *new* for what the compaction made.
    """
    after = compaction.history
    partner = _partners(before, after, compaction.keep_n)
    gone = _fates_of_the_gone(before, compaction, set(partner.values()))
    other = {b: a for a, b in partner.items()}
    rows: list[Row] = []
    for index, message in enumerate(before):
        twin = after[other[index]] if index in other else None
        fate = gone[index] if twin is None else _carried(message, twin)
        rows += _rows("before", before, index, fate, _replaced(message, twin))
    for index, message in enumerate(after):
        twin = before[partner[index]] if index in partner else None
        fate = "new" if twin is None else _carried(twin, message)
        rows += _rows("after", after, index, fate, _replaced(message, twin))
    return Fates(tuple(rows), compaction.strategy, compaction.level, compaction.before,
                 compaction.after, compaction.summary or "", fallback=compaction.fallback)


def largest(made: Sequence[Made]) -> Fates:
    """The fates of a replay's compaction that saved most (`Replay.made`).

    A silent one counts only where there is no other; without any the answer has no rows.
    """
    changed = [each for each in made if each.compaction.changed]
    loud = [each for each in changed if not each.compaction.silent] or changed
    if not loud:
        return Fates()
    most = max(loud, key=lambda each: each.compaction.before - each.compaction.after)
    return replace(fates(most.before, most.compaction), request=most.request)


def _partners(before: History, after: History, keep_n: int) -> dict[int, int]:
    """Index after → index before of the same recorded message; matched from the end, in order."""
    where: dict[Message, list[int]] = defaultdict(list)
    for index, message in enumerate(before):
        if index >= keep_n:
            where[message.original].append(index)
    found = {index: index for index in range(keep_n)}
    limit = len(before)
    for index in range(len(after) - 1, keep_n - 1, -1):
        candidates = where.get(after[index].original, [])
        while candidates and candidates[-1] >= limit:
            candidates.pop()
        if candidates:
            limit = found[index] = candidates.pop()
    return found


def _carried(was: Message, now: Message) -> Fate:
    """The fate of a message that still stands after the compaction."""
    if was == now or now.kind == was.original.kind:
        return "kept"
    if now.kind == "placeholder":
        return "cleared"
    return "truncated" if now.kind == "cut" else "kept"


def _fates_of_the_gone(before: History, compaction: Compaction, stays: set[int]) -> dict[int, Fate]:
    """Fates of the messages without a partner: summarised, cleared on the way, or dropped."""
    given: dict[Message, str] = {}
    for call in compaction.calls:
        given.update((message.original, message.kind) for message in call.messages)
    summarised = compaction.summary is not None
    found: dict[int, Fate] = {}
    for index, message in enumerate(before):
        if index in stays:
            continue
        read_as = given.get(message.original)
        if summarised and not compaction.calls:
            found[index] = "summarised"
        elif read_as == "placeholder" and message.kind != "placeholder":
            found[index] = "cleared"
        else:
            # An earlier summary is handed over as such, not among the messages.
            handed = read_as is not None or message.summary is not None
            found[index] = "summarised" if summarised and handed else "dropped"
    return found


def _replaced(message: Message, twin: Message | None) -> Summary | None:
    """The summary merged into a message of its own, where the other side does not hold it."""
    mark = message.summary
    if mark is None or twin is None or len(message.blocks) == 1 or mark == twin.summary:
        return None
    return mark


def _rows(side: Side, history: History, index: int, fate: Fate, merged: Summary | None
          ) -> list[Row]:
    message = history[index]
    tokens = history.store.tokens(message)
    if merged is None:
        return [Row(side, index, message.role, message.kind, tokens, fate, snippet(message))]
    part = history.store.count(merged.text)
    return [
        Row(side, index, message.role, message.kind, tokens - part, fate,
            snippet(message.original)),
        Row(side, index, message.role, "summary", part,
            "summarised" if side == "before" else "new", short(merged.text, SNIPPET_CHARACTERS)),
    ]


def snippet(message: Message) -> str:
    """The beginning of what a message says, on one line; its calls by name where it has no text."""
    text = message.text
    if not text.strip():
        calls = [f"{b.name}({b.arguments})" for b in message.blocks if isinstance(b, ToolCall)]
        text = " ".join(calls) or " ".join(f"[{type(b).__name__.lower()}]" for b in message.blocks)
    return short(text, SNIPPET_CHARACTERS)
