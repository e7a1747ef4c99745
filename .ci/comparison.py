"""Write the README's comparison table: described against fixed presets, baselines, `recorded`.

Usage: python .ci/comparison.py SESSIONS... [--windows 64000,128000] [--write README.md]
Without --write the table is printed. What stands between the two marks in the file is replaced.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import pandas as pd

from compactlab.bench import bench
from compactlab.charts.means import means
from compactlab.formats.named import expand, read_all
from compactlab.results.shares import pooled_effective
from compactlab.strategies.presets import names
from compactlab.words import interval, percent

BEGIN, END = "<!-- comparison: begin -->", "<!-- comparison: end -->"
SUMMARISER = "extractive"


def table(runs: pd.DataFrame) -> str:
    """One Markdown table a format and window."""
    parts = []
    for (format_, window), group in runs.groupby(["format", "window"], sort=True):
        counted = group.drop_duplicates("session")
        parts.append(f"**{format_}, window {window:,}** (n = {len(counted)} sessions)\n")
        parts.append("| strategy | token reduction, mean [95 % interval] | effective | hard stops "
                     "| other stops | no-ops | largest prompt |\n|---|---|---|---|---|---|---|")
        wide = means(group, "strategy").set_index("strategy")
        for name, rows in group.groupby("strategy", sort=False):
            parts.append(_line(str(name), rows, wide.loc[name]))
        parts.append("")
    return "\n".join(parts)


def _line(name: str, rows: pd.DataFrame, mean: pd.Series) -> str:
    reduction = interval(mean["mean"], mean["low"], mean["high"], 1)
    if mean["n"]:
        reduction += f", n = {int(mean['n'])}"
    left_out = int(mean["n_partial"] + mean["n_failed"])
    if left_out:
        reduction += f" ({left_out} left out)"
    hard = int(rows["hard_stops"].sum())
    return (f"| `{name}` | {reduction} | {percent(pooled_effective(rows))} | {hard} "
            f"| {int(rows['stops'].sum()) - hard} | {int(rows['noops'].sum())} "
            f"| {int(rows['peak_tokens'].max()):,} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sessions", nargs="+")
    parser.add_argument("--windows", default="64000,128000")
    parser.add_argument("--write", type=Path)
    given = parser.parse_args()
    sessions = [s for s in read_all(expand(given.sessions)).sessions if s.requests]
    windows = [int(w) for w in given.windows.split(",")]
    runs = bench(sessions, list(names()), windows, summariser=SUMMARISER, workers=2,
                 progress=False)
    counters = ", ".join(f"{name} ({count} sessions)" for name, count in runs.drop_duplicates(
        "session")["tokenizer"].value_counts().items())
    text = (
        f"Summaries by `{SUMMARISER}`; tokens by {counters}. A replay holds the agent's recorded "
        "behaviour fixed. A session that was not served whole is left out of the mean and "
        "counted; effective = share of compactions and no-ops that saved at least 10 %; the "
        "largest prompt is the largest that was served.\n\n" + table(runs))
    if given.write is None:
        print(text)
        return
    page = given.write.read_text("utf-8")
    if BEGIN not in page or END not in page:
        raise SystemExit(f"{given.write}: the marks {BEGIN} and {END} are missing")
    block = f"{BEGIN}\n{text}\n{END}"
    new = re.sub(f"{BEGIN}.*?{END}", lambda _: block, page, flags=re.DOTALL)
    given.write.write_text(new, "utf-8")


if __name__ == "__main__":
    main()
