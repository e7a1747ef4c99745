"""Token counters: tiktoken's encodings and characters // 4, each text counted once in its life."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Protocol

from compactlab import token_store, vocabulary
from compactlab.counting import CHARS_PER_TOKEN
from compactlab.token_store import TokenStore

AUTO = "auto"
DEFAULT_ENCODING = "o200k_base"
ROUGH = "rough"
FAST_VARIABLE = "COMPACTLAB_FAST"

PIECE_CHARACTERS = 200_000
"""Longest text handed to tiktoken at once: about a million spaces make it panic."""
MEMORY_CHARACTERS = 400_000_000
"""Characters of the texts whose counts are held in memory; beyond it the memory starts anew."""

HARD_TEXTS = (
    "hello world",
    "<|endoftext|><|fim_prefix|> as plain text",
    "Größe, naïve, cafe\u0301, ЁЖИК, 日本語の文章、한국어, עברית",
    "\U0001f469\u200d\U0001f4bb \U0001f1eb\U0001f1f7 \x00\x07\ufeff\u2028\u00a0",
    "   \t\t\n\r\n\n  def f(x):\n        return x**2  # 0x1F 1234567 3.14e-10\n",
    "HTTPServerError's CamelCaseWORDS can't WE'LL they'Re snake_case__name",
    "=" * 300 + " " * 300 + "a" * 300 + "\n" * 50,
)
"""What a faster tokenizer must count exactly like tiktoken before it is used."""

log = logging.getLogger(__name__)
CountPiece = Callable[[str], int]


class Counter(Protocol):
    """Counts the tokens of texts; `name` is what the column `tokenizer` says."""

    @property
    def name(self) -> str:
        """An encoding's name, or "rough"."""

    def text(self, text: str) -> int:
        """Tokens of one text."""

    def texts(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, looked up together."""


def counter(name: str = AUTO, *, fast: bool | None = None) -> Counter:
    """The counter `name`: "auto" (o200k_base), any tiktoken encoding, or "rough" (characters // 4).

    The same counter comes back for the same name, with all that it has counted. `fast` (default:
    COMPACTLAB_FAST=1) uses the optional tokenizer of the extra `fast`, after a check that it counts
    like tiktoken. Raises UnknownName, and NoVocabulary for an encoding that needs a network.
    """
    if name == ROUGH:
        return RoughCounter()
    encoding = DEFAULT_ENCODING if name == AUTO else name
    vocabulary.check_name(encoding, also=(AUTO, ROUGH))
    if fast is None:
        fast = os.environ.get(FAST_VARIABLE) == "1"
    return _shared(encoding, fast, token_store.store_path())


class RoughCounter:
    """The estimate that needs no vocabulary: characters // 4 of each text by itself."""

    name = ROUGH

    def text(self, text: str) -> int:
        """Characters // 4."""
        return len(text) // CHARS_PER_TOKEN

    def texts(self, texts: Sequence[str]) -> list[int]:
        """Characters // 4 of each text."""
        return [len(text) // CHARS_PER_TOKEN for text in texts]


class EncodingCounter:
    """Counts by a tiktoken encoding (ordinary: the text of a special token is plain text).

    Looks in memory, then in the table on disk, and only then counts; the vocabulary is not even
    loaded before something has to be counted.
    """

    def __init__(self, name: str, *, fast: bool = False, store: TokenStore | None = None) -> None:
        self.name = name
        self._fast = fast
        self._store = store
        self._memory: dict[str, int] = {"": 0}
        self._held = 0
        self._count_piece: CountPiece | None = None
        if name not in vocabulary.OFFLINE:
            self._load()  # so that a missing network is known when the counter is chosen

    def text(self, text: str) -> int:
        """Tokens of one text."""
        known = self._memory.get(text)
        if known is not None:
            return known
        return self._learn([text], self._memory, flush=False)[text]

    def texts(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text; what is new is looked up on disk and written there in one go."""
        memory = self._memory
        missing = [text for text in dict.fromkeys(texts) if text not in memory]
        if missing:
            memory = self._learn(missing, memory, flush=True)
        return [memory[text] for text in texts]

    def __reduce__(self) -> tuple[Callable[..., Counter], tuple[str, bool]]:
        """A worker process takes its own shared counter of the same name."""
        return _counter_again, (self.name, self._fast)

    def _learn(self, missing: list[str], memory: dict[str, int], flush: bool) -> dict[str, int]:
        """Add the counts of distinct new texts to the memory, and return it."""
        # Short texts too, though they are counted as fast as they are looked up: a run that finds
        # all its counts need not load the vocabulary, which takes 0.6 s.
        stored = {text: token_store.digest(text) for text in missing} if self._store else {}
        found = self._store.find(list(stored.values())) if self._store and stored else {}
        new: list[tuple[bytes, int]] = []
        for text in missing:
            key = stored.get(text)
            tokens = found.get(key) if key is not None else None
            if tokens is None:
                tokens = self._count(text)
                if key is not None:
                    new.append((key, tokens))
            memory[text] = tokens
        if self._store and new:
            self._store.add(new, flush)
        self._hold(sum(map(len, missing)))
        return memory

    def _hold(self, characters: int) -> None:
        self._held += characters
        if self._held > MEMORY_CHARACTERS:
            self._memory = {"": 0}  # a new one, since another thread may be reading the old
            self._held = 0

    def _count(self, text: str) -> int:
        count = self._count_piece or self._load()
        if len(text) <= PIECE_CHARACTERS:
            return count(text)
        starts = range(0, len(text), PIECE_CHARACTERS)
        return sum(count(text[start : start + PIECE_CHARACTERS]) for start in starts)

    def _load(self) -> CountPiece:
        encode = vocabulary.load(self.name).encode_ordinary

        def count(piece: str) -> int:
            return len(encode(piece))

        faster = _faster(self.name, count) if self._fast else None
        self._count_piece = faster or count
        return self._count_piece


@cache
def _shared(encoding: str, fast: bool, path: Path | None) -> EncodingCounter:
    store = TokenStore(path, encoding) if path else None
    return EncodingCounter(encoding, fast=fast, store=store)


def _counter_again(name: str, fast: bool) -> Counter:
    return counter(name, fast=fast)


def _faster(name: str, count: CountPiece) -> CountPiece | None:
    """The optional tokenizer's count of a piece; None where it is missing or counts differently."""
    try:
        import quicktok
    except ImportError:
        log.warning("the extra `fast` is not installed: counting with tiktoken")
        return None
    if name not in vocabulary.OFFLINE:
        return None
    quick = quicktok.get_encoding(name).count

    def faster(piece: str) -> int:
        try:
            return int(quick(piece))
        except TypeError:  # lone surrogates: only tiktoken takes them
            return count(piece)

    if any(faster(text) != count(text) for text in HARD_TEXTS):
        log.warning("the extra `fast` counts differently from tiktoken: counting with tiktoken")
        return None
    return faster
