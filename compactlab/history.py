"""The running history: parent-linked nodes with running sums; only this and cursor.py know how.

Every history of one session, whatever the strategy, is a node of one hash-consed trie (a `Store`):
append is one look-up, the token total one read, the common prefix shared. Outside this file a
`History` is a read-only sequence of messages.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, TypeVar, overload

from compactlab.counting import CHARS_PER_TOKEN, Weight, weight
from compactlab.fold import Fold, State
from compactlab.session import Message

T = TypeVar("T")
ROOT = 0
SHIFT = 32


class Store:
    """All messages and histories of one session under one counter.

    `texts` counts many texts at once (`Counter.texts`); `weigh`, if given, replaces the count of
    a whole message and may return None for the ordinary rule.
    """

    def __init__(
        self,
        texts: Callable[[Sequence[str]], list[int]],
        weigh: Callable[[Message], int | None] | None = None,
    ) -> None:
        self._texts = texts
        self._weigh = weigh
        self._messages: list[Message] = []
        self._tokens: list[int] = []
        self._rough: list[tuple[int, int]] = []
        self._by_identity: dict[int, int] = {}
        self._by_value: dict[Message, int] = {}
        self._memo: dict[tuple[int, Hashable], Any] = {}
        self._sums: dict[tuple[str, ...], int] = {}
        self._known: dict[tuple[int, Hashable], Any] = {}
        self._folds: dict[Fold[Any], dict[int, Any]] = {}
        self._children: dict[int, int] = {}
        # node columns: parent, message, length, leading system messages, running sums
        self._parent = [ROOT]
        self._message = [-1]
        self._length = [0]
        self._lead = [0]
        self._system = [0]
        self._total = [0]
        self._chars = [0]
        self._images = [0]

    def empty(self) -> History:
        """The history without a message."""
        return History(self, ROOT)

    def history(self, messages: Sequence[Message]) -> History:
        """A history of these messages; all their texts are counted in one batch."""
        self.intern(messages)
        return self.empty().extend(messages)

    def intern(self, messages: Sequence[Message]) -> None:
        """Make the messages known; texts not counted yet are counted in one batch."""
        fresh = [m for m in messages if id(m) not in self._by_identity]
        weights = [weight(m) for m in fresh]
        counts = self._texts([text for found in weights for text in found.texts])
        start = 0
        for message, found in zip(fresh, weights, strict=True):
            end = start + len(found.texts)
            self._add(message, found, sum(counts[start:end]))
            start = end

    def _add(self, message: Message, found: Weight, text_tokens: int) -> int:
        known = self._by_value.setdefault(message, len(self._messages))
        if known == len(self._messages):
            weighed = self._weigh(message) if self._weigh else None
            self._messages.append(message)
            self._tokens.append(found.beside + text_tokens if weighed is None else weighed)
            self._rough.append((found.chars, found.images))
        elif message is not self._messages[known]:
            self._memo[known, id(message)] = message  # keeps it alive, so that its id stays its own
        self._by_identity[id(message)] = known
        return known

    def number(self, message: Message) -> int:
        """The number under which the store knows a message and all that equal it."""
        known = self._by_identity.get(id(message))
        if known is None:
            known = self._by_value.get(message)
            if known is None:
                found = weight(message)
                known = self._add(message, found, sum(self._texts(found.texts)))
        return known

    def tokens(self, message: Message) -> int:
        """Tokens of one message, counted once in its life."""
        return self._tokens[self.number(message)]

    def count(self, text: str) -> int:
        """Tokens of one text, by the same counter."""
        return self._texts((text,))[0]

    def count_all(self, texts: tuple[str, ...]) -> int:
        """Tokens of several texts together; one sum for the same texts."""
        found = self._sums.get(texts)
        if found is None:
            found = self._sums[texts] = sum(self._texts(texts))
        return found

    def once(self, message: Message, key: Hashable, compute: Callable[[Message], T]) -> T:
        """`compute(message)`, computed once for this key in the message's life."""
        at = (self.number(message), key)
        found = self._memo.get(at, self)
        if found is self:
            found = self._memo[at] = compute(message)
        return found  # type: ignore[no-any-return]  # one memo holds every type

    def remember(self, key: Hashable, compute: Callable[[], T], node: int = ROOT) -> T:
        """`compute()`, computed once for this key; see `History.remember` for one history alone."""
        at, known = (node, key), self._known
        found = known.get(at, known)
        if found is known:
            found = known[at] = compute()
        return found  # type: ignore[no-any-return]  # one memo holds every type

    def _child(self, node: int, message: int) -> int:
        key = (node << SHIFT) | message
        child = self._children.get(key)
        if child is None:
            child = self._children[key] = len(self._parent)
            tokens = self._tokens[message]
            chars, images = self._rough[message]
            leads = (self._lead[node] == self._length[node]
                     and self._messages[message].role == "system")
            self._parent.append(node)
            self._message.append(message)
            self._length.append(self._length[node] + 1)
            self._lead.append(self._lead[node] + leads)
            self._system.append(self._system[node] + (tokens if leads else 0))
            self._total.append(self._total[node] + tokens)
            self._chars.append(self._chars[node] + chars)
            self._images.append(self._images[node] + images)
        return child


