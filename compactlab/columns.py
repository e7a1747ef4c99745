"""The columns of every table, documented once, as data, in the terms of the replay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from pandas import DataFrame

ColumnType = Literal["string", "int", "float", "bool"]


@dataclass(frozen=True)
class Column:
    """One column: its name, type, unit, and what it holds; integers may be missing."""

    name: str
    type: ColumnType
    unit: str
    help: str


def _c(name: str, type: ColumnType, unit: str, help: str) -> Column:
    return Column(name, type, unit, help)


KEY = (
    _c("session", "string", "", "id of the session"),
    _c("format", "string", "", "format that the session was read from"),
    _c("strategy", "string", "", "preset, or members of the pipeline joined by +"),
    _c("settings", "string", "", "settings other than the preset's own, as JSON"),
    _c("window", "int", "tokens", "context window of the replay, in the counter's tokens"),
    _c("summariser", "string", "", "what wrote the summaries"),
    _c("tokenizer", "string", "", "counter that every token column is measured with"),
)

RUNS = (
    *KEY,
    _c("requests", "int", "requests", "requests of the recording"),
    _c("turns", "int", "turns", "user messages that start a turn"),
    _c("compactions", "int", "", "compactions that changed the history, silent ones left out"),
    _c("noops", "int", "", "compactions whose condition was met but that changed nothing"),
    _c("silent", "int", "", "silent compactions (micro, truncation) that changed the history"),
    _c("effective_rate", "float", "share", "effective / (compactions + noops)"),
    _c("summaries", "int", "", "summaries that were written, whoever wrote them"),
    _c("fallbacks", "int", "", "of these by the fallback, because the summariser failed"),
    _c("max_level", "int", "level", "highest escalation level reached"),
    _c("stops", "int", "turns", "turns that ended refused"),
    _c("hard_stops", "int", "turns", "stops after all attempts (exhausted)"),
    _c("stop_reason", "string", "", "reason of the first stop"),
    _c("requests_unserved", "int", "requests", "refused requests and the rest of their turns"),
    _c("served_share", "float", "share", "served requests / requests"),
    _c("peak_tokens", "int", "tokens", "largest prompt that was served, head included"),
    _c("raw_tokens", "int", "tokens", "sum over the served requests, nothing compacted"),
    _c("tokens", "int", "tokens", "sum over the served requests, as sent"),
    _c("token_reduction", "float", "share", "1 - tokens / raw_tokens, over the served requests"),
    _c("head", "int", "tokens", "hidden head: system prompt and tools that the log does not hold"),
    _c("head_kind", "string", "", "in_log, unknown (no usage) or inferred"),
    _c("orphaned", "int", "results", "results whose call a compaction had removed: dropped"),
    _c("counter_factor", "float", "", "factor of a calibrated counter over its encoding; answers "
       "weigh their recorded output instead"),
    _c("counter_constant", "int", "tokens", "tokens it adds to each answer's recorded output"),
    _c("counter_error", "float", "share", "its mean absolute error on recorded prompt totals"),
    _c("counter_n", "int", "requests", "over how many recorded requests"),
    _c("time", "string", "", "recorded, or assumed where the log has no timestamps"),
    _c("status", "string", "", "ok, impossible (head >= window), or error"),
    _c("reason", "string", "", "why the status is not ok"),
    _c("invariants_broken", "string", "", "numbers of the invariants broken, joined by spaces"),
)

REQUESTS = (
    _c("request", "int", "", "number of the request, from 0"),
    _c("turn", "int", "", "number of the turn, from 0; -1 before the first user message"),
    _c("raw_tokens", "int", "tokens", "prompt with nothing compacted and no window"),
    _c("tokens", "int", "tokens", "prompt of the last sending; missing when it was never sent"),
    _c("trigger", "string", "", "trigger of the last compaction before the sending, silent or not"),
    _c("level", "int", "level", "highest escalation level used for this request"),
    _c("served", "bool", "", "whether the prompt fitted the window"),
    _c("after_recorded_compaction", "bool", "", "its recorded answer was conditioned on one"),
)

COMPACTIONS = (
    _c("request", "int", "", "number of the next request to be sent"),
    _c("turn", "int", "", "number of the turn"),
    _c("trigger", "string", "", "turn, request, overflow, tool or manual"),
    _c("member", "string", "", "member of the pipeline that acted"),
    _c("level", "int", "level", "escalation level, where the member has one"),
    _c("before", "int", "tokens", "messages only, without system prompt, tools, hidden head"),
    _c("after", "int", "tokens", "the same afterwards"),
    _c("reduction", "float", "share", "(before - after) / before"),
    _c("effective", "bool", "", "reduction of at least 0.10"),
    _c("summary_tokens", "int", "tokens", "tokens of the summary's text"),
    _c("messages_before", "int", "messages", "without the system prompt"),
    _c("messages_after", "int", "messages", "without the system prompt"),
    _c("tool_results_cleared", "int", "results", "results replaced by a placeholder"),
    _c("tool_results_truncated", "int", "results", "results cut to first and last lines"),
    _c("reason", "string", "", "why nothing changed, or why a summary is missing"),
    _c("silent", "bool", "", "micro compaction or truncation: not in effective rates"),
    _c("changed", "bool", "", "whether the history changed; false = a no-op"),
    _c("written_by", "string", "", "summariser, or fallback where that one failed"),
)

CAUSES = ("first", "expired", "diverged", "lookback", "below_min", "in_flight", "no_mark", "event",
          "unexplained")  # why prompt tokens were not read from the cache

# What a simulated prompt cache served of each request; missing when it was not served.
CACHE_REQUESTS = (
    _c("cache_read", "int", "tokens", "prompt tokens read from the simulated cache"),
    _c("cache_write_5m", "int", "tokens", "written with the provider's ordinary lifetime"),
    _c("cache_write_1h", "int", "tokens", "prompt tokens written to it for an hour"),
    _c("uncached", "int", "tokens", "prompt tokens billed as plain input"),
    _c("hit", "float", "share", "cache_read / prompt tokens"),
    _c("cause", "string", "", "why most of the tokens sent before were not read"),
    _c("missed", "int", "tokens", "tokens sent before that were not read, whatever the cause"),
    _c("bust", "int", "tokens", "cached before a compaction, paid again because of it"),
)
MONEY_REQUESTS = (
    _c("cost", "float", "USD", "prompt and recorded answer, at the prices of the run"),
)

CACHE_RUNS = (
    _c("cache_rule", "string", "", "provider's rule that was simulated; none where no rule is "
       "known for the model: nothing is cached"),
    _c("cache_layout", "string", "", "where the simulated client puts its breakpoints"),
    _c("cache_ttl", "string", "", "lifetime of what its marks write, 5m or 1h; missing where the "
       "provider's rule has a lifetime of its own"),
    _c("clock_back", "int", "", "how often the recorded clock went back: such a request stands at "
       "the time before it"),
    *CACHE_REQUESTS[:4],  # summed over the served requests
    _c("hit_rate", "float", "share", "cache_read / prompt tokens, over the served requests"),
    _c("bust_tokens", "int", "tokens", "cached before a compaction, paid again because of it"),
    *(_c(f"miss_{cause}", "int", "tokens", f"tokens sent before that were not read: {cause}")
      for cause in CAUSES),
)
MONEY_RUNS = (
    _c("cost", "float", "USD", "served requests with their answers, and summary calls"),
    _c("cost_raw", "float", "USD", "the same requests with nothing compacted and no window"),
    _c("cost_saving", "float", "share", "1 - cost / cost_raw"),
    _c("summariser_cost", "float", "USD", "summary calls alone, a part of cost"),
    _c("bust_cost", "float", "USD", "what busted tokens cost above a cache read"),
    _c("prices_as_of", "string", "", "day and source of the prices"),
    _c("summary_seconds", "float", "s", "estimate: waiting for summaries, at 1 s a call, 5,000 "
       "prompt tokens a second, 100,000 where they are cached, 60 tokens of answer a second"),
    _c("reread_seconds", "float", "s", "estimate: processing busted prefixes anew at 5,000 tokens "
       "a second, not 100,000"),
)
# Over all readings of what the provider's documentation leaves open; the default one stands above.
BAND_RUNS = (
    _c("readings", "int", "", "readings of the provider's rule that were simulated"),
    _c("cache_read_low", "int", "tokens", "least that one of them reads"),
    _c("cache_read_high", "int", "tokens", "most that one of them reads"),
    _c("cost_low", "float", "USD", "least cost under one of them"),
    _c("cost_high", "float", "USD", "most cost under one of them"),
    _c("cost_saving_low", "float", "share", "least saving under one of them"),
    _c("cost_saving_high", "float", "share", "most saving under one of them"),
)
MONEY_COMPACTIONS = (  # of all compactions before one request, at the last of them
    _c("paid_once", "float", "USD", "summary calls, the summary written, busted tokens written "
       "again above a read's price"),
    _c("saved_each", "float", "USD", "saved by each later request that is read from the cache"),
    _c("break_even", "int", "requests", "until it has paid for itself, by the formula paid_once / "
       "saved_each; missing = never"),
    _c("break_even_simulated", "int", "requests", "the same as simulated; missing = not before the "
       "next compaction or the end of the session"),
)
CHECK_RUNS = (
    _c("price_model", "string", "", "model whose prices and cache rules were used; several where "
       "the session changed it"),
    _c("price_basis", "string", "", "recorded: the prices are of the model that the recording "
       "used; what-if: of another one"),
    _c("hit_rate_error", "float", "share", "error of the simulator on this session as it was "
       "recorded, sizes by our counter: simulated - recorded hit rate; missing for a what-if"),
    _c("cost_error", "float", "share", "the same of its input cost: simulated / that of the "
       "recorded usage at these prices - 1"),
)

FLAG = _c("flag", "string", "", "why it stays out of the headline: after or before a recorded "
          "compaction, few needs, silent (such a compaction removes next to nothing), stub (never "
          "scored), unserved (the request was refused), nothing removed; empty = it is in it")
# What survives: long rows, one for each metric at each place.
QUALITY = (
    _c("view", "string", "", "compaction: what one of them removed; cut: everything before a "
       "request, at the same requests of a session for all strategies"),
    _c("request", "int", "", "number of the request at the cut, or of the next one to be sent"),
    _c("compaction", "int", "", "number of the replay's row in compactions, from 0; missing at a "
       "cut"),
    _c("headline", "bool", "", "whether it counts for the headline"),
    FLAG,
    _c("metric", "string", "", "name of the metric: what it holds stands in the manifest"),
    _c("value", "float", "", "the figure; missing where it is taken over nothing"),
    _c("n", "int", "", "over how many things it is taken"),
)
# Of the view `cut`, in the headline rows of one replay.
KEPT = (
    _c("frr", "float", "share", "forward-reference recall, mean over the cuts: what the agent "
       "needed later that was still there; an upper bound on what a model would recall"),
    _c("bound_frr", "float", "share", "the same, only where it stood among its neighbours"),
    _c("cuts", "int", "cuts", "cuts that have a value"),
)

TABLES: dict[str, tuple[Column, ...]] = {
    "runs": (*RUNS, *CACHE_RUNS, *MONEY_RUNS, *BAND_RUNS, *CHECK_RUNS),
    "requests": (*KEY, *REQUESTS, *CACHE_REQUESTS, *MONEY_REQUESTS),
    "compactions": (*KEY, *COMPACTIONS, *MONEY_COMPACTIONS),
    "quality": (*KEY, *QUALITY),
}
WHEN_ASKED = ("quality",)  # the tables that a run has only when they were asked for

# A column's type in pandas and in Arrow; both know missing values.
DTYPES = {"string": "string", "int": "Int64", "float": "Float64", "bool": "boolean"}
ARROW: dict[str, Any] = {"string": "string", "int": "int64", "float": "float64", "bool": "bool"}


def frame(columns: Sequence[Column], rows: Sequence[Sequence[object]]) -> DataFrame:
    """The rows as a pandas table with nullable types; missing values are NA."""
    import pandas as pd

    data = {
        column.name: pd.array([row[i] for row in rows], dtype=DTYPES[column.type])  # type: ignore[call-overload]
        for i, column in enumerate(columns)
    }
    return pd.DataFrame(data)
