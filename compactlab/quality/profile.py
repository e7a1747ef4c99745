"""All metrics of one compaction or one cut as a row; the columns are documented as data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from math import nan
from typing import TYPE_CHECKING, NamedTuple

from compactlab.columns import FLAG, Column
from compactlab.history import Store
from compactlab.quality import artifacts, constraints, controls, cost, recall
from compactlab.quality.cuts import (
    LEAST_NEEDS,
    at_cut,
    flag_at,
    is_stub,
    is_stub_text,
    span_at,
    summarised,
)
from compactlab.quality.structure import is_sound
from compactlab.quality.survives import HORIZON, Case, Score, Span, case
from compactlab.quality.words import CLASSES
from compactlab.session import Message, Session
from compactlab.strategy import Summariser

if TYPE_CHECKING:
    from compactlab.replay import Replay
    from compactlab.walk import Made

Metric = Callable[[Case], Score]


class Measure(NamedTuple):
    """A metric under its column's name: unit, range, what it holds, what `n` counts."""

    name: str
    compute: Metric
    unit: str
    range: str
    help: str
    counts: str


def size(found: Case) -> Score:
    """tokens(C) / tokens(P), system prompt left out: above 0, over 1 = growth; n = tokens(P)."""
    tokens = found.span.store.tokens
    before = sum(tokens(m) for m in found.span.before if m.role != "system")
    after = sum(tokens(m) for m in found.context if m.role != "system")
    return Score(after / before if before else nan, before)


def budget(found: Case) -> Score:
    """Tokens of what stands for Z / tokens(Z): the share at which contestants are matched."""
    removed = found.span.removed_tokens
    return Score(found.fresh_tokens / removed if removed else nan, removed)


def newest(found: Case, metric: Metric) -> Score:
    """A metric of *keep the newest* at the tokens that this contestant took."""
    span, key = found.span, f"newest {found.fresh_tokens}"
    other = span.memo.get(key)
    if other is None:
        text = controls.keep_newest(span.removed, found.fresh_tokens, span.store)
        other = span.memo[key] = at_cut(span, text)
    return metric(other)  # type: ignore[arg-type]  # one memo holds every type


MEASURES: tuple[Measure, ...] = (
    Measure("size", size, "share", "> 0", "tokens(C) / tokens(P); over 1 = growth", "tokens(P)"),
    Measure("budget", budget, "share", ">= 0", "tokens of what stands for Z / tokens(Z)",
            "tokens(Z)"),
    Measure("frr", recall.forward_reference_recall, "share", "0-1",
            "forward-reference recall: share of what the agent needed later that survives", "|N|"),
    Measure("bound_frr", recall.bound_recall, "share", "0-1",
            "the same, only where it stands among its neighbours", "needs bound in Z"),
    Measure("frr_newest", partial(newest, metric=recall.forward_reference_recall), "share", "0-1",
            "FRR of the newest lines at the same tokens", "|N|"),
    Measure("bound_frr_newest", partial(newest, metric=recall.bound_recall), "share", "0-1",
            "bound FRR of the newest lines at the same tokens", "needs bound in Z"),
    Measure("anchor_recall", recall.anchor_recall, "share", "0-1",
            "share of the anchors at risk that survive", "|R|"),
    *(Measure(f"anchor_recall_{kind}", partial(recall.anchor_recall, kind=kind), "share", "0-1",
              f"the same, anchors of the class {kind}", "|R| of the class") for kind in CLASSES),
    Measure("next_action", recall.next_action_support, "share", "0-1",
            "next tool calls with arguments at risk whose arguments all survive", "calls"),
    Measure("verbatim", recall.verbatim_recall, "share", "0-1",
            "later edits whose old text stood only in Z that find it in C", "edits"),
    Measure("refetch_tokens", cost.refetch_tokens, "tokens", ">= 0",
            "least tokens of tool results that hold the missing needs", "needs they hold"),
    Measure("net_saving", cost.net_saving, "tokens", "any",
            "tokens saved less tokens to fetch again", "needs to fetch"),
    Measure("constraint_verbatim", constraints.constraint_verbatim, "share", "0-1",
            "rules of the user that stand word for word", "rules"),
    Measure("constraint_retention", constraints.constraint_retention, "share", "0-1",
            "rules of the user that stand word for word or nearly", "rules"),
    Measure("novel_anchors", artifacts.novel_anchors, "share", "0-1, low is good",
            "anchors of the summary that stand nowhere in P: made up", "anchors of the summary"),
    Measure("artifact_trail", artifacts.artifact_trail, "share", "0-1",
            "F1 of the files read and written that C lists", "files"),
    Measure("redundancy", artifacts.redundancy, "share", "0-1, low is good",
            "share of the summary's runs of eight words that are repetitions", "runs"),
)
SOUND = Column("sound", "bool", "", "the structure gate: no orphan, valid roles and arguments")
STUB = "stub"  # the flag of what is never scored
HEADLINE = ("frr", "bound_frr")
HIGH_IS_BAD = ("size", "budget", "refetch_tokens", "novel_anchors", "redundancy")


