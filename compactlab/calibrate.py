"""A counter fitted to what the provider billed: one factor and one constant per session.

The texts of a session are counted by an encoding that is not the model's own. Recorded usage says
how far off that is: the answers' own tokens are billed as output, and the growth of the prompt
totals gives a factor for everything else and a constant for each answer. Least squares on the
totals of the requests before the first recorded compaction; where a session has no usage it is
not calibrated.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from compactlab.counting import weight
from compactlab.session import Message, Session

Texts = Callable[[Sequence[str]], list[int]]
NAME = "calibrated"  # what the column `tokenizer` says
LEAST_REQUESTS = 5  # fewer totals than this fix nothing
FACTORS = (0.7, 2.5)  # outside of this the recording is odd, and the factor is clipped
CONSTANTS = (0.0, 200.0)  # tokens an answer, likewise


class Calibration(NamedTuple):
    """The fitted counter and its own error.

    `factor` multiplies the encoding's counts, `constant` is added to each answer; `answers` =
    whether an answer weighs its recorded output tokens. `error`: mean absolute error of the
    prompt totals as a share, over `n` requests; at each recorded compaction the first total
    behind it is the new anchor, and anchors are not counted.
    """

    factor: float
    constant: int
    answers: bool
    error: float
    n: int

    def texts(self, texts: Texts) -> Texts:
        """The encoding's counts times the factor, rounded."""

        return scaled(texts, self.factor)

    def weights(self, session: Session) -> dict[int, int]:
        """Tokens of the answers whose output was recorded, by index of the message."""
        if not self.answers:
            return {}
        return {r.message: r.usage.output + self.constant for r in session.requests
                if r.usage is not None and r.usage.output > 0}


class Family(NamedTuple):
    """Models that share a tokenizer: what their names match, and tokens / o200k_base on code."""

    pattern: str
    factor: float
    source: str


FAMILIES = (  # the first that matches; estimates for sessions without usage
    Family(r"claude.*(opus-4-[78]|opus-5|sonnet-5|haiku-5|fable|mythos)", 1.50,
           "Anthropic's count_tokens on code, Claude 4.7 and later, autumn 2026"),
    Family(r"claude", 1.21, "Anthropic's count_tokens on code, Claude 3 to Opus 4.6, autumn 2026"),
)
ESTIMATE = "estimate"  # what the column `tokenizer` says where a family's factor is used


def tokenizer_of(model: str) -> Family | None:
    """The family of a model by its name; None where its tokenizer is o200k_base or unknown."""
    return next((f for f in FAMILIES if re.search(f.pattern, model.lower())), None)


class _Sums(NamedTuple):
    """What stood before a request: texts in encoding tokens, the rest, answers, their number."""

    texts: int
    beside: int
    outputs: int
    answers: int
    total: int


def calibrate(session: Session, texts: Texts) -> Calibration | None:
    """The calibration of a session; None where it has too little usage.

    `texts` counts by the encoding. Two counters are fitted, with recorded and with counted
    answers (reasoning that is billed but never sent again spoils the first), the better one wins.
    """
    found = [_fitted(session, texts, answers) for answers in (True, False)]
    fitted = [calibration for calibration in found if calibration is not None]
    return min(fitted, key=lambda c: c.error) if fitted else None


def _fitted(session: Session, texts: Texts, answers: bool) -> Calibration | None:
    parts = _totals(session, texts, answers)
    if len(parts[0]) < LEAST_REQUESTS:
        return None
    whole_log = session.system_in_log
    factor, constant = _least_squares(_growth(parts[0], anchored=not whole_log))
    errors: list[float] = []
    for number, sums in enumerate(parts):
        anchored = number > 0 or not whole_log
        found = [abs(factor * t + round(constant) * a - y) / s.total for (t, a, y), s in
                 zip(_growth(sums, anchored=anchored), sums, strict=True)]
        errors += found[1:] if anchored else found  # an anchor is right by construction
    return Calibration(factor, round(constant), answers, sum(errors) / len(errors), len(errors))


def _growth(sums: list[_Sums], anchored: bool) -> list[tuple[int, int, int]]:
    """(texts, answers, tokens left to explain) of each request, against the first if anchored."""
    if not sums:
        return []
    start = sums[0] if anchored else _Sums(0, 0, 0, 0, 0)
    return [(s.texts - start.texts, s.answers - start.answers,
             s.total - s.outputs - s.beside - (start.total - start.outputs - start.beside))
            for s in sums]


def _totals(session: Session, texts: Texts, answers: bool) -> list[list[_Sums]]:
    """One line a request with usage; a new list from each recorded compaction on.

    What stands before a compaction is summed on: only the growth within a list is compared.
    """
    weights = [weight(message) for message in session.messages]
    counts = iter(texts([text for w in weights for text in w.texts]))
    tokens = [sum(next(counts) for _ in w.texts) for w in weights]
    seen, beside, outputs, number = sum(texts(session.tools)) if session.tools else 0, 0, 0, 0
    requests = {r.message: r for r in session.requests}
    cuts = {c.at for c in session.compactions}
    found: list[list[_Sums]] = [[]]
    for at in range(len(weights)):
        if at in cuts:
            found.append([])
        request = requests.get(at)
        usage = request.usage if request else None
        if usage is not None and usage.prompt > 0:
            found[-1].append(_Sums(seen, beside, outputs, number, usage.prompt))
        if answers and usage is not None and usage.output > 0:
            outputs, number = outputs + usage.output, number + 1
        else:
            seen, beside = seen + tokens[at], beside + weights[at].beside
    return found


def _least_squares(rows: list[tuple[int, int, int]]) -> tuple[float, float]:
    """(factor, constant) that bring factor * t + constant * a nearest to y, within their ranges."""
    tt = sum(t * t for t, _, _ in rows)
    ta = sum(t * a for t, a, _ in rows)
    aa = sum(a * a for _, a, _ in rows)
    ty = sum(t * y for t, _, y in rows)
    ay = sum(a * y for _, a, y in rows)
    determinant = tt * aa - ta * ta
    constant = (tt * ay - ta * ty) / determinant if determinant else 0.0
    constant = min(max(constant, CONSTANTS[0]), CONSTANTS[1])
    factor = (ty - constant * ta) / tt if tt else 1.0
    return min(max(factor, FACTORS[0]), FACTORS[1]), constant


def scaled(texts: Texts, factor: float) -> Texts:
    """Counts times a factor, rounded to whole tokens."""
    return lambda found: [round(factor * tokens) for tokens in texts(found)]


def recorded_weight(weights: dict[int, int], messages: Sequence[Message]
                    ) -> Callable[[Message], int | None]:
    """A message's recorded tokens by its identity, for the store of its session."""
    by_identity = {id(messages[at]): tokens for at, tokens in weights.items()}
    return lambda message: by_identity.get(id(message))
