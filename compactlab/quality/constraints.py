"""Rules that the user set, and whether they are still stated after a compaction."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import ceil, nan
from typing import NamedTuple

from compactlab.history import Store
from compactlab.quality.anchors import Lexicon, lexicon, words_of
from compactlab.quality.survives import Case, Score, Span
from compactlab.quality.words import HAS_CJK, LINE_END, WORD
from compactlab.session import Message, Text

POLARITY = re.compile(
    r"\b(?:must(?: not|n['’]t)?|never|always|do not|don['’]?t|shall not|should(?: not|n['’]t)?"
    r"|may not|can(?:not|['’]t)|only|forbidden|not allowed|no longer|at most|at least|make sure"
    r"|ensure|required?|avoid|without|instead of|prefer|keep|from now on)\b"
    r"|\b(?:нельзя|никогда|всегда|обязательно|долж(?:ен|на|но|ны)|только|запрещ\w+|не надо"
    r"|не нужно|не более|не менее|избегай\w*|без|необходимо|предпочти\w*)\b"
    r"|\bне \w+(?:[аеяую]й|йте|ите|ьте|ть)\b"
    r"|必须|务必|不要|不得|不能|不可|不许|禁止|请勿|切勿|永远|始终|总是|从不|只能|只用|一定要"
    r"|不准|避免|(?<![特级区类分个差性告])别(?![的人名处])",
    re.IGNORECASE)
"""Words that make a sentence a rule: must, never, don't; также нельзя, никогда; 必须, 不要."""
QUESTION = re.compile(r"\?\s*$|吗\s*$")
SENTENCE_END = re.compile(r"(?<=[.!?])\s+|[。！？；\n]+")
FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
MOST_SENTENCE = 400  # characters: longer ones were pasted
LEAST_CONTENT = 2  # content words: with fewer a sentence says nothing of its own
RETAINED_SHARE = 0.8  # of the content words, in one window
WINDOW_FACTOR = 2  # a window is so many times as long as the sentence
_KEY = "rules"


class Rule(NamedTuple):
    """A sentence that sets a rule: its words, content words, and what makes it a rule."""

    text: str
    words: tuple[str, ...]
    content: frozenset[int]
    polarity: str


def rules(store: Store, message: Message) -> tuple[Rule, ...]:
    """The rules in a user's message; none in any other, nor in code that the user pasted."""
    if not message.starts_turn:
        return ()
    return store.once(message, _KEY, lambda m: tuple(_rules(lexicon(store), m)))


def _rules(known: Lexicon, message: Message) -> Iterator[Rule]:
    text = "\n".join(block.text for block in message.blocks if isinstance(block, Text))
    for sentence in SENTENCE_END.split(FENCE.sub("\n", text)):
        found = POLARITY.search(sentence) if len(sentence) <= MOST_SENTENCE else None
        if found is None or QUESTION.search(sentence):
            continue
        words = _words(sentence)
        content = _content(known, words)
        if len(content) >= LEAST_CONTENT:
            yield Rule(sentence.strip(), words, content, _polarity(found[0]))


def _polarity(said: str) -> str:
    """What makes a rule, as it stands among words; Chinese has no spaces around it."""
    bare = " ".join(_words(said))
    return bare if HAS_CJK.search(bare) else f" {bare} "


def _words(text: str) -> tuple[str, ...]:
    bare = (word.strip(".,:;-").casefold() for word in WORD.findall(text) if word != LINE_END)
    return tuple(filter(None, bare))


def _content(known: Lexicon, words: tuple[str, ...]) -> frozenset[int]:
    return frozenset(key for word in words for key in known.entry(word).content)


def constraint_verbatim(case: Case) -> Score:
    """Share of the rules in Z that stand word for word in C, line breaks and case aside: 0 to 1."""
    return _share(case, strict=True)


def constraint_retention(case: Case) -> Score:
    """Share of the rules in Z that C holds: word for word, or four fifths of their content words
    with the word of polarity within one window of twice the sentence's length: 0 to 1.
    """
    return _share(case, strict=False)


def _share(case: Case, *, strict: bool) -> Score:
    wanted = _at_risk(case.span)
    kept = sum(_stated(case.span.store, case.fresh, rule, strict) for rule in wanted)
    return Score(kept / len(wanted) if wanted else nan, len(wanted))


def _at_risk(span: Span) -> tuple[Rule, ...]:
    """The rules in Z that K does not hold word for word, each once."""
    known = span.memo.get(_KEY)
    if known is None:
        found = {rule.words: rule for message in span.removed
                 for rule in rules(span.store, message)}
        known = span.memo[_KEY] = tuple(
            rule for rule in found.values() if not _stated(span.store, span.kept, rule, True))
    return known  # type: ignore[return-value]  # one memo holds every type


def _stated(store: Store, messages: tuple[Message, ...], rule: Rule, strict: bool) -> bool:
    known = lexicon(store)
    needed = ceil(RETAINED_SHARE * len(rule.content))
    for message in messages:
        flat, present = _flat(store, message)
        if len(rule.content & present) < needed:
            continue
        if f" {' '.join(rule.words)} " in flat:
            return True
        if not strict and rule.polarity in flat and _in_window(known, flat, rule, needed):
            return True
    return False


def _flat(store: Store, message: Message) -> tuple[str, frozenset[int]]:
    """The words of a message on one line, and its content words."""

    def compute(m: Message) -> tuple[str, frozenset[int]]:
        known = lexicon(store)
        words = tuple(word.strip(".,:;-").casefold() for text in words_of(store, m)
                      for word in text if word != LINE_END)
        return f" {' '.join(filter(None, words))} ", _content(known, words)

    return store.once(message, "flat", compute)


def _in_window(known: Lexicon, flat: str, rule: Rule, needed: int) -> bool:
    """Whether enough of a rule's content stands around its word of polarity."""
    reach = WINDOW_FACTOR * max(len(rule.words), LEAST_CONTENT)
    at = flat.find(rule.polarity)
    while at >= 0:
        before = flat[:at].rsplit(maxsplit=reach)[-reach:]
        behind = flat[at:].split(maxsplit=reach)[:reach]
        words = [*before, *behind]
        for start in range(max(len(words) - reach, 0) + 1):
            if start > len(before):
                break
            near = words[start : start + reach]
            if len(_content(known, tuple(near)) & rule.content) >= needed:
                return True
        at = flat.find(rule.polarity, at + 1)
    return False
