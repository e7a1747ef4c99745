"""The summary of the escalating compaction's last resort, as a summariser of its own."""

from __future__ import annotations

from compactlab.errors import SummaryFailed
from compactlab.pieces.fallback import bounded_fallback
from compactlab.strategy import SummaryRequest

NAME = "fallback"
ABOUT = "latest requests, tool actions and paths without a model; oldest lines go over the limit"


def summarise(request: SummaryRequest) -> str:
    """See `bounded_fallback`: within `request.limit` tokens, as a summariser must be.

    SummaryFailed when the limit leaves no room for a word.
    """
    # The same call comes again in every replay that gets here: it is answered once. The value holds
    # the call, so that its identity stays its own.
    found = request.store.remember(("fallback", id(request)), lambda: (request, (
        bounded_fallback(request.messages, request.previous, request.store, request.limit))))[1]
    if not found:
        raise SummaryFailed(
            f"an answer limit of {request.limit} tokens leaves no room for a summary")
    return found