class History(Sequence[Message]):
    """A read-only sequence of messages with running sums; `append` and `replace` give a new one."""

    __slots__ = ("_list", "node", "store")

    def __init__(self, store: Store, node: int) -> None:
        self.store = store
        self.node = node
        self._list: tuple[Message, ...] | None = None

    # -- sums, each one read -------------------------------------------------------------------
    @property
    def tokens(self) -> int:
        """Tokens of the messages, without the leading system prompt."""
        node = self.node
        return self.store._total[node] - self.store._system[node]

    @property
    def system_tokens(self) -> int:
        """Tokens of the leading system prompt."""
        return self.store._system[self.node]

    @property
    def prompt_tokens(self) -> int:
        """Tokens of system prompt and messages; hidden head and tools are not in it."""
        return self.store._total[self.node]

    @property
    def lead(self) -> int:
        """How many system messages it begins with."""
        return self.store._lead[self.node]

    @property
    def rough_tokens(self) -> int:
        """Estimate: characters // 4, divided once over all messages, and images by their size."""
        node = self.node
        return self.store._chars[node] // CHARS_PER_TOKEN + self.store._images[node]

    # -- sequence ------------------------------------------------------------------------------
    def __len__(self) -> int:
        return self.store._length[self.node]

    def _all(self) -> tuple[Message, ...]:
        if self._list is None:
            self._list = tuple(self.store._messages[m] for m in self._ids(0))
        return self._list

    def _ids(self, start: int) -> list[int]:
        """Message numbers from index `start` on: a walk as long as what it returns."""
        parent, message, node = self.store._parent, self.store._message, self.node
        found = []
        for _ in range(len(self) - start):
            found.append(message[node])
            node = parent[node]
        found.reverse()
        return found

    def _at(self, length: int) -> int:
        """The node of the prefix with so many messages; walks back from the end."""
        parent, node = self.store._parent, self.node
        for _ in range(len(self) - length):
            node = parent[node]
        return node

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Message, ...]: ...
    def __getitem__(self, index: int | slice) -> Message | tuple[Message, ...]:
        if isinstance(index, slice) or self._list is not None:
            return self._all()[index]
        size = len(self)
        place = index + size if index < 0 else index
        if not 0 <= place < size:
            raise IndexError(index)
        return self.store._messages[self.store._message[self._at(place + 1)]]

    def __iter__(self) -> Iterator[Message]:
        return iter(self._all())

    def __eq__(self, other: object) -> bool:
        if isinstance(other, History) and other.store is self.store:
            return other.node == self.node
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]  # equal to tuples, so not a key: use `node`

    def __repr__(self) -> str:
        return f"<History: {len(self)} messages, {self.prompt_tokens} tokens>"

    # -- new histories ---------------------------------------------------------------------------
    def append(self, message: Message) -> History:
        """This history and one message more."""
        store, node = self.store, self.node
        known = store._by_identity.get(id(message))
        if known is None:
            known = store.number(message)
        child = store._children.get((node << SHIFT) | known)  # the look-up of a warm replay
        return History(store, store._child(node, known) if child is None else child)

    def extend(self, messages: Iterable[Message]) -> History:
        """This history and these messages behind it."""
        store, node = self.store, self.node
        for message in messages:
            node = store._child(node, store.number(message))
        return History(store, node)

    def prefix(self, length: int) -> History:
        """The first `length` messages."""
        return History(self.store, self._at(length))

    def replace(self, keep_n: int, tail: Iterable[Message]) -> History:
        """The first `keep_n` messages as they are, then `tail`."""
        return self.prefix(keep_n).extend(tail)

    def since(self, length: int) -> tuple[Message, ...]:
        """The messages behind the first `length`; costs no more than what it returns."""
        return tuple(self.store._messages[m] for m in self._ids(length))

    # -- values kept for all histories of the store ---------------------------------------------
    def fold(self, fold: Fold[State]) -> State:
        """The running value at this history: only messages never folded before are visited."""
        store = self.store
        states: dict[int, State] | None = store._folds.get(fold)
        if states is None:
            states = store._folds[fold] = {ROOT: fold.start}
        node, way = self.node, []
        if node in states:  # as in every replay but the first one
            return states[node]
        while node not in states:
            way.append(node)
            node = store._parent[node]
        state = states[node]
        for node in reversed(way):
            message = store._messages[store._message[node]]
            states[node] = state = fold.step(state, message, store._length[node] - 1)
        return state

    def remember(self, key: Hashable, compute: Callable[[], T]) -> T:
        """`compute()`, computed once for this key at this history: for pure plans and results.

        Replays that come to the same history share the answer.
        """
        return self.store.remember(key, compute, self.node)

    def once(self, message: Message, key: Hashable, compute: Callable[[Message], T]) -> T:
        """See `Store.once`."""
        return self.store.once(message, key, compute)
