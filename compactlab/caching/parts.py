"""What the simulator takes and gives: abstract requests in, tokens by billing class out."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from operator import itemgetter
from typing import Any, Literal, NamedTuple, Protocol

Cause = Literal["first", "expired", "diverged", "lookback", "below_min", "in_flight", "no_mark",
                "event", "unexplained"]
LEVELS = ("tools", "system", "messages")
_TOKENS = itemgetter(1)  # of a pair (cause, tokens)
TTLS = {"5m": 300.0, "1h": 3600.0}  # seconds


class CacheBlock(NamedTuple):
    """One block of a prompt: content key (no markers, no signature), tokens, kind, level."""

    key: Hashable
    tokens: int
    kind: str = "text"
    level: str = "messages"


class CacheMark(NamedTuple):
    """A breakpoint behind the block with this index; `ttl` is "5m" or "1h"."""

    block: int
    ttl: str = "5m"


class CacheRequest(NamedTuple):
    """One request, already in its effective form (thinking stripped, edits applied).

    `t`: seconds at its start; `ttft`: seconds until the answer begins; `keep`: how many blocks of
    the previous request of this scope and model stand before `blocks`; `output`: the answer;
    `params`: request parameters that may invalidate.
    """

    t: float
    blocks: tuple[CacheBlock, ...]
    marks: tuple[CacheMark, ...] = ()
    ttft: float = 0.0
    duration: float = 0.0
    model: str = ""
    scope: str = ""
    params: Mapping[str, Any] = {}
    output: tuple[CacheBlock, ...] = ()
    keep: int = 0


class Sending(NamedTuple):
    """One request as nodes of a tree: what a provider's rule is given.

    `marks`: (node, lifetime in seconds) in the order of the prompt; `output`: the node of the
    prompt with its answer, 0 where it is unknown.
    """

    t: float
    tail: int
    marks: tuple[tuple[int, float], ...] = ()
    ttft: float = 0.0
    output: int = 0


class Served(NamedTuple):
    """One request's tokens: read, written, neither; they add up to the prompt.

    `write_5m` holds the writes of a provider's ordinary lifetime (5 minutes at Anthropic, 30 at
    OpenAI). `missed`: tokens of the prompt that had been sent before and were not read, by cause
    (`first`: the whole of a first prompt). `at`: index of the first block that differs from the
    previous request, -1 if none. `error`: the refusal (HTTP 400) of a request that was not served.
    """

    read: int
    write_5m: int
    write_1h: int
    uncached: int
    missed: tuple[tuple[Cause, int], ...] = ()
    at: int = -1
    error: str = ""

    @property
    def total(self) -> int:
        """Tokens of the prompt."""
        return self.read + self.write_5m + self.write_1h + self.uncached

    @property
    def cause(self) -> str:
        """The cause of most missed tokens; empty where nothing was missed."""
        if len(self.missed) < 2:
            return self.missed[0][0] if self.missed else ""
        return max(self.missed, key=_TOKENS)[0]


class Rule(Protocol):
    """The state of one provider's cache in one scope, for one model."""

    outputs: bool
    """Whether the prompt with its answer is a prefix that a later request can read."""

    def step(self, sending: Sending) -> Served:
        """Serve a request and remember it; times never go back."""
        ...

    def cached(self, served: Served, tokens: int) -> int:
        """Of the first so many tokens of a prompt that was served like this: what stays cached."""
        ...

    def lifetime(self, ttl: float) -> float:
        """Seconds for which an unused prefix stays; `ttl` is that of the client's marks."""
        ...

    def warm(self, node: int, t: float) -> None:
        """Somebody else's request has left this prefix in the cache."""
        ...

    def forget(self, keep: int) -> None:
        """An outside event: every entry of more than `keep` tokens is gone."""
        ...


def refused(total: int, error: str) -> Served:
    """A request that the provider answers with an error: nothing read, written or billed."""
    return Served(0, 0, 0, total, error=error)
