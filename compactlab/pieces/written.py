"""A summary as it is got: asked for, folded chunk by chunk where it is too large, or made without.

A fold is for spans that one call of the summariser would not fit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from compactlab.errors import SummaryFailed
from compactlab.pieces.fallback import bounded_fallback, fallback_summary
from compactlab.pieces.prompt import summary_call
from compactlab.pieces.secrets import masked
from compactlab.session import Message
from compactlab.strategy import Situation, SummaryRequest, ask

Fallback = Callable[[SummaryRequest], str]


class Written(NamedTuple):
    """The summary (None where there is none), how it came about, every call made for it.

    `fallback`: it is not the summariser's, which failed.
    """

    summary: str | None
    how: str
    calls: tuple[SummaryRequest, ...]
    fallback: bool = False


def written(request: SummaryRequest, situation: Situation, how: str, *, fold: bool, mask: bool,
            fallback: Fallback | None) -> Written:
    """The summary of a span; `how` says what is to be said of one that the summariser wrote.

    `fold`: a span too large for the summariser is folded. `mask`: secrets in it are masked.
    Without a `fallback` there is no summary where the summariser fails.
    """
    try:
        summary, calls = (
            ask_in_chunks(request, situation) if fold else (ask(request, situation), (request,)))
    except SummaryFailed as failure:
        if fallback is None:
            return Written(None, str(failure), (request,))
        summary, calls, how = fallback(request), (request,), f"fallback: {failure}"
        return Written(masked(summary) if mask else summary, how, calls, True)
    return Written(masked(summary) if mask else summary, how, calls)


def bounded(request: SummaryRequest) -> str:
    """The fallback within the call's limit, with the latest error lines."""
    return bounded_fallback(request.messages, request.previous, request.store, request.limit,
                            errors=True)


def unbounded(request: SummaryRequest) -> str:
    """The fallback as it is described: as long as its quotas and the earlier summary are."""
    return fallback_summary(request.messages, request.previous, request.store)


def ask_in_chunks(request: SummaryRequest, situation: Situation
                  ) -> tuple[str, tuple[SummaryRequest, ...]]:
    """(summary, calls): halves of a request that is too large, each updating the summary so far.

    Raises SummaryFailed when one message alone does not fit, or when the summariser fails.
    """
    try:
        return ask(request, situation), (request,)
    except SummaryFailed as failure:
        half = len(request.messages) // 2
        if failure.why != "window" or not half:
            raise

    def again(span: Sequence[Message], previous: str) -> tuple[str, tuple[SummaryRequest, ...]]:
        return ask_in_chunks(summary_call(request.store, span, previous=previous,
                                          limit=request.limit, focus=request.focus), situation)

    first, calls = again(request.messages[:half], request.previous)
    second, more = again(request.messages[half:], first)
    return second, calls + more
