"""Strategies of one's own that break the contract: one sentence that names them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from compactlab.bench import bench
from compactlab.errors import BadStrategy
from compactlab.history import History, Store
from compactlab.replay import compact, replay
from compactlab.session import Session
from compactlab.strategies.presets import find
from compactlab.strategy import Compaction, Pipeline, Situation, pipeline
from tests.small_sessions import session


class Mine:
    """Keeps the first message; `spoil` makes nonsense of the compaction."""

    name = "mine"
    triggers = frozenset({"request", "manual"})

    def __init__(self, spoil: Callable[[Compaction], Any] = lambda made: made) -> None:
        self.spoil = spoil

    def __call__(self, history: History, situation: Situation) -> Compaction | None:
        after = history.replace(1, [])
        return self.spoil(Compaction("mine", after, 1, history.tokens, after.tokens, True))  # type: ignore[no-any-return]


def changed(**fields: Any) -> Callable[[Compaction], Any]:
    return lambda made: msgspec.structs.replace(made, **fields)


def elsewhere(made: Compaction) -> Compaction:
    store = Store(lambda texts: [len(text) for text in texts])
    return msgspec.structs.replace(made, history=store.history(tuple(made.history)))


@pytest.fixture
def small(tmp_path: Path) -> Session:
    return session(tmp_path, turns=2)


NONSENSE: dict[str, tuple[Callable[[Compaction], Any], str]] = {
    "a text": (lambda made: "shorter", "it answered str, and needs to answer a Compaction or None"),
    "a history": (lambda made: made.history, "it answered History, and needs to"),
    "False": (lambda made: False, "it answered bool"),
    "a list of messages": (changed(history=[]), r"history = \[\], and needs History"),
    "another store": (elsewhere, r"was not made of the history .* history\.replace\(keep_n, tail"),
    "keep_n below 0": (changed(keep_n=-1), "keep_n = -1, and needs the number of messages kept"),
    "keep_n above": (changed(keep_n=2), "keep_n = 2, .* at the start: 0 to 1"),
    "keep_n None": (changed(keep_n=None), "keep_n = None, and needs int"),
    "no size": (changed(before=None), "before = None, and needs int"),
    "a level in words": (changed(level="high"), "level = 'high', and needs int or None"),
    "a summary that is none": (changed(summary=5), "summary = 5, and needs str or None"),
    "no name": (changed(strategy=None), "strategy = None, and needs str"),
}


@pytest.mark.parametrize(("spoil", "said"), NONSENSE.values(), ids=NONSENSE)
def test_an_answer_that_is_no_compaction_is_named_with_its_strategy(
        small: Session, spoil: Callable[[Compaction], Any], said: str) -> None:
    said = f"^strategy 'mine': .*{said}"
    with pytest.raises(BadStrategy, match=said):
        replay(small, Mine(spoil), window=None, tokenizer="rough")
    with pytest.raises(BadStrategy, match=said):
        compact(small, Mine(spoil), tokenizer="rough")
    rows = bench(small, ["raw", Mine(spoil)], 8000, tokenizer="rough")
    assert list(rows["status"]) == ["ok", "error"]
    assert rows["reason"][1].startswith("strategy 'mine': ")


def test_an_answer_as_it_should_be_is_taken(small: Session) -> None:
    assert replay(small, Mine(), window=None, tokenizer="rough").made
    assert compact(small, Mine(), tokenizer="rough")[0].changed


def without(name: str) -> Any:
    body = {"name": "mine", "triggers": frozenset({"turn"}), "__call__": lambda *_: None}
    return type("Other", (), {key: value for key, value in body.items() if key != name})()


def having(**body: Any) -> Any:
    found = without("")
    for name, value in body.items():
        setattr(found, name, value)
    return found


@pytest.mark.parametrize(("strategy", "said"), [
    (without("name"), "Other is no strategy: its `name` is None"),
    (having(name=""), "its `name` is ''"),
    (without("triggers"), "strategy 'mine': its `triggers` are None, and need to be a frozenset of "
                          "some of turn, request, overflow, tool, manual"),
    (having(triggers="turn"), "its `triggers` are 'turn'"),
    (having(triggers={"turns"}), "its `triggers` are {'turns'}"),
    (Mine, "Mine is a class: give a strategy that is made of it, Mine()"),
])
def test_what_cannot_be_asked_is_no_strategy(small: Session, strategy: Any, said: str) -> None:
    for ask in (find, pipeline, lambda s: find(Pipeline((s,), "all")),
                lambda s: bench(small, s, 8000, tokenizer="rough"),
                lambda s: compact(small, s, tokenizer="rough")):
        with pytest.raises(BadStrategy) as caught:
            ask(strategy)
        assert said in str(caught.value)


def test_a_member_of_a_pipeline_that_cannot_be_called_is_named() -> None:
    with pytest.raises(BadStrategy, match=r"'mine': Other cannot be called; it needs __call__\("):
        pipeline(without("__call__"))
