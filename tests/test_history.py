"""The running history: to its users a tuple of messages with sums, whatever is done to it."""

from __future__ import annotations

import gc
import tracemalloc
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, rule

from compactlab.cursor import Cursor
from compactlab.fold import Fold
from compactlab.history import History, Store
from compactlab.session import Message, Text, ToolCall, ToolResult
from compactlab.tokens import counter
from tests.generated import EVENT, messages_of, random_events
from tests.reference.desk import Desk, Item

O200K = counter("o200k_base")
ROLES: Fold[tuple[str, ...]] = Fold("roles", (), lambda seen, m, i: (*seen, f"{i}{m.role}"))
Pair = tuple[History, tuple[Message, ...]]


def lead_of(messages: tuple[Message, ...]) -> int:
    return next((i for i, m in enumerate(messages) if m.role != "system"), len(messages))


def check(history: History, messages: tuple[Message, ...]) -> None:
    """Every reading of the history against the same reading of the tuple."""
    desk = Desk()
    lead = lead_of(messages)
    assert history == messages and tuple(history) == messages and len(history) == len(messages)
    assert list(reversed(history)) == list(reversed(messages))
    assert history.lead == lead
    assert history.tokens == desk.sum([Item(m) for m in messages[lead:]])
    assert history.system_tokens == desk.sum([Item(m) for m in messages[:lead]])
    assert history.prompt_tokens == history.tokens + history.system_tokens
    assert history.rough_tokens == desk.rough([Item(m) for m in messages])
    assert history.fold(ROLES) == tuple(f"{i}{m.role}" for i, m in enumerate(messages))


class Histories(RuleBasedStateMachine):
    """Random append, extend, replace, prefix, since, slices: a history and a tuple side by side."""

    pairs: Any = Bundle("pairs")

    @initialize(target=pairs)
    def start(self) -> Pair:
        self.store = Store(O200K.texts)
        return self.store.empty(), ()

    @rule(target=pairs, pair=pairs, event=EVENT)
    def append(self, pair: Pair, event: Any) -> Pair:
        history, messages = pair
        for message in messages_of([event]):
            history, messages = history.append(message), (*messages, message)
        check(history, messages)
        return history, messages

    @rule(target=pairs, pair=pairs, events=st.lists(EVENT, max_size=5))
    def extend(self, pair: Pair, events: Any) -> Pair:
        more = messages_of(events)
        history, messages = pair[0].extend(more), (*pair[1], *more)
        check(history, messages)
        return history, messages

    @rule(target=pairs, pair=pairs, events=st.lists(EVENT, max_size=5), data=st.data())
    def replace(self, pair: Pair, events: Any, data: st.DataObject) -> Pair:
        keep = data.draw(st.integers(0, len(pair[1])))
        more = messages_of(events)
        history, messages = pair[0].replace(keep, more), (*pair[1][:keep], *more)
        check(history, messages)
        return history, messages

    @rule(target=pairs, pair=pairs, data=st.data())
    def prefix(self, pair: Pair, data: st.DataObject) -> Pair:
        length = data.draw(st.integers(0, len(pair[1])))
        assert pair[0].since(length) == pair[1][length:]
        return pair[0].prefix(length), pair[1][:length]

    @rule(pair=pairs, data=st.data())
    def read(self, pair: Pair, data: st.DataObject) -> None:
        history, messages = pair
        size = len(messages)
        start, stop = (data.draw(st.integers(-size - 1, size + 1)) for _ in range(2))
        assert history[start:stop] == messages[start:stop]
        if size:
            at = data.draw(st.integers(-size, size - 1))
            fresh = history.prefix(size)  # has not been listed yet
            assert fresh[at] == messages[at] == history[at]
            assert messages[at] in history and history.index(messages[at]) == messages.index(
                messages[at])

    @rule(first=pairs, second=pairs)
    def compare(self, first: Pair, second: Pair) -> None:
        assert (first[0] == second[0]) is (first[1] == second[1])
        if first[1] == second[1]:  # the same messages are the same place of the store
            assert first[0].node == second[0].node


Histories.TestCase.settings = settings(
    max_examples=60, stateful_step_count=25, deadline=None, derandomize=True)
test_a_history_is_a_tuple_with_sums = Histories.TestCase


def test_sums_equal_recomputation_over_long_made_up_histories() -> None:
    for seed in range(40):
        messages = messages_of(random_events(seed, 80))
        store = Store(O200K.texts)
        check(store.history(messages), messages)
        slowly = Store(O200K.texts).empty()
        for message in messages:
            slowly = slowly.append(message)
        check(slowly, messages)


def test_a_cursor_moves_on_as_a_history_does() -> None:
    messages = messages_of(random_events(5, 80))
    store = Store(O200K.texts)
    cursor = Cursor(store)
    history = store.empty()
    for message in messages:
        cursor.append(store.number(message))
        history = history.append(message)
        assert cursor.history == history
        assert cursor.prompt_tokens == history.prompt_tokens
    cursor.history = history.prefix(3)
    assert cursor.history == messages[:3]


def test_an_index_out_of_range_is_an_index_error() -> None:
    history = Store(O200K.texts).history(messages_of([("user", 1, 1), ("assistant", 1, 1)]))
    for at in (2, -3):
        with pytest.raises(IndexError):
            history[at]


