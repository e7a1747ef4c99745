"""The first sentences of a report: which strategy, at which window, costs and loses what."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from compactlab.charts import paper
from compactlab.report.outcome import (
    Outcome,
    digits,
    loss,
    money,
    outcome,
    sentence,
    separable,
    tokens,
)
from compactlab.results.shares import whole
from compactlab.words import dollars, plural, window_name

if TYPE_CHECKING:
    import pandas as pd

NOT_MEASURED = ("What was lost that the agent needed later is not in these tables: run with "
                "--quality to see it.")
EXPLAINED = ("FRR, forward-reference recall: of the names that the agent used later, before "
             "anything showed them to it again, the share (the sooner, the heavier) that was still "
             "in its prompt; bound: that stood among its old neighbours, too. Both are upper "
             "bounds on what a model would recall.")
NO_CUT = ("What it loses cannot be told, n = 0: no cut of these sessions has 3 needs or more and a "
          "future that no recorded compaction shaped.")
NO_MONEY = ("What it costs is not said: these sessions are derived from texts and have no usage "
            "to bill.")


def headline(runs: pd.DataFrame, label: str | None, window: int, kind: str = "") -> tuple[str, ...]:
    """What a strategy does at a window on the sessions that it served whole, and who does better.

    `runs` has `label` and, where quality was measured, `columns.KEPT`; `label` None: only raw was
    replayed. `kind`: what sets these sessions apart from others of the run, in words.
    """
    if label is None:
        return (_only_raw(runs),)
    at = runs[(runs["window"] == window) & (runs["strategy"] != paper.RAW)]
    mine = at[at["label"] == label]
    whole = _whole(mine)
    place = "without a window" if not window else f"at a window of {window_name(window)}"
    about = f" ({kind})" if kind else ""
    if not len(whole):
        return (f"On {plural(mine['session'].nunique(), 'session')}{about} {place}, no strategy "
                "served every request of any: there is no whole session to say what one costs or "
                "loses.",)
    found = outcome(whole)
    on = plural(found.sessions, "session") if len(whole) == len(mine) else (
        f"the {found.sessions} of {plural(len(mine), 'session')} that it served whole")
    first = sentence([tokens(found, bounds=True), money(found), loss(found)])
    return (f"On {on}{about} {place}, {found.name} {first}.", *_others(at, found, whole))


def lacking(runs: pd.DataFrame, label: str | None, window: int) -> tuple[str, ...]:
    """What the first sentence leaves out, and why; what its last figures mean."""
    if label is None:
        return ()
    whole = _whole(runs[(runs["window"] == window) & (runs["label"] == label)])
    if not len(whole):
        return () if "frr" in runs else (NOT_MEASURED,)
    found, said = outcome(whole), []
    if found.cost is None and "cost" in runs:
        said.append(NO_MONEY)
    if "frr" not in runs:
        said.append(NOT_MEASURED)
    else:
        said.append(NO_CUT if found.frr is None else EXPLAINED)
    return tuple(said)


def _whole(runs: pd.DataFrame) -> pd.DataFrame:
    return runs[whole(runs) & runs["token_reduction"].notna()]


def _only_raw(runs: pd.DataFrame) -> str:
    whole = _whole(runs)
    text = "Only raw was replayed: nothing was compacted"
    if len(whole):
        window = max(whole["window"], key=lambda w: (len(whole[whole["window"] == w]), -w))
        found = outcome(whole[whole["window"] == window])
        if found.cost is not None:
            place = "without a window" if not window else (
                f"at a window of {window_name(window)}")
            return f"{text}; {plural(found.priced, 'session')} served whole {place} cost " + (
                f"{dollars(found.cost, digits(found.cost))}.")
    return f"{text}."


def _others(at: pd.DataFrame, best: Outcome, sessions: pd.DataFrame) -> tuple[str, ...]:
    """Who costs or loses less on the same sessions; that nobody does; that nobody else served."""
    names = set(sessions["session"])
    found = []
    for label in paper.in_order(at["label"]):
        mine = _whole(at[at["label"] == label])
        mine = mine[mine["session"].isin(names)]
        if label != best.label and set(mine["session"]) == names:
            found.append(outcome(mine))
    if not found:
        others = at["label"].nunique() > 1
        return (f"No other strategy served {_these(best)} whole there.",) if others else ()
    cheapest = _ahead([o for o in found if o.priced == best.priced], best, "cost", -1)
    safest = _ahead([o for o in found if o.scored == best.scored], best, "frr", 1)
    return _told(best, cheapest, safest)


def _ahead(others: Sequence[Outcome], best: Outcome, name: str, sign: int) -> Outcome | None:
    """The one that is ahead of all in this figure; `best` itself is on a draw, None without any."""
    own = getattr(best, name)
    if own is None:
        return None
    rivals = [o for o in others if getattr(o, name) is not None]
    return max([best, *rivals], key=lambda o: sign * round(getattr(o, name), 4))


def _told(best: Outcome, cheapest: Outcome | None, safest: Outcome | None) -> tuple[str, ...]:
    ahead = [(what, who) for what, who in (("costs", cheapest), ("loses", safest)) if who]
    if not ahead:
        return ()
    if all(who is best for _, who in ahead):
        verbs = " or ".join(what for what, _ in ahead)
        return (f"No other strategy that served {_these(best)} whole {verbs} less there.",)
    parts = []
    if cheapest is not None and cheapest is safest:
        parts.append(_rival(cheapest, "costs and loses least") + _doubt(best, safest))
    else:
        parts += [_rival(who, f"{what} least") + (_doubt(best, who) if who is safest else "")
                  for what, who in ahead if who is not best]
    return (f"Of the strategies that served {_these(best)} whole there, {'; '.join(parts)}.",)


def _rival(who: Outcome, what: str) -> str:
    name = who.name.removesuffix(" (default settings)")
    figures = sentence([tokens(who), money(who, short=True), loss(who, short=True)])
    return f"{name} {what}: it {figures}"


def _doubt(best: Outcome, safest: Outcome) -> str:
    """That a smaller loss may be chance."""
    if separable(best, safest):
        return ""
    return f", a loss not separable from the first one (n = {len(best.by_session)})"


def _these(found: Outcome) -> str:
    return "this session" if found.sessions == 1 else "these sessions"
