"""Sessions x strategies x settings x windows: rows in order, whatever the number of workers."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pandas as pd
import pytest

from compactlab import bench as bench_face
from compactlab.bench import bench, plan, run, size
from compactlab.bench.work import unique_ids
from compactlab.columns import COMPACTIONS, REQUESTS, RUNS, TABLES
from compactlab.errors import BadRun, BadSetting, NoVocabulary, UnknownName
from compactlab.replay import replay
from compactlab.results import Tables, join
from compactlab.session import Message, Session, Text
from compactlab.strategies.presets import PRESETS, find
from compactlab.strategy import SummaryRequest, pipeline
from tests.small_sessions import session, write_chat

ALL = ["raw", "escalating", "compressor", "layered"]


def broken(name: str = "bad") -> Session:
    """A session that no replay survives: its only message is none."""
    return Session(name, "made-up", (None,))  # type: ignore[arg-type]


def test_rows_come_by_session_then_strategy_then_window(tmp_path: Path) -> None:
    sessions = [session(tmp_path, "a"), session(tmp_path, "b", turns=8)]
    found = bench(sessions, ["layered", "raw"], [4000, 2000], tokenizer="rough")
    assert list(found.columns) == [c.name for c in TABLES["runs"]]
    key = list(zip(found["session"], found["strategy"], found["window"], strict=True))
    assert key == [(s.id, name, window) for s in sessions for name in ("layered", "raw")
                   for window in (4000, 2000)]


def test_a_row_is_what_replaying_alone_gives(tmp_path: Path) -> None:
    one = session(tmp_path, turns=8)
    found = run([one], plan(ALL, [3000], tokenizer="rough", summariser="fallback"))
    for at, name in enumerate(ALL):
        alone = replay(one, name, window=3000, tokenizer="rough", summariser="fallback")
        assert tuple(found.runs.to_pylist()[at].values())[: len(RUNS)] == alone.run_row
        requests = [r for r in found.requests.to_pylist() if r["strategy"] == name]
        end = 7 + len(REQUESTS)
        assert [tuple(r.values())[7:end] for r in requests] == alone.request_rows
        compactions = [r for r in found.compactions.to_pylist() if r["strategy"] == name]
        end = 7 + len(COMPACTIONS)
        assert [tuple(r.values())[7:end] for r in compactions] == alone.compaction_rows


def test_one_and_two_workers_give_the_same_tables(tmp_path: Path) -> None:
    sessions = [session(tmp_path, f"s{n}", turns=2 + n, seed=n) for n in range(4)]
    planned = plan(ALL, [2000, 4000], tokenizer="rough", summariser="fallback")
    alone = run(sessions, planned)
    order: list[int] = []
    both = run(sessions, planned, workers=2, on_done=lambda at, _: order.append(at))
    for name, table in alone.items():
        assert table.equals(getattr(both, name))
    assert sorted(order) == [0, 1, 2, 3]


def test_one_and_two_workers_give_the_same_tables_of_recorded_sessions(corpus: Path) -> None:
    from compactlab.formats import load

    files = sorted((corpus / "charming-with-claude").glob("*.jsonl"))[:4]
    sessions = [s for file in files for s in load(file)]
    planned = plan(ALL, [64000], summariser="fallback")
    alone, both = run(sessions, planned), run(sessions, planned, workers=2)
    assert alone.runs.num_rows == 4 * len(sessions)
    for name, table in alone.items():
        assert table.equals(getattr(both, name))


def test_the_largest_sessions_go_first(tmp_path: Path) -> None:
    sessions = [session(tmp_path, f"s{n}", turns=n) for n in (1, 3, 2)]
    order: list[int] = []
    run(sessions, plan("raw", None, tokenizer="rough"), on_done=lambda at, _: order.append(at))
    assert order == [1, 2, 0]
    assert size(sessions[1]) > size(sessions[2]) > size(sessions[0])


@pytest.mark.parametrize("workers", [1, 2])
def test_a_bad_session_costs_its_own_rows(tmp_path: Path, workers: int) -> None:
    sessions = [session(tmp_path, "a"), broken(), session(tmp_path, "b")]
    planned = plan(["raw", "layered"], [4000], tokenizer="rough")
    found = run(sessions[:1] + sessions[2:], planned)
    with_bad = _frame(run_without_size(sessions, planned, workers))
    assert list(with_bad["status"]) == ["ok"] * 2 + ["error"] * 2 + ["ok"] * 2
    bad = with_bad[with_bad["session"] == "bad"]
    assert set(bad["reason"]) == {"AttributeError: 'NoneType' object has no attribute 'blocks'"}
    assert list(bad["strategy"]) == ["raw", "layered"]
    assert bad["requests"].isna().all()
    pd.testing.assert_frame_equal(
        with_bad[with_bad["session"] != "bad"].reset_index(drop=True), _frame(found))


def run_without_size(sessions: list[Session], planned: object, workers: int) -> Tables:
    """`run`, also for sessions whose size cannot be told."""
    from compactlab.bench import work

    whole = work.size
    work.size = lambda s: 0 if s.id == "bad" else whole(s)  # type: ignore[assignment]
    try:
        return run(sessions, planned, workers=workers)  # type: ignore[arg-type]
    finally:
        work.size = whole


def _frame(tables: Tables) -> pd.DataFrame:
    from compactlab.results import to_pandas

    return to_pandas(tables.runs)


def test_a_summariser_that_raises_costs_the_rows_of_the_strategies_that_ask_it(
        tmp_path: Path) -> None:
    def angry(request: SummaryRequest) -> str:
        raise ZeroDivisionError("no\nway")

    found = bench(session(tmp_path, turns=10), ["raw", "compressor"], 3000, summariser=angry,
                  tokenizer="rough")
    assert list(found["status"]) == ["ok", "error"]
    assert found["reason"][1] == "ZeroDivisionError: no way"
    assert set(found["summariser"]) == {"angry"}


def test_a_worker_that_is_ended_from_outside_costs_one_sentence(tmp_path: Path) -> None:
    def deadly(request: SummaryRequest) -> str:
        os._exit(1)

    sessions = [session(tmp_path, f"s{n}", turns=10) for n in range(2)]
    with pytest.raises(BadRun, match="fewer workers"):
        bench(sessions, "compressor", 3000, summariser=deadly, tokenizer="rough", workers=2)


def test_a_tokenizer_that_cannot_be_had_ends_the_bench(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from compactlab.bench import work

    def none(*_: object) -> None:
        raise NoVocabulary("no vocabulary")

    monkeypatch.setattr(work, "index", none)
    with pytest.raises(NoVocabulary):
        bench(session(tmp_path), "raw", 4000)


def test_a_session_without_a_request_has_a_row(tmp_path: Path) -> None:
    empty = Session("only a question", "made-up", (Message("user", (Text("hi"),)),))
    found = bench(empty, ALL, 1000, tokenizer="rough")
    assert list(found["requests"]) == [0] * 4
    assert list(found["status"]) == ["ok"] * 4
    assert len(bench([], ALL, 1000)) == 0


def test_settings_go_to_the_strategies_that_have_them_and_lists_are_alternatives(
        tmp_path: Path) -> None:
    found = bench(session(tmp_path), ["raw", "compressor", "layered"], [4000], tokenizer="rough",
                  hygiene_threshold=[0.8, 0.9], protect_last_n=4, keep_recent=(1, 2))
    named = list(zip(found["strategy"], found["settings"], strict=True))
    both = [json.dumps({"hygiene_threshold": t, "protect_last_n": 4}) for t in (0.8, 0.9)]
    assert named == [("raw", ""), ("compressor", both[0]), ("compressor", both[1]),
                     ("layered", '{"keep_recent": 1}'), ("layered", '{"keep_recent": 2}')]


def test_a_setting_can_be_given_to_one_strategy_alone() -> None:
    one = plan(["compressor", "layered"], 4000, **{"compressor.threshold": 0.6, "enabled": False})
    assert [v.settings for v in one.variants] == ['{"enabled": false, "threshold": 0.6}', ""]
    with pytest.raises(BadSetting, match=r"auto\.threshold.*\(for one strategy alone: layered\."):
        plan(["compressor", "layered"], 4000, threshold=0.6)
    with pytest.raises(BadSetting, match=r"has a setting 'raw\.threshold'"):
        plan(["compressor", "raw"], 4000, **{"raw.threshold": 0.6})
    both = {"layered.threshold": 9, "compressor.threshold": 1.0}
    piped = plan("compressor+layered", 4000, **both)
    assert [getattr(m, "threshold", None) for m in piped.variants[0].pipeline] == [1.0, None, 9]


def test_a_setting_that_no_strategy_has_is_named_with_the_choices() -> None:
    with pytest.raises(BadSetting, match=r"'treshold': choose one of .*threshold.*on_stop"):
        plan(["raw", "compressor"], [4000], treshold=0.5)
    with pytest.raises(BadSetting, match="no strategy named here has a setting 'threshold'"):
        plan(["raw"], [4000], threshold=0.5)


def test_typing_errors_are_found_before_anything_runs() -> None:
    with pytest.raises(UnknownName, match=r"choose one of .*compressor, .*layered, .*raw"):
        plan("compresor", 4000)
    with pytest.raises(UnknownName, match="unknown summariser"):
        plan("raw", 4000, summariser="gpt")
    with pytest.raises(UnknownName, match="unknown tokenizer"):
        plan("raw", 4000, tokenizer="o200k")
    with pytest.raises(UnknownName, match="on_stop"):
        plan("raw", 4000, on_stop="never")
    for window in (0, -1, True):
        with pytest.raises(BadSetting, match="window"):
            plan("raw", [4000, window])
    for none in ([], ()):
        with pytest.raises(BadSetting, match="no strategy"):
            plan(none, 4000)
        with pytest.raises(BadSetting, match="no window"):
            plan("raw", none)
    with pytest.raises(BadSetting, match="workers"):
        run([], plan("raw", 4000), workers=0)


@pytest.mark.parametrize(
    "options",
    [{"reserve_output": "x"}, {"reserve_output": -1}, {"reserve_output": [1, 2]},
     {"manual_at": ["a"]}, {"manual_at": -1}, {"summariser_window": 0}, {"reserve_output": True}],
)
def test_a_replays_own_arguments_are_checked(options: dict[str, object]) -> None:
    with pytest.raises(BadSetting, match=next(iter(options))):
        plan("raw", 4000, **options)


def test_a_replays_own_arguments_reach_it(tmp_path: Path) -> None:
    one = session(tmp_path, turns=6)
    free = bench(one, "raw", 2500, tokenizer="rough")
    tight = bench(one, "raw", 2500, tokenizer="rough", reserve_output=1000)
    ended = bench(one, "raw", 2500, tokenizer="rough", on_stop="end")
    assert tight["requests_unserved"][0] > free["requests_unserved"][0] > 0
    assert free["stops"][0] > ended["stops"][0] == 1
    asked = bench(one, "compressor", 8000, tokenizer="rough", manual_at=[2, 20], protect_last_n=4)
    assert (asked["compactions"][0], asked["noops"][0]) == (1, 1)


def test_a_plus_b_is_a_pipeline_of_two_presets_and_values_are_taken_as_they_are(
        tmp_path: Path) -> None:
    from compactlab.strategies.micro import Micro

    one = session(tmp_path, turns=6)
    value = pipeline(Micro(keep_recent=1), find("escalating"), name="mine")
    found = bench(one, ["layered+escalating", value, Micro()], 2500, tokenizer="rough")
    assert list(found["strategy"]) == ["layered+escalating", "mine", "micro"]
    assert list(found["settings"]) == ["", '{"keep_recent": 1}', ""]


def test_ids_that_come_again_are_told_apart(tmp_path: Path) -> None:
    same = session(tmp_path)
    assert [s.id for s in unique_ids([same, same, same])] == [
        same.id, f"{same.id}#2", f"{same.id}#3"]


def test_files_may_stand_for_their_sessions(tmp_path: Path) -> None:
    file = write_chat(tmp_path / "a.json")
    by_file = bench([file, str(file)], "raw", 4000, tokenizer="rough")
    assert len(by_file) == 2
    assert bench(file, "raw", 4000, tokenizer="rough").equals(by_file[:1])


def test_what_is_kept_is_not_worked_again(tmp_path: Path) -> None:
    sessions = [session(tmp_path, f"s{n}", turns=n + 1) for n in range(3)]
    planned = plan("layered", [3000], tokenizer="rough")
    parts: dict[int, Tables] = {}
    whole = run(sessions, planned, on_done=parts.__setitem__)
    worked: list[int] = []
    again = run(sessions, planned, kept={0: parts[0], 2: parts[2]},
                on_done=lambda at, _: worked.append(at))
    assert worked == [1]
    assert again.runs.equals(whole.runs)
    assert join(parts[n] for n in range(3)).requests.equals(whole.requests)


def test_the_description_of_a_plan_holds_every_setting_and_is_json() -> None:
    described = plan(ALL[:3], [1000, None], threshold=[0.5, 0.6], on_stop="end").described()
    assert json.loads(json.dumps(described)) == described
    compressors = [s for s in described["strategies"] if s["strategy"] == "compressor"]
    assert [c["members"][0]["settings"]["threshold"] for c in compressors] == [0.5, 0.6]
    assert set(compressors[0]["members"][0]["settings"]) == {
        s.name for s in PRESETS["compressor"].settings()}
    assert (described["windows"], described["options"]) == ([1000, None], {"on_stop": "end"})


def test_the_face_and_the_room_are_the_same_function() -> None:
    assert bench_face is bench
    assert set(TABLES) == {"runs", "requests", "compactions", "quality"}
