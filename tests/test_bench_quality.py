"""A bench that measures what survives: only when asked, from the same replays, bad ones apart."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from compactlab import bench as bench_face
from compactlab.bench import plan, run
from compactlab.bench import work as room
from compactlab.results import Tables, to_pandas
from compactlab.session import Session
from compactlab.walk import Walk
from tests.quality.test_table import WINDOW, story

STRATEGIES = ["raw", "compressor", "layered"]
OPTIONS: dict[str, Any] = {"tokenizer": "o200k_base", "summariser": "fallback"}


def planned(**more: Any) -> Any:
    return plan(STRATEGIES, [WINDOW, 2 * WINDOW], quality=True, **OPTIONS, **more)


def quality(made: Tables) -> pd.DataFrame:
    assert made.quality is not None
    return to_pandas(made.quality)


def test_quality_is_measured_only_when_it_is_asked_for() -> None:
    asked, plain = planned(), plan(STRATEGIES, [WINDOW], **OPTIONS)
    assert run([story()], plain).quality is None
    assert [name for name, _ in run([], asked).items()] == [
        "runs", "requests", "compactions", "quality"]
    assert plain.described()["quality"] is None
    assert asked.described()["quality"] == {"cuts": 5, "horizon": 50}


def test_measuring_asks_for_no_second_replay_and_changes_no_other_table(
        monkeypatch: pytest.MonkeyPatch) -> None:
    walks: list[Walk] = []
    walk = Walk.run

    def counted(self: Walk) -> None:
        walks.append(self)
        walk(self)

    monkeypatch.setattr(Walk, "run", counted)
    found = {}
    for asked in (planned(), plan(STRATEGIES, [WINDOW, 2 * WINDOW], **OPTIONS)):
        walks.clear()
        found[asked.quality] = (run([story()], asked), len(walks))
    with_it, without = found[True], found[False]
    assert with_it[1] == without[1] >= 6
    for name, table in without[0].items():
        assert table.equals(getattr(with_it[0], name))


def test_one_and_two_workers_and_an_interrupted_run_give_the_same_rows() -> None:
    sessions = [story(seed) for seed in (1, 2, 3)]
    parts: dict[int, Tables] = {}
    alone = run(sessions, planned(), on_done=parts.__setitem__)
    both = run(sessions, planned(), workers=2)
    again = run(sessions, planned(), kept={1: parts[1]})
    for made in (both, again):
        assert made.quality is not None and made.quality.equals(alone.quality)
    assert list(quality(alone)["session"].unique()) == [s.id for s in sessions]


def test_a_bad_session_costs_its_own_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = room.size
    monkeypatch.setattr(room, "size", lambda s: 0 if s.id == "bad" else whole(s))
    bad = Session("bad", "made-up", (None,))  # type: ignore[arg-type]
    made, good = run([story(), bad], planned()), run([story()], planned())
    assert made.quality is not None and made.quality.equals(good.quality)
    assert to_pandas(made.runs)["status"].value_counts().to_dict() == {"ok": 6, "error": 6}


def test_a_fault_while_measuring_costs_the_replay_s_rows_and_is_said(
        monkeypatch: pytest.MonkeyPatch) -> None:
    measure = room.quality_rows

    def sometimes(done: Any) -> Any:
        if done.strategy == "layered":
            raise ZeroDivisionError("no needs")
        return measure(done)

    monkeypatch.setattr(room, "quality_rows", sometimes)
    made = run([story()], planned())
    runs = to_pandas(made.runs)
    assert list(runs[runs["status"] == "error"]["strategy"]) == ["layered"] * 2
    assert set(runs["reason"].dropna()) == {"ZeroDivisionError: no needs"}
    assert list(quality(made)["strategy"].unique()) == ["raw", "compressor"]


def test_the_face_gives_the_mean_over_the_cuts_of_each_replay() -> None:
    found = bench_face([story(1), story(2)], STRATEGIES, [WINDOW, None], quality=True, **OPTIONS)
    rows = quality(run([story(1), story(2)], plan(STRATEGIES, [WINDOW, None], quality=True,
                                                  **OPTIONS)))
    assert list(found.columns[-3:]) == ["frr", "bound_frr", "cuts"]
    for row in found[found["status"] == "ok"].to_dict("records"):
        same = rows["window"].isna() if pd.isna(row["window"]) else rows["window"] == row["window"]
        mine = rows[(rows["session"] == row["session"]) & (rows["strategy"] == row["strategy"])
                    & same & (rows["view"] == "cut") & rows["headline"]]
        for metric in ("frr", "bound_frr"):
            values = mine[mine["metric"] == metric]["value"].dropna().astype(float).tolist()
            assert row[metric] == pytest.approx(sum(values) / len(values))
        assert row["cuts"] == len(mine[mine["metric"] == "frr"])
    free = found[(found["strategy"] == "raw") & found["window"].isna()]
    assert free["frr"].tolist() == [1.0, 1.0]
