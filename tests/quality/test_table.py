"""From sessions to tables: profiles of replays, cuts, flags, rounds, and equal bytes."""

from __future__ import annotations

import os
import subprocess
import sys
from math import isnan
from pathlib import Path

import msgspec
import pytest

from compactlab.errors import UnknownName
from compactlab.index import index
from compactlab.quality.cuts import BUDGETS, Cut, cuts, flag_at
from compactlab.quality.profile import columns, cut_profile, profile
from compactlab.quality.repeated import survival_by_round
from compactlab.quality.table import COLUMNS, SUMMARY, quality_table, session_means, summary
from compactlab.replay import replay
from compactlab.session import RecordedCompaction, Session
from compactlab.statistics import compare
from compactlab.summarise import find
from tests.quality.stories import session
from tests.quality.test_laws import long_story

WINDOW = 8_000
TOO_SMALL = 3_000
ROOT = Path(__file__).parents[2]


def story(seed: int = 7, compacted_at: int | None = None) -> Session:
    found = msgspec.structs.replace(session(long_story(seed)), id=f"story {seed}")
    if compacted_at is None:
        return found
    made = RecordedCompaction(compacted_at, "auto", "We mend src/parser/row_1.py.")
    return msgspec.structs.replace(found, compactions=(made,))


def test_every_compaction_of_a_replay_has_a_row_with_the_documented_columns() -> None:
    done = replay(story(), "layered", window=WINDOW, tokenizer="o200k_base", threshold=1_500)
    loud = [made for made in done.made if made.compaction.changed and not made.compaction.silent]
    assert loud
    for made in loud:
        row = profile(done, made)
        assert list(row) == [column.name for column in columns()]
        assert row["sound"] is True
        assert row["size"] == pytest.approx(made.compaction.after / made.compaction.before)


def test_a_sized_stub_is_never_scored() -> None:
    known = index(story(), "o200k_base")
    row = cut_profile(known.session, 41, find("sized")[1], known, budget=0.2)
    assert row["flag"] == "stub"
    assert isnan(row["frr"]) and row["frr_n"] == 0  # type: ignore[arg-type]
    assert row["budget"] == pytest.approx(0.2, abs=0.01)


def test_a_summariser_gets_the_budget_as_its_limit() -> None:
    known = index(story(), "o200k_base")
    sizes = [cut_profile(known.session, 41, find("extractive")[1], known, budget=b)["budget"]
             for b in BUDGETS]
    assert sizes == sorted(sizes)  # type: ignore[type-var]
    assert all(size <= b + 0.01 for size, b in zip(sizes, BUDGETS, strict=True))  # type: ignore[operator]


def test_cuts_stand_before_requests_and_flags_say_which_future_was_conditioned() -> None:
    plain, compacted = story(), story(compacted_at=61)
    assert all(plain.requests[cut.request].message == cut.at for cut in cuts(plain))
    assert {cut.flag for cut in cuts(plain)} == {""}
    assert flag_at(compacted, 11, horizon=5) == ""
    assert flag_at(compacted, 55, horizon=5) == "before"
    assert flag_at(compacted, 61, horizon=5) == "after"
    assert Cut(61, 30, "after") in cuts(compacted, 3, horizon=5)


def test_the_recording_is_a_contestant_out_of_the_headline() -> None:
    table = quality_table([story(compacted_at=81)], ["recorded"], windows=(None,), budgets=(0.1,),
                          tokenizer="o200k_base", horizon=10, count=3)
    rows = table[(table["strategy"] == "recorded") & (table["metric"] == "frr")]
    own = rows[rows["view"] == "compaction"]
    assert own["flag"].tolist() == ["after"] and own["value"].notna().all()
    assert not own["headline"].any()
    assert {"after", "before"} <= set(rows[rows["view"] == "cut"]["flag"])
    assert not table[table["flag"] != ""]["headline"].any()


def test_tables_have_their_columns_and_controls_the_order_that_definitions_demand() -> None:
    table = quality_table([story(1), story(2)], ["compressor"], windows=(WINDOW,),
                          budgets=(0.05, 0.2), tokenizer="o200k_base", count=3)
    assert list(table) == [column.name for column in COLUMNS]
    short = summary(table, metrics=("frr", "bound_frr"))
    assert list(short) == [column.name for column in SUMMARY]
    means = session_means(table, "frr", budget=0.2)
    bound = session_means(table, "bound_frr", budget=0.2)
    for name in ("story 1", "story 2"):
        assert means["anchor_dump"][name] > means["keep_newest"][name]
        assert bound["anchor_dump"][name] < bound["keep_newest"][name]
    assert all(found.p is None for found in compare(means))


def test_a_refused_request_is_said_and_gives_no_figure() -> None:
    table = quality_table([story()], ["raw"], windows=(TOO_SMALL,), budgets=(), count=3,
                          tokenizer="o200k_base", only=("frr",))
    rows = table[table["metric"] == "frr"]
    assert (rows["flag"] == "unserved").any()
    assert rows[rows["flag"] == "unserved"]["value"].isna().all()


def test_an_unknown_control_is_an_error_with_the_choices() -> None:
    with pytest.raises(UnknownName, match="keep_newest"):
        quality_table([], [], controls=("oldest",))


def test_survival_by_round_falls_with_age_and_counts_only_what_nothing_showed_again() -> None:
    done = replay(story(), "layered", window=WINDOW, tokenizer="o200k_base", threshold=1_500)
    rows = survival_by_round(done)
    assert max(row.round for row in rows) >= 3
    assert all(0 <= row.survival <= 1 for row in rows if row.n)
    for origin in {row.origin for row in rows}:
        counts = [row.n for row in rows if row.origin == origin]
        assert counts == sorted(counts, reverse=True)
    first = [row.survival for row in rows if row.origin == 1 and row.n]
    assert first[0] >= first[-1]
    stubs = replay(story(), "layered", window=WINDOW, tokenizer="o200k_base", threshold=1_500,
                   summariser="sized")
    assert survival_by_round(stubs) == ()


CODE = """
from compactlab.quality.table import quality_table, summary
from tests.quality.test_table import WINDOW, story
table = quality_table([story(1), story(2)], ["layered"], windows=(WINDOW,), budgets=(0.05,),
                      tokenizer="o200k_base", count=2)
print(table.to_csv(), summary(table, metrics=("frr", "bound_frr", "anchor_recall")).to_csv())
"""


def test_two_processes_with_other_hashes_give_equal_bytes() -> None:
    outputs = []
    for seed in ("1", "4711"):
        done = subprocess.run([sys.executable, "-c", CODE], cwd=ROOT, capture_output=True,
                              check=False, env={**os.environ, "PYTHONHASHSEED": seed})
        assert done.returncode == 0, done.stderr.decode()
        outputs.append(done.stdout)
    assert outputs[0] == outputs[1] and len(outputs[0]) > 10_000
