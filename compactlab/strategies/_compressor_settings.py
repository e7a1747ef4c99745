"""The compressor's settings and the numbers that follow from them at a window."""

from __future__ import annotations

from dataclasses import dataclass

from compactlab.pieces.shares import share_of
from compactlab.setting import check_settings, setting
from compactlab.strategies._switches import (
    FIX,
    mask_secrets,
    refuse_growth,
    strike_limit,
    switch,
)

SOURCE = '"Context compression and caching", VibeOS documentation, mid-2026'
RAISED_MODEL = "gpt-5.5"
RAISED_PROVIDERS = frozenset({"chatgpt-oauth", "openai-codex"})


@dataclass(frozen=True)
class CompressorSettings:
    """Every setting of the compressor; see `Compressor`."""

    enabled: bool = setting(True, "false stops both rules; a manual compaction still works",
                            source=SOURCE)
    threshold: float = setting(0.50, "share of the window from which it compacts", low=0.0,
                               high=1.0, unit="share of the window", source=SOURCE)
    target_ratio: float = setting(0.20, "share of the threshold that the tail may take", low=0.10,
                                  high=0.80, clamp=True, unit="share of the threshold",
                                  source=SOURCE)
    protect_last_n: int = setting(20, "newest messages that always stay", unit="messages", low=1,
                                  source=SOURCE)
    protect_first_n: int = setting(3, "first messages that stay: system prompt, first exchange",
                                   unit="messages", low=1, source=SOURCE)
    codex_gpt55_autoraise: bool = setting(
        True, "raise the threshold for gpt-5.5 on the ChatGPT route", source=SOURCE)
    autoraise_threshold: float = setting(0.85, "the raised threshold", low=0.0, high=1.0,
                                         unit="share of the window", group="advanced",
                                         source=SOURCE)
    prune_chars: int = setting(200, "tool results of the middle with more text are cleared",
                               unit="characters", low=0, group="advanced", source=SOURCE)
    summary_ratio: float = setting(0.20, "answer limit as a share of what is summarised", low=0.0,
                                   high=1.0, group="advanced", source=SOURCE)
    summary_min: int = setting(2_000, "least answer limit", unit="tokens", low=1,
                               group="advanced", source=SOURCE)
    summary_max: int = setting(12_000, "largest answer limit", unit="tokens", low=1,
                               group="advanced", source=SOURCE)
    summary_max_share: float = setting(0.05, "largest answer limit as a share of the window",
                                       low=0.0, high=1.0, group="advanced", source=SOURCE)
    hygiene_threshold: float = setting(0.85, "share of the window from which hygiene compacts",
                                       low=0.0, high=1.0, unit="share of the window",
                                       group="advanced", source=SOURCE)
    hygiene_min_messages: int = setting(4, "least messages for hygiene, system prompt left out",
                                        unit="messages", low=0, group="advanced", source=SOURCE)
    informative: bool = switch(
        "placeholders name the call and its size, repeated outputs are said to be")
    argument_chars: int = switch("longer text in arguments of old calls is cut to this; 0 = no", 0,
                                 unit="characters", low=0, fixed=200)
    stop_after_prune: bool = switch("no summary when phase 1 alone gets under the threshold")
    keep_last_user: bool = switch("the latest user message always stays word for word")
    head_decays: bool = switch(
        "after the first compaction only the system prompt is protected as head")
    protect_last_cap: int = switch(
        "most messages that must stay when they cost more than the tail's budget; 0 = no cap", 0,
        unit="messages", low=0, fixed=8, binds="protect_last_n")
    threshold_floor: float = switch(
        "least threshold for windows under `floor_below`", 0.0, low=0.0, high=1.0,
        unit="share of the window", fixed=0.75, binds="threshold")
    floor_below: int = setting(512_000, "windows from this size on have no floor", unit="tokens",
                               low=0, group="advanced", source=FIX)
    strike_limit: int = strike_limit()
    refuse_growth: bool = refuse_growth()
    fallback_on_failure: bool = switch(
        "a failed summary is replaced by the fallback; the earlier summary is kept")
    fold_chunks: bool = switch("a middle too large for the summariser is folded in chunks")
    mask_secrets: bool = mask_secrets()
    count_appended: bool = switch(
        "the last report and what was appended since count, not the report alone")
    answer_overflow: bool = switch("compacts when a request is refused, too")

    def __post_init__(self) -> None:
        check_settings(self)

    # -- numbers ---------------------------------------------------------------------------------
    def threshold_in_force(self, model: str = "", provider: str = "",
                           window: int | None = None) -> float:
        """The threshold, raised for one model on one route, and for windows with a floor."""
        threshold = self.threshold
        if window is not None and window < self.floor_below:
            threshold = max(threshold, self.threshold_floor)
        if (self.codex_gpt55_autoraise and model == RAISED_MODEL
                and provider in RAISED_PROVIDERS):
            return max(threshold, self.autoraise_threshold)
        return threshold

    def tail_budget(self, window: int, model: str = "", provider: str = "") -> int:
        """Tokens that the protected tail may take."""
        tokens = share_of(window, self.threshold_in_force(model, provider, window))
        return share_of(tokens, self.target_ratio)

    def summary_ceiling(self, window: int) -> int:
        """Largest answer limit at a window."""
        return min(share_of(window, self.summary_max_share), self.summary_max)

    def summary_budget(self, tokens: int, window: int) -> int:
        """Answer limit for a middle of `tokens`; the ceiling wins over the least limit."""
        wanted = max(share_of(tokens, self.summary_ratio), self.summary_min)
        return min(wanted, self.summary_ceiling(window))

    def derived(self, window: int, model: str = "", provider: str = "") -> dict[str, int]:
        """The numbers that follow from the settings at a window."""
        return {
            "threshold_tokens": share_of(
                window, self.threshold_in_force(model, provider, window)),
            "tail_budget": self.tail_budget(window, model, provider),
            "summary_ceiling": self.summary_ceiling(window),
            "hygiene_tokens": share_of(window, self.hygiene_threshold),
        }
