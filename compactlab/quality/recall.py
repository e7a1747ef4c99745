"""How much of what was taken away is still there, above all of what the agent needed later."""

from __future__ import annotations

from collections.abc import Iterator
from math import fsum, log2, nan
from typing import NamedTuple

from compactlab.history import Store
from compactlab.quality.anchors import extract, found_in, lexicon, mask, texts
from compactlab.quality.survives import (
    LEAST_NEIGHBOURS,
    Case,
    Score,
    Span,
    neighbours,
    survives,
)
from compactlab.quality.words import LINE_END, WORD, AnchorClass
from compactlab.session import Message

CALLS = 20  # next tool calls with arguments at risk
OLD_TEXT_KEYS = ("old_string", "oldText", "old_str", "old_text", "search")
LINE_NUMBER = "→"  # what a reading tool puts between the number and the text of a line


class Need(NamedTuple):
    """An anchor at risk that the agent used before anything showed it again.

    `step` counts the agent's answers from 0, `at` is the index of the message in the future.
    `weight` is 1 / log2(2 + step): what is needed at once weighs most.
    """

    anchor: int
    step: int
    at: int
    weight: float


class Loss(NamedTuple):
    """A need with words: for people who want to see what was lost and where it was used."""

    anchor: str
    kind: AnchorClass
    step: int
    at: int
    weight: float
    survived: bool
    bound: bool


def anchor_recall(case: Case, kind: AnchorClass | None = None) -> Score:
    """Surviving share of the anchors at risk, of one class or of all: 0 to 1."""
    risk = case.span.at_risk
    if kind is not None:
        risk &= case.span.lexicon.of_class[kind]
    count = risk.bit_count()
    return Score((risk & case.shown).bit_count() / count if count else nan, count)


def needs(span: Span) -> tuple[Need, ...]:
    """N: anchors at risk in the agent's own later text or arguments, before anything shows them.

    In the order of their use; tool results and user messages of the future show what is in them.
    """
    known = span.memo.get("needs")
    if known is None:
        known = span.memo["needs"] = tuple(_needs(span))
    return known  # type: ignore[return-value]  # one memo holds every type


def _needs(span: Span) -> Iterator[Need]:
    open_ones, step = span.at_risk, -1
    for at, message in enumerate(span.future):
        found = found_in(span.store, message)
        if message.role != "assistant":
            open_ones &= ~found.shown
            continue
        step += 1
        used = open_ones & found.named
        open_ones &= ~used
        weight = 1 / log2(2 + step)
        yield from (Need(anchor, step, at, weight) for anchor in span.lexicon.bits(used))


def forward_reference_recall(case: Case) -> Score:
    """FRR: weight of the needs that survive / weight of all needs: 0 to 1; n = |N|."""
    found, shown = needs(case.span), case.shown
    total = fsum([need.weight for need in found])
    kept = fsum([need.weight for need in found if survives(need.anchor, shown)])
    return Score(kept / total if found else nan, len(found))


def bound_recall(case: Case) -> Score:
    """Bound FRR: as FRR, but a need counts only with two of its neighbours near it again.

    The neighbours are content words within six words. Needs that have not two of them in Z are
    left out on both sides of the fraction; n = those that count.
    """
    known = _bindings(case.span)
    found = [need for need in needs(case.span) if need.anchor in known]
    total = fsum(need.weight for need in found)
    bound = _bound(case)
    kept = fsum(need.weight for need in found if need.anchor in bound)
    return Score(kept / total if found else nan, len(found))


def _bindings(span: Span) -> dict[int, frozenset[int]]:
    """For each need that is bound in Z: the content words that stand near it there."""
    known = span.memo.get("bindings")
    if known is None:
        wanted = [need.anchor for need in needs(span)]
        near: dict[int, set[int]] = {}
        bound: set[int] = set()
        for message in span.removed if wanted else ():
            for anchor, words in neighbours(span.store, message, wanted):
                near.setdefault(anchor, set()).update(words)
                if len(words) >= LEAST_NEIGHBOURS:
                    bound.add(anchor)
        known = span.memo["bindings"] = {
            anchor: frozenset(words) for anchor, words in near.items() if anchor in bound}
    return known  # type: ignore[return-value]