@cache
def columns() -> tuple[Column, ...]:
    """The columns of a row, documented; each metric has its `n` behind it."""
    found = [FLAG, SOUND]
    for measure in MEASURES:
        found.append(Column(measure.name, "float", measure.unit,
                            f"{measure.help} ({measure.range})"))
        found.append(Column(f"{measure.name}_n", "int", "", f"n of it: {measure.counts}"))
    return tuple(found)


def explained() -> list[dict[str, str]]:
    """Every metric of a long table by name: its unit, its range, what it holds, what n counts."""
    sound = {"name": SOUND.name, "unit": "", "range": "0 or 1", "help": SOUND.help, "n": "1"}
    return [sound, *({"name": m.name, "unit": m.unit, "range": m.range, "help": m.help,
                      "n": m.counts} for m in MEASURES)]


Row = dict[str, object]


def measure_all(found: Case, flag: str = "", only: Sequence[str] = ()) -> Row:
    """Every metric of a case by column name; see `columns()`. `only`: those metrics, no others.

    A context with a sized stub is never scored: its metrics are NaN, its flag is `stub`.
    """
    stub = flag == STUB or is_stub(found)
    row: Row = {"flag": "", "sound": is_sound(found)}
    for measure in MEASURES:
        if only and measure.name not in only:
            continue
        scored = not stub or measure.name in ("size", "budget")
        score = measure.compute(found) if scored else Score(nan, 0)
        row[measure.name], row[f"{measure.name}_n"] = score
    row["flag"] = STUB if stub else flag or _too_little(found)
    return row


def _too_little(found: Case) -> str:
    if not found.span.removed:
        return "nothing removed"
    return "few needs" if len(recall.needs(found.span)) < LEAST_NEEDS else ""


def case_of(replay: Replay, made: Made, horizon: int = HORIZON) -> Case:
    """The case of one compaction of a replay, with the recorded future from there."""
    at = _place(replay, made)
    return case(made.before, made.compaction.history, replay.session.messages[at:], horizon)


def profile(replay: Replay, made: Made, horizon: int = HORIZON, only: Sequence[str] = ()) -> Row:
    """All metrics of one compaction of a replay by column name; see `columns()`.

    The future is the session's recorded one; where that followed a recorded compaction, the flag
    says so.
    """
    flag = flag_at(replay.session, _place(replay, made), horizon)
    if is_stub_text(made.compaction.summary or ""):
        flag = STUB
    return measure_all(case_of(replay, made, horizon), flag, only)


def _place(replay: Replay, made: Made) -> int:
    """Index of the first recorded message that the history before a compaction does not hold."""
    session = replay.session
    request = session.requests[made.request].message if made.request < len(
        session.requests) else len(session.messages)
    known = replay.store.remember("places", lambda: {
        replay.store.number(message): at for at, message in enumerate(session.messages)})
    for message in reversed(made.before):
        at = known.get(replay.store.number(message.original))
        if at is not None and message.summary is None:
            return min(at + 1, request)
    return request


def cut_profile(session: Session, at: int, context: str | Sequence[Message] | Summariser,
                store: Store, *, budget: float | None = None, horizon: int = HORIZON) -> Row:
    """All metrics of a context that stands for everything before the message with index `at`.

    `context`: a text, messages, or a summariser, which gets `budget` (a share of Z's tokens) as
    its limit. `store` is `index(session)`. Raises SummaryFailed as the summariser does.
    """
    span = span_at(session, at, store, horizon)
    return contestant(span, context, budget, flag_at(session, at, horizon))


def contestant(span: Span, context: str | Sequence[Message] | Summariser,
               budget: float | None = None, flag: str = "", only: Sequence[str] = ()) -> Row:
    """As `cut_profile`, at a span that several contestants share."""
    if callable(context):
        context = summarised(span, context, int((budget or 1.0) * span.removed_tokens))
    return measure_all(at_cut(span, context), flag, only)
