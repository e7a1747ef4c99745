"""Anchors of a message: the names and values that are lost for good when nobody copies them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import NamedTuple

from compactlab.history import Store
from compactlab.quality._vocabulary import CJK_ERROR, ERROR_ENDS, ERROR_WORDS, PROGRAMS
from compactlab.quality.words import (
    CLASSES,
    LINE_END,
    NUMBER,
    WORD,
    AnchorClass,
    measure,
    read_word,
    unit_of,
)
from compactlab.session import Message, Summary, Text, ToolCall, ToolResult

ERROR_LENGTH = 7  # words of an error line, its first with them: enough to know it by
COMMAND_LENGTH = 3  # words of a command: the program and what it is told to do
CJK_ERROR_CHARS = 16
COMMAND_KEYS = ("command", "cmd", "script")
NEEDS_FLAG = ("python", "python3", "node", "uv")  # `python -m pytest` is one command
ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
GUTTER = re.compile(r"^ *\d+→", re.MULTILINE)  # line numbers of a tool that reads files
COMMAND_ENDS = re.compile(r"[;&|\n]+")
_KEY = "anchors"


class Found(NamedTuple):
    """What one message holds, as sets of integers (bit i of a number = the lexicon's anchor i).

    `named`: its anchors, each as long as it stands there. `shown`: every token in it that
    could be an anchor, also those within a longer one: what survives in it.
    """

    named: int
    shown: int


class Entry(NamedTuple):
    """One distinct word, read once: keys that it shows, anchors that it names, what it means."""

    shown: tuple[int, ...]
    named: tuple[int, ...]
    content: tuple[int, ...]


class Lexicon:
    """Every distinct word of one store's texts and every anchor as a small whole number.

    Numbers are given in the order in which words are met; no figure may depend on them.
    """

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}
        self.openers: dict[str, str] = {}  # words with which a key of several words may begin
        self.numbers: dict[str, int] = {}
        self.keys: list[str] = []
        self.kinds: dict[int, AnchorClass] = {}
        self.of_class: dict[AnchorClass, int] = dict.fromkeys(CLASSES, 0)
        self.units: dict[str, str] = {}  # what stood behind a number -> the unit that it is
        self._read_phrases: dict[tuple[str, ...], list[tuple[int, bool]]] = {}
        self._writers: dict[int, dict[str, None]] = {}
        self._sorted = 0  # how many entries are in it

    def number(self, key: str) -> int:
        """The number of a case-folded key."""
        found = self.numbers.get(key)
        if found is None:
            found = self.numbers[key] = len(self.keys)
            self.keys.append(key)
        return found

    def name(self, kind: AnchorClass, key: str) -> int:
        """The number of an anchor; the first class that a key was named in is its class."""
        number = self.number(key)
        if number not in self.kinds:
            self.kinds[number] = kind
            self.of_class[kind] |= 1 << number
        return number

    def entry(self, word: str) -> Entry:
        """A word's reading; made once."""
        found = self.entries.get(word)
        if found is None:
            keys, names, means = read_word(word)
            number = self.number
            shown = tuple([number(key) for key in keys])
            named = tuple([self.name(kind, key) for kind, key in names]) if names else ()
            if not word.isascii() and (error := CJK_ERROR.search(word)):
                named += (self.name("error", error[0][:CJK_ERROR_CHARS].casefold()),)
                shown += named[-1:]
            content = shown[:1] if means == keys[:1] else tuple([number(key) for key in means])
            opens = _opens(word)
            if opens:
                self.openers[word] = opens
            found = self.entries[word] = Entry(shown, named, content)
        return found

    def writers(self, number: int) -> dict[str, None]:
        """The words that show a key, or with which a key of several words begins."""
        for word in islice(self.entries, self._sorted, None):
            for key in self.entries[word].shown:
                self._writers.setdefault(key, {})[word] = None
        self._sorted = len(self.entries)
        return self._writers.get(number, {})

    def phrases(self, words: Sequence[str], at: int) -> list[tuple[int, bool]]:
        """Keys of several words that begin at a place, and whether the text names them."""
        word = words[at]
        opens = self.openers[word]
        if opens == "number":
            unit = self._unit(words[at + 1]) if at + 1 < len(words) else ""
            return [(self._phrase("number", measure(word, unit), word), True)] if unit else []
        ahead = tuple(words[at : at + (ERROR_LENGTH if opens == "error" else COMMAND_LENGTH)])
        found = self._read_phrases.get(ahead)
        if found is None:
            found = self._read_phrases[ahead] = self._phrases(opens, word, ahead)
        return found

    def _phrases(self, opens: str, word: str, ahead: Sequence[str]) -> list[tuple[int, bool]]:
        line = list[str]()
        for following in ahead:
            if following == LINE_END:
                break
            line.append(following.strip(".,:;").casefold())
        tells = opens == "error" and word.endswith(":") and len(line) > 2
        tells = tells and all(any(map(str.isalnum, part)) for part in line)  # else it is code
        return [
            (self._phrase("error", " ".join(line[:length]), word, tells and length == len(line)),
             tells and length == len(line))
            for length in range(2, len(line) + 1)
        ]

    def _unit(self, word: str) -> str:
        unit = self.units.get(word)
        if unit is None:
            unit = self.units[word] = unit_of(word)
        return unit

    def _phrase(self, kind: AnchorClass, key: str, word: str, named: bool = True) -> int:
        number = self.name(kind, key) if named else self.number(key)
        self._writers.setdefault(number, {})[word] = None
        return number

    def bits(self, anchors: int) -> list[int]:
        """The numbers in a set, in the order of their keys."""
        found = []
        while anchors:
            lowest = anchors & -anchors
            found.append(lowest.bit_length() - 1)
            anchors ^= lowest
        return sorted(found, key=self.keys.__getitem__)


def _opens(word: str) -> str:
    bare = word.strip(".,:;").casefold()
    if bare in PROGRAMS:
        return "command"
    if bare.endswith(ERROR_ENDS) or bare in ERROR_WORDS:
        return "error" if bare.replace(".", "").replace("_", "").isalpha() else ""
    return "number" if bare[-1:].isdigit() and NUMBER.fullmatch(bare) else ""


def lexicon(store: Store) -> Lexicon:
    """The one lexicon of a store."""
    return store.remember(_KEY, Lexicon)


def texts(message: Message) -> Iterator[str]:
    """What a message says: texts, summaries, tool results, the values of a call's arguments.

    Not its thinking, which providers drop, nor the names of tools and of their arguments, which
    stand in every prompt.
    """
    for block in message.blocks:
        if isinstance(block, Text | Summary | ToolResult):
            yield _plain(block.text)
        elif isinstance(block, ToolCall):
            yield from map(_plain, leaves(block.parsed()))


def _plain(text: str) -> str:
    if "\x1b" in text:
        text = ANSI.sub("", text)
    return GUTTER.sub("", text) if "→" in text else text


def leaves(value: object) -> Iterator[str]:
    """The values within JSON as texts, in their order; walks no deeper than it must."""
    waiting = [value]
    while waiting:
        found = waiting.pop()
        if isinstance(found, str):
            yield found
        elif isinstance(found, dict):
            waiting.extend(reversed(found.values()))
        elif isinstance(found, list):
            waiting.extend(reversed(found))
        elif found is not None and not isinstance(found, bool):
            yield str(found)


def words_of(store: Store, message: Message) -> tuple[list[str], ...]:
    """The words of each text of a message, in order, split once in its life."""
    return store.once(message, "words", lambda m: tuple(map(WORD.findall, texts(m))))


def found_in(store: Store, message: Message) -> Found:
    """The anchors of a message, extracted once in its life."""
    return store.once(message, _KEY, lambda m: _extract(lexicon(store), m, words_of(store, m)))


def extract(words: Lexicon, message: Message) -> Found:
    """The anchors of a message that no store needs to know."""
    return _extract(words, message, tuple(map(WORD.findall, texts(message))))


def _extract(words: Lexicon, message: Message, said: tuple[list[str], ...]) -> Found:
    named: set[int] = set()
    shown: set[int] = set()
    for found in said:
        _read(words, found, named, shown)
    for call in message.calls:
        for key in _commands(call):
            number = words.name("command", key)
            named.add(number)
            shown.add(number)
    return Found(mask(named), mask(shown))


def _read(words: Lexicon, found: list[str], named: set[int], shown: set[int]) -> None:
    entries, entry = words.entries, words.entry
    # in the order of the text, so that numbers do not vary
    readings = [entries.get(word) or entry(word) for word in dict.fromkeys(found)]
    shown.update(chain.from_iterable([reading[0] for reading in readings]))
    named.update(chain.from_iterable([reading[1] for reading in readings if reading[1]]))
    openers = words.openers
    for at in [at for at, word in enumerate(found) if word in openers]:
        for number, is_named in words.phrases(found, at):
            shown.add(number)
            if is_named:
                named.add(number)


def _commands(call: ToolCall) -> Iterator[str]:
    """The commands of a shell call, as far as they say what is run: `git commit`, `make test`."""
    arguments = call.parsed()
    lines = [arguments.get(key) for key in COMMAND_KEYS] if isinstance(arguments, dict) else []
    for line in lines:
        for part in COMMAND_ENDS.split(line) if isinstance(line, str) else ():
            found = [w.strip(".,:;").casefold() for w in WORD.findall(part)][:COMMAND_LENGTH]
            if found and found[0] in PROGRAMS:
                kept = found[:1]
                for word in found[1:]:
                    if word.startswith("-") and not (word == "-m" and kept[0] in NEEDS_FLAG):
                        break
                    kept.append(word)
                if len(kept) > 1 and all(kept):
                    yield " ".join(kept)


def mask(numbers: Iterable[int]) -> int:
    """A set of small whole numbers as one number."""
    found = list(numbers)
    if not found:
        return 0
    bits = bytearray((max(found) >> 3) + 1)
    for number in found:
        bits[number >> 3] |= 1 << (number & 7)
    return int.from_bytes(bits, "little")


def joined(store: Store, messages: Iterable[Message]) -> Found:
    """The anchors of several messages together."""
    named = shown = 0
    for message in messages:
        found = found_in(store, message)
        named |= found.named
        shown |= found.shown
    return Found(named, shown)