def _bound(case: Case) -> frozenset[int]:
    """The needs that stand in C among neighbours that they have in Z."""
    known = case.memo.get("bound")
    if known is None:
        wanted = _bindings(case.span)
        found: set[int] = set()
        for message in case.fresh:
            for anchor, near in neighbours(case.span.store, message, wanted):
                if anchor not in found and len(near & wanted[anchor]) >= LEAST_NEIGHBOURS:
                    found.add(anchor)
        known = case.memo["bound"] = frozenset(found)
    return known  # type: ignore[return-value]


def losses(case: Case) -> tuple[Loss, ...]:
    """Every need in words, in the order of use: what survived, what did not, where it was used."""
    words = case.span.lexicon
    return tuple(
        Loss(words.keys[need.anchor], words.kinds[need.anchor], need.step, need.at, need.weight,
             survives(need.anchor, case.shown),
             need.anchor in _bound(case))
        for need in needs(case.span))


def next_action_support(case: Case) -> Score:
    """Share of the next 20 tool calls with arguments at risk whose arguments all survive."""
    calls = _next_calls(case.span)
    whole = sum(not wanted & ~case.shown for wanted in calls)
    return Score(whole / len(calls) if calls else nan, len(calls))


def _next_calls(span: Span) -> tuple[int, ...]:
    known = span.memo.get("calls")
    if known is None:
        found, risk = [], span.at_risk
        for message in span.future:
            if message.role != "assistant":
                risk &= ~found_in(span.store, message).shown
            elif message.calls:
                found += [risk & named for named in _arguments(span.store, message)]
        known = span.memo["calls"] = tuple([wanted for wanted in found if wanted][:CALLS])
    return known  # type: ignore[return-value]


def _arguments(store: Store, message: Message) -> tuple[int, ...]:
    """The anchors that each call of a message names."""

    def compute(m: Message) -> tuple[int, ...]:
        words = lexicon(store)
        return tuple(extract(words, Message("assistant", (call,))).named for call in m.calls)

    return store.once(message, "anchors of calls", compute)


# -- verbatim spans --------------------------------------------------------------------------------


def verbatim_recall(case: Case) -> Score:
    """Share of the later edits whose old text stood only in Z that still find it in C."""
    wanted = _only_removed(case.span)
    kept = sum(any(_holds(case.span.store, m, old) for m in case.fresh) for old in wanted)
    return Score(kept / len(wanted) if wanted else nan, len(wanted))


def _only_removed(span: Span) -> tuple[str, ...]:
    known = span.memo.get("edits")
    if known is None:
        store, found, seen = span.store, [], list(span.kept)
        for message in span.future:
            for call in message.calls:
                found += [old for old in old_texts(call.parsed())
                          if any(_holds(store, m, old) for m in reversed(span.removed))
                          and not any(_holds(store, m, old) for m in seen)]
            seen.append(message)
        known = span.memo["edits"] = tuple(found)
    return known  # type: ignore[return-value]


def old_texts(arguments: object) -> Iterator[str]:
    """The texts that an edit replaces, in its arguments or in a list of edits there."""
    waiting = [arguments]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            for key, inner in value.items():
                if key in OLD_TEXT_KEYS and isinstance(inner, str):
                    if inner.strip():
                        yield inner
                else:
                    waiting.append(inner)
        elif isinstance(value, list):
            waiting.extend(reversed(value))


def _holds(store: Store, message: Message, text: str) -> bool:
    """Whether a message holds a text letter for letter; the numbers of lines are no part of it."""
    inside = _inside(store, text)
    if inside & ~found_in(store, message).shown:
        return False
    return store.once(message, ("holds", text), lambda m: any(
        text in said for said in store.once(m, "said", _said)))


def _inside(store: Store, text: str) -> int:
    """The words within a text, without the first and last, which may be cut."""
    words = lexicon(store)
    return store.remember(("inside", text), lambda: mask(
        words.entry(word).shown[0] for word in WORD.findall(text)[1:-1]
        if word != LINE_END and words.entry(word).shown))


def _said(message: Message) -> tuple[str, ...]:
    found = []
    for text in texts(message):
        if LINE_NUMBER in text:
            lines = (line.partition(LINE_NUMBER) for line in text.split("\n"))
            text = "\n".join(
                behind if arrow and number.strip().isdigit() else number + arrow + behind
                for number, arrow, behind in lines)
        found.append(text)
    return tuple(found)

