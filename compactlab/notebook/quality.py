"""What survives compaction, for a notebook: the long table, needs with their fate, the rounds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from compactlab.index import Index, index
from compactlab.quality.anchors import found_in, texts
from compactlab.quality.cuts import Cut, at_cut, cuts, span_at
from compactlab.quality.profile import MEASURES
from compactlab.quality.recall import losses
from compactlab.quality.repeated import survival_by_round
from compactlab.quality.replayed import sent_at
from compactlab.quality.survives import Span
from compactlab.quality.table import COLUMNS, quality_table
from compactlab.replay import Replay, replay
from compactlab.results import read_manifest, read_quality
from compactlab.session import Message, Session, pairs

if TYPE_CHECKING:
    from pathlib import Path

    from pandas import DataFrame

KEPT, NAME_ONLY, LOST = "kept", "name only", "lost"
NEEDS = ("session", "cut", "anchor", "kind", "stood in", "used by", "later", "weight", "quote",
         "strategy", "fate")
ROUNDS = ("session", "strategy", "window", "origin", "round", "age", "survival", "n", "tokens",
          "tokenizer", "summariser")
AROUND = 44  # characters of a quote on either side
METRICS = tuple(m.name for m in MEASURES if not m.name.endswith("_newest"))


@dataclass(frozen=True)
class Quality:
    """`rows` of `quality.table`, `needs` and `rounds` (see NEEDS, ROUNDS), all long tables."""

    rows: DataFrame
    needs: DataFrame
    rounds: DataFrame


def gather_quality(sessions: Sequence[Session], strategies: Sequence[str], windows: Sequence[int],
                   *, results: Path | str | None = None, cuts_each: int = 2,
                   budgets: Sequence[float] = (0.01, 0.02, 0.05, 0.10),
                   summariser: str = "extractive", tokenizer: str = "auto") -> Quality:
    """All that a notebook shows of the quality of strategies in these sessions.

    `windows` in tokens; `budgets` are shares of what stood before a cut, for summarisers and
    controls; `cuts_each`: cuts of a session. A run's folder `results` whose quality was measured
    gives the rows of the strategies, at its own cuts; without sessions, nothing else.
    """
    import pandas as pd

    stores = [index(session, tokenizer) for session in sessions]
    known = _of_run(results, [s.id for s in sessions], strategies, windows) if results else None
    if known is not None:
        cuts_each = int(read_manifest(str(results))["settings"]["quality"]["cuts"])
    rows = quality_table(sessions, strategies if known is None else [], windows=windows,
                         budgets=budgets, count=cuts_each, summariser=summariser, only=METRICS,
                         stores=stores)
    needs: list[tuple[Any, ...]] = []
    rounds: list[tuple[Any, ...]] = []
    names: set[str] = set()
    for session, store in zip(sessions, stores, strict=True):
        names.add(store.tokenizer)
        spans = {cut: span_at(session, cut.at, store)
                 for cut in cuts(session, cuts_each) if not cut.flag}
        for strategy in strategies:
            for window in windows:
                done = replay(session, strategy, window=window, store=store, summariser=summariser)
                label = done.strategy if len(windows) == 1 else f"{done.strategy} · {window}"
                needs += _needs(done, spans, label)
                rounds += [(session.id, done.strategy, window, r.origin, r.round, r.age,
                            r.survival, r.n, r.tokens, store.tokenizer, done.summariser)
                           for r in survival_by_round(done)]
    rows = rows.assign(tokenizer=", ".join(sorted(names)), summariser=summariser)
    if known is not None:
        rows = pd.concat([known, rows], ignore_index=True) if len(rows) else known
    return Quality(rows, pd.DataFrame(needs, columns=list(NEEDS)),
                   pd.DataFrame(rounds, columns=list(ROUNDS)))


def _of_run(results: Path | str, sessions: Sequence[str], strategies: Sequence[str],
            windows: Sequence[int]) -> DataFrame | None:
    """The run's own rows of these strategies, as `quality_table` has them; None without any.

    Of the sessions named, where some are: what stands beside them is of these alone.
    """
    import pandas as pd

    found = read_quality(results)
    if found is None:
        return None
    found = found[found["strategy"].isin(list(strategies)) & found["window"].isin(list(windows))
                  & (found["settings"] == "") & found["metric"].isin(["sound", *METRICS])]
    if sessions:
        found = found[found["session"].isin(list(sessions))]
    budget = pd.array([None] * len(found), dtype="Float64")
    columns = [*(column.name for column in COLUMNS), "tokenizer", "summariser"]
    return found.assign(budget=budget)[columns].reset_index(drop=True)


def _needs(done: Replay, spans: dict[Cut, Span], label: str) -> Iterator[tuple[Any, ...]]:
    """Every need at every cut that the strategy was served at, with its fate."""
    session, store = done.session, done.store
    for cut, span in spans.items():
        sent = sent_at(done, cut.request)
        if sent is None:
            continue
        case = at_cut(span, sent)
        for loss in losses(case):
            where = span.future[loss.at]
            fate = LOST if not loss.survived else KEPT if loss.bound else NAME_ONLY
            used, quote, written = _use(where, loss.anchor)
            yield (session.id, cut.request, written, loss.kind,
                   _stood(span, store, loss.anchor), used, loss.step, loss.weight, quote, label,
                   fate)


def _stood(span: Span, store: Index, anchor: str) -> str:
    """In what the newest removed message that shows the anchor is: its role, or the tool's name."""
    known: dict[str, str] = span.memo.setdefault("stood", {})  # type: ignore[assignment]
    if anchor not in known:
        bit = span.lexicon.numbers[anchor]
        last = next((at for at in range(len(span.removed) - 1, -1, -1)
                     if found_in(store, span.removed[at]).shown >> bit & 1), None)
        known[anchor] = "" if last is None else _what(span.removed, last)
    return known[anchor]


def _what(messages: Sequence[Message], at: int) -> str:
    """`result of bash`, `user`, `assistant`: what a message is, in two or three words."""
    role = messages[at].role
    if role != "tool":
        return role
    call = pairs(messages).call(messages, at)
    return f"result of {call.name if call else 'a tool'}"


def _use(message: Message, anchor: str) -> tuple[str, str, str]:
    """(tool that is called with the anchor, or `text`; the words around it; how it is written)."""
    for call in message.calls:
        quote, written = _quote(texts(Message("assistant", (call,))), anchor)
        if quote:
            return call.name, quote, written
    return "text", *_quote(texts(message), anchor)


def _quote(said: Iterator[str], anchor: str) -> tuple[str, str]:
    """Some words on either side of the anchor, and the anchor in its own upper and lower case.

    Of a path or command that is written otherwise, its last or first part is quoted; "" where
    nothing is there.
    """
    wanted = [anchor, anchor.rpartition("/")[2], anchor.split(" ")[0]]
    lines = [" ".join(text.split()) for text in said]
    for word in dict.fromkeys(word for word in wanted if word):
        for line in lines:
            at = line.casefold().find(word)
            if at >= 0:
                start, end = max(at - AROUND, 0), at + len(word) + AROUND
                quote = line[start:end]
                written = line[at : at + len(word)]
                return (("…" if start else "") + quote + ("…" if end < len(line) else ""),
                        written if written.casefold() == anchor else anchor)
    return "", anchor