def test_a_history_equals_sequences_of_the_same_messages_and_nothing_else() -> None:
    messages = messages_of([("user", 1, 1), ("call", 1, 1)])
    history = Store(O200K.texts).history(messages)
    assert history == messages and history == list(messages)
    assert history == Store(O200K.texts).history(messages)
    assert history != messages[:2] and history != "text" and history != 3


def test_a_history_is_no_key_since_it_equals_tuples() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(Store(O200K.texts).empty())


def test_equal_messages_are_one_and_counted_once() -> None:
    asked: list[str] = []

    def texts(found: Any) -> list[int]:
        asked.extend(found)
        return [len(text) for text in found]

    store = Store(texts)
    one, other = (Message("user", (Text("same words"),), id="m") for _ in range(2))
    history = store.history([one]).append(other).append(one)
    assert asked == ["same words"] and history[0] is history[1]
    assert store.number(one) == store.number(other)
    assert history.tokens == 3 * (4 + len("same words"))


def test_a_text_that_equals_a_summary_is_another_message() -> None:
    from compactlab.session import Summary

    store = Store(O200K.texts)
    text, summary = Message("user", (Text("x"),)), Message("user", (Summary("x"),))
    assert store.number(text) != store.number(summary)


def test_once_computes_once_for_a_key_in_a_messages_life() -> None:
    store = Store(O200K.texts)
    one, other = Message("user", (Text("a"),)), Message("user", (Text("b"),))
    history = store.history([one, other])
    calls: list[Message] = []

    def compute(message: Message) -> int:
        calls.append(message)
        return len(calls)

    assert [history.once(one, "key", compute) for _ in range(3)] == [1, 1, 1]
    assert history.once(Message("user", (Text("a"),)), "key", compute) == 1  # equal to `one`
    assert history.append(other).once(one, "key", compute) == 1
    assert (history.once(one, "other key", compute), history.once(other, "key", compute)) == (2, 3)
    assert calls == [one, one, other]


def test_once_keeps_a_computed_none() -> None:
    store, calls = Store(O200K.texts), []
    message = Message("user", (Text("a"),))
    for _ in range(2):
        assert store.once(message, "none", calls.append) is None
    assert calls == [message]


def test_remember_computes_once_for_a_key_at_a_history_however_it_was_reached() -> None:
    store = Store(O200K.texts)
    messages = messages_of([("user", 1, 1), ("assistant", 2, 1)])
    asked: list[int] = []

    def compute() -> int:
        asked.append(1)
        return len(asked)

    assert store.history(messages).remember("key", compute) == 1
    again = store.empty().append(messages[0]).append(messages[1])
    assert again.remember("key", compute) == 1
    assert again.prefix(1).remember("key", compute) == 2
    assert again.remember("other", compute) == 3


def test_a_fold_visits_each_message_once_for_all_histories_of_the_store() -> None:
    visited: list[int] = []

    def step(state: int, message: Message, index: int) -> int:
        visited.append(index)
        return state + 1

    fold = Fold("visits", 0, step)
    store = Store(O200K.texts)
    history = store.history(messages_of([("user", 1, 1), ("call", 1, 1), ("user", 2, 1)]))
    for _ in range(3):
        assert history.fold(fold) == 4
    longer = history.append(Message("user", (Text("more"),)))
    assert longer.fold(fold) == 5 and history.prefix(2).fold(fold) == 2
    branch = history.replace(2, [Message("user", (Text("other"),))])
    assert branch.fold(fold) == 3
    assert visited == [0, 1, 2, 3, 4, 2]


def test_histories_share_their_memory() -> None:
    store = Store(O200K.texts)
    long = [Message("user", (Text(f"number {i}"),), id=str(i)) for i in range(3000)]
    history = store.history(long)
    gc.collect()
    tracemalloc.start()
    kept = [history.replace(2990, [Message("user", (Text("x"),), id=f"x{i}")]) for i in range(200)]
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(kept) == 200 and used < 200 * 3000  # a tuple of 3,000 alone takes 24 KB


def test_the_leading_system_messages_are_those_before_any_other() -> None:
    events = [("system", 1, 1), ("empty_system", 0, 1), ("user", 1, 1), ("system", 3, 1)]
    history = Store(O200K.texts).history(messages_of(events))
    assert history.lead == 2 and [history.prefix(i).lead for i in range(5)] == [0, 1, 2, 2, 2]
    assert history.tokens == sum(map(history.store.tokens, history[2:]))


def test_rough_tokens_divide_once_over_all_messages() -> None:
    three = [Message("user", (Text("abc"),), id=str(i)) for i in range(4)]
    assert Store(O200K.texts).history(three).rough_tokens == 3  # 12 // 4, not 4 * 0


def test_a_call_and_its_result_weigh_name_arguments_and_text() -> None:
    def words(texts: Any) -> list[int]:
        return [len(text.split()) for text in texts]

    store = Store(words)
    call = Message("assistant", (ToolCall("an id that is free", "bash", '{"a": "b c"}'),))
    result = Message("tool", (ToolResult("an id", (Text("one two"), Text("three"))),))
    assert store.tokens(call) == 4 + 1 + 3 and store.tokens(result) == 4 + 3
