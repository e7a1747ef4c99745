"""Table in, figure or small table out: what a replay, or a comparison of strategies, shows."""

from compactlab.charts.break_even import break_even, break_even_table
from compactlab.charts.caching import hits, misses
from compactlab.charts.levels import effective_rate, levels
from compactlab.charts.means import means
from compactlab.charts.money import input_savings, money, money_table
from compactlab.charts.pairs import pairs_table
from compactlab.charts.quality import agreement, pareto, profile
from compactlab.charts.reduction import reduction
from compactlab.charts.sawtooth import sawtooth
from compactlab.charts.strip import strip
from compactlab.charts.survival import lost_and_needed, needs_sums, survival
from compactlab.charts.tables import (
    by_format,
    compaction_list,
    comparison,
    fate_sums,
    largest_messages,
    stops,
)

__all__ = [
    "agreement",
    "break_even",
    "break_even_table",
    "by_format",
    "compaction_list",
    "comparison",
    "effective_rate",
    "fate_sums",
    "hits",
    "input_savings",
    "largest_messages",
    "levels",
    "lost_and_needed",
    "means",
    "misses",
    "money",
    "money_table",
    "needs_sums",
    "pairs_table",
    "pareto",
    "profile",
    "reduction",
    "sawtooth",
    "stops",
    "strip",
    "survival",
]
