"""Prompt caching: marking real requests, and what a provider's cache would serve a replay."""

from __future__ import annotations

from compactlab.caching.bridge import simulate
from compactlab.caching.groups import Group, by_gap, by_group
from compactlab.caching.layouts import LAYOUTS, apply_cache_control, mark_request
from compactlab.caching.readings import Reading, readings
from compactlab.caching.run import CachedRequest, CacheRun
from compactlab.caching.serve import CacheEvent
from compactlab.caching.simulator import Simulator, simulate_requests
from compactlab.caching.switch import prompt_caching
from compactlab.caching.validate import VALIDATION, recorded_misses, table, validate
from compactlab.caching.vectors import check_file

__all__ = [
    "LAYOUTS", "VALIDATION", "CacheEvent", "CacheRun", "CachedRequest", "Group", "Reading",
    "Simulator", "apply_cache_control", "by_gap", "by_group", "check_file", "mark_request",
    "prompt_caching", "readings", "recorded_misses", "simulate", "simulate_requests", "table",
    "validate",
]
