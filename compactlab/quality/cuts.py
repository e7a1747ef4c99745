"""Where sessions are cut for a comparison, which cuts count, and what stands at each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from compactlab.history import Store
from compactlab.pieces.assemble import summary_message
from compactlab.pieces.prompt import summary_call
from compactlab.quality.survives import HORIZON, Case, Span, within
from compactlab.session import Message, Session
from compactlab.strategy import Summariser
from compactlab.summarise.sized import MARK

BUDGETS = (0.01, 0.02, 0.05, 0.10, 0.20, 0.50)
"""Shares of the tokens of Z at which contestants are compared."""
CUTS = 5
FLAGGED_CUTS = 2  # and the recording's own compactions
EARLIEST, LATEST = 0.2, 0.9  # share of the requests between which cuts are taken
LEAST_NEEDS = 3  # |N| below which a cut stays out of the headline


class Cut(NamedTuple):
    """A place in a session: before the message with index `at`, which answers `request`.

    `flag`: "" where the recorded agent had all of it before it and for the horizon after it;
    `after` or `before` a compaction of the recording, whose summary its answers followed.
    """

    at: int
    request: int
    flag: str = ""


def flag_at(session: Session, at: int, horizon: int = HORIZON) -> str:
    """Why a cut before the message with this index is no fair test; "" where it is one."""
    if any(compaction.at <= at for compaction in session.compactions):
        return "after"
    later = [request.message for request in session.requests if request.message >= at][:horizon]
    end = later[-1] if later else at
    return "before" if any(compaction.at <= end for compaction in session.compactions) else ""


def cuts(session: Session, count: int = CUTS, horizon: int = HORIZON) -> tuple[Cut, ...]:
    """At most `count` cuts without a flag, spread evenly.

    Where the recording compacted, some flagged ones too, its own compactions among them. Cuts
    stand before a request, so no call waits for its result there.
    """
    requests = session.requests
    first, last = int(EARLIEST * len(requests)), int(LATEST * len(requests))
    places = [Cut(requests[k].message, k, flag_at(session, requests[k].message, horizon))
              for k in range(max(first, 1), max(last, 1))]
    found = _spread([cut for cut in places if not cut.flag], count)
    if session.compactions:
        found += _spread([cut for cut in places if cut.flag], min(count, FLAGGED_CUTS))
        own = {next((k for k, r in enumerate(requests) if r.message >= c.at), -1)
               for c in session.compactions}
        found += [Cut(requests[k].message, k, flag_at(session, requests[k].message, horizon))
                  for k in sorted(own) if k >= 0]
    return tuple(sorted(set(found)))


def _spread(places: list[Cut], count: int) -> list[Cut]:
    if len(places) <= count:
        return places
    return [places[(2 * i + 1) * len(places) // (2 * count)] for i in range(count)]


def span_at(session: Session, at: int, store: Store, horizon: int = HORIZON) -> Span:
    """The span of a cut: Z all messages before it, K the leading system prompt, F what follows."""
    lead = 0
    while lead < at and session.messages[lead].role == "system":
        lead += 1
    before = session.messages[:at]
    future = within(session.messages[at:], horizon)
    return Span(store, before, before[lead:], before[:lead], future)


def at_cut(span: Span, context: str | Sequence[Message]) -> Case:
    """The case in which a text (as a summary) or messages stand for Z."""
    if isinstance(context, str):
        fresh: Sequence[Message] = (summary_message(context),) if context else ()
    else:
        fresh = context
    return Case(span, (*span.kept, *fresh))


def summarised(span: Span, summarise: Summariser, budget: int) -> str:
    """What a summariser makes of Z with the budget (tokens) as its limit.

    Raises SummaryFailed as the summariser does.
    """
    return summarise(summary_call(span.store, span.removed, limit=budget))


def is_stub(case: Case) -> bool:
    """Whether the context holds a sized stub, which is never scored."""
    return any(message.summary is not None and is_stub_text(message.summary.text)
               for message in case.context)


def is_stub_text(text: str) -> bool:
    """Whether a text is a sized stub, also behind a heading, or one that had no room."""
    return MARK in text or (text != "" and MARK.startswith(text))
