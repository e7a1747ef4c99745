"""What one word of a text names: paths, identifiers, ids, numbers with unit, addresses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Literal, NamedTuple, get_args

from compactlab.pieces.actions import SUFFIXES
from compactlab.quality._vocabulary import CJK_UNIT, STOP_WORDS, UNITS

AnchorClass = Literal["path", "identifier", "id", "number", "url", "error", "command"]
CLASSES: tuple[AnchorClass, ...] = get_args(AnchorClass)

LINE_END = "\n"
WORD = re.compile(r"\n|[^\s\"'`<>|;(){}\[\]=*!?^，。、；！？（）《》“”‘’「」『』【】…→«»„—]+")
"""How a text falls into words; a line end is one, since nothing is bound across lines."""
MOST_WORD = 300  # characters: longer runs are data, not names
MOST_PARTS = 12  # of a path or a dotted name that are looked at

CJK = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uff66-\uff9f"
HAS_CJK = re.compile(f"[{CJK}]")
SEGMENT = re.compile(
    f"(?<=[{CJK}])(?=[^{CJK}\\W_])|(?<=[^{CJK}\\W_])(?=[{CJK}])")
"""Where a script changes without a connector between: there a name ends (改docs/说明.md文件)."""
ATOM = re.compile(r"\w+")
URL = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://[^\s,]+")
NUMBER = re.compile(r"[$€£¥]?\d[\d.,]*")
MEASURED = re.compile(r"([$€£¥]?)(\d[\d.,]*)([^\W\d_]+|%)?")
HUMP = re.compile(r"[a-z\d][A-Z]|[A-Z]{2}[a-z]")
DOTTED = re.compile(r"[^\W\d]\w+(?:\.[^\W\d]\w+)+")
HEX = re.compile(r"(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,64}")
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
VERSION = re.compile(r"v?\d+(?:\.\d+){2,}[\w.+-]*|v\d+\.\d+[\w.+-]*")
ISSUE = re.compile(r"#\d+")
HYPHENED = re.compile(r"(?=[\w.-]*\d)(?=[\w.-]*[a-z])\w[\w.]*(?:-[\w.]+)+")
MIXED = re.compile(r"(?=\D*\d\D*\d)(?=(?:[^a-z]*[a-z]){2})[a-z0-9]{8,64}")
TURNS = re.compile(r"(?<=\d)(?=[a-z])|(?<=[a-z])(?=\d)")
LEAST_TURNS = 3  # changes between letters and digits that make a run look like an id
PARTS = re.compile(r"[\w.@+~/-]+")
WINDOWS_PATH = re.compile(r"(?:[A-Za-z]:|\.{1,2})?(?:\\?[\w.@+~-]+)(?:\\[\w.@+~-]+)+")
DECIMAL_COMMA = re.compile(r"^(\D?\d+),(\d{1,2}|\d{4,})$")
NUMERIC = frozenset("0123456789$€£¥")
DIGIT = re.compile(r"\d")
JOINTS = re.compile(r"[,:@&]+")
ESCAPE = re.compile(r"\\[nrtbfvu0]?")
PLAIN_NAMES = ("process.env", "os.env", "self.lock")  # look like files and are none
SHORTEST_CONTENT = 3  # characters


class Reading(NamedTuple):
    """What a word shows (every whole token in it), names (its anchors) and means (content)."""

    shown: tuple[str, ...] = ()
    named: tuple[tuple[AnchorClass, str], ...] = ()
    content: tuple[str, ...] = ()


class _Notes:
    """Shown and named keys of one word, each once, in order."""

    __slots__ = ("named", "shown")

    def __init__(self) -> None:
        self.shown: dict[str, None] = {}
        self.named: dict[tuple[AnchorClass, str], None] = {}

    def name(self, kind: AnchorClass, key: str) -> None:
        self.named[kind, key] = None
        self.shown[key] = None


def read_word(word: str) -> Reading:
    """One word of `WORD`, read whatever stands around it; keys are case-folded."""
    bare = word.strip(".,:;&").rstrip("#-–—")
    if word[:1] == "." and bare[:1].isalpha() and (
            "/" in bare or bare.rpartition(".")[2].lower() in SUFFIXES):
        bare = f".{bare}"  # a folder or file that is hidden
    if not bare or len(word) > MOST_WORD:
        return Reading()
    if bare.isalpha() and bare.isascii() and (bare[1:].islower() or bare.isupper()):
        key = bare.lower()  # most words
        tells = len(key) >= SHORTEST_CONTENT and key not in STOP_WORDS
        return Reading((key,), (), (key,) if tells else ())
    notes = _Notes()
    if bare.isascii() or not HAS_CJK.search(bare):
        notes.shown[bare.casefold()] = None
        _latin(bare, notes)
        return Reading(tuple(notes.shown), tuple(notes.named), _content(bare.casefold()))
    content: dict[str, None] = {}
    segments = SEGMENT.split(bare)
    for at, segment in enumerate(segments):
        notes.shown[segment.casefold()] = None
        _latin(segment, notes)
        behind = segments[at + 1] if at + 1 < len(segments) else ""
        if (unit := unit_of(behind)) and NUMBER.fullmatch(segment):
            notes.name("number", measure(segment, unit))
        if not HAS_CJK.search(segment):
            content.update(dict.fromkeys(_content(segment.casefold())))
        elif not notes.named or len(segment) > 1:
            runs = re.findall(f"[{CJK}]+", segment)
            content.update(dict.fromkeys(pair for run in runs for pair in _pairs(run)))
    return Reading(tuple(notes.shown), tuple(notes.named), tuple(content))


def unit_of(word: str) -> str:
    """The unit that a word behind a number is, or begins with in Chinese; "" for none."""
    bare = word.strip(".,:").casefold()
    if bare in UNITS:
        return bare
    found = CJK_UNIT.match(bare)
    return found[0] if found else ""


def measure(number: str, unit: str) -> str:
    """A number and its unit as one key: `137,566 tokens` is `137566tokens`."""
    bare = number.strip(".,:")
    return DECIMAL_COMMA.sub(r"\1.\2", bare).replace(",", "") + unit


def _content(key: str) -> tuple[str, ...]:
    if len(key) < SHORTEST_CONTENT or key in STOP_WORDS or not any(map(str.isalpha, key)):
        return ()
    return (key,)


def _pairs(run: str) -> list[str]:
    """Pairs of neighbouring ideographs: the content words of a language without spaces."""
    return [run[i : i + 2] for i in range(len(run) - 1)] or [run]


def _latin(word: str, notes: _Notes) -> None:
    """A word without a change of script: an address, else its pieces between commas and such."""
    found = URL.search(word) if "://" in word else None
    if found:
        key = found[0].rstrip("/.:#").casefold()
        notes.name("url", key)
        if found.start():
            _latin(word[: found.start()], notes)
        nested = _Notes()
        _path(key.split("://", 1)[1], nested)
        notes.shown.update(nested.shown)
        return
    if "\\" in word:
        last = word.rpartition(".")[2].lower()
        if WINDOWS_PATH.fullmatch(word) and (word[1:3] == ":\\" or last in SUFFIXES):
            word = word.replace("\\", "/")
        else:
            word = ESCAPE.sub(",", word)
    if word[0] in NUMERIC and MEASURED.fullmatch(word):
        _number(word, notes)
        return
    if not JOINTS.search(word):
        _piece(word, notes)
        return
    for piece in JOINTS.split(word):
        if bare := piece.rstrip("."):
            shown, named = piece_alone(bare)
            notes.shown.update(shown)
            notes.named.update(named)


@lru_cache(maxsize=1 << 14)
def piece_alone(piece: str) -> tuple[dict[str, None], dict[tuple[AnchorClass, str], None]]:
    """A piece by itself: the same file stands before many line numbers."""
    notes = _Notes()
    _piece(piece, notes)
    return notes.shown, notes.named


def _number(word: str, notes: _Notes) -> None:
    found = MEASURED.fullmatch(word)
    if found and _measured(found, notes):
        return
    if VERSION.fullmatch(word):
        notes.name("id", word)
    else:
        _piece(word, notes)


def _measured(found: re.Match[str], notes: _Notes) -> bool:
    """Note a number with a currency or a unit, which make it an anchor; whether it has one."""
    unit = (found[3] or "").casefold()
    if not (found[1] or unit in UNITS):
        return False
    notes.name("number", measure(found[1] + found[2], unit))
    return True


def _piece(piece: str, notes: _Notes) -> None:
    if "/" in piece:
        _path(piece, notes)
        return
    key = piece.casefold()
    notes.shown[key] = None
    stem, dot, suffix = key.rpartition(".")
    if dot and suffix in SUFFIXES and stem.strip("._-") and key not in PLAIN_NAMES:
        notes.name("path", key)
        _show(stem, notes)
    elif DIGIT.search(key) and _is_id(key):
        notes.name("id", key)
        _show(key, notes)
    elif dot and DOTTED.fullmatch(piece):
        _dotted(piece, notes)
    elif piece.isidentifier():
        _identifier(piece, notes)
    elif found := MEASURED.fullmatch(piece):
        _measured(found, notes)
    else:
        for atom in ATOM.findall(piece):
            notes.shown[atom.casefold()] = None
            _identifier(atom, notes)


def _is_id(key: str) -> bool:
    if HEX.fullmatch(key) or UUID.fullmatch(key) or ISSUE.fullmatch(key) or VERSION.fullmatch(key):
        return True
    if MIXED.fullmatch(key):
        return len(TURNS.findall(key)) >= LEAST_TURNS
    return HYPHENED.fullmatch(key) is not None


def _identifier(atom: str, notes: _Notes) -> None:
    bare = atom.strip("_")
    if "_" in bare or HUMP.search(bare):
        if any(map(str.isalpha, bare)):
            notes.name("identifier", bare.casefold())
    elif bare:
        notes.shown[bare.casefold()] = None


def _dotted(piece: str, notes: _Notes) -> None:
    """`os.path.join`: its own named parts where it has some, otherwise the whole of it."""
    parts = piece.split(".")[:MOST_PARTS]
    own = _Notes()
    for part in parts:
        _identifier(part, own)
    notes.shown.update(dict.fromkeys(_runs([part.casefold() for part in parts])))
    notes.shown.update(own.shown)
    if own.named:
        notes.named.update(own.named)
    else:
        notes.name("identifier", ".".join(parts).casefold())


def _path(piece: str, notes: _Notes) -> None:
    """A path names its last two parts; every two parts next to each other are shown by it."""
    parts = [part for part in piece.split("/") if part.strip(".~")][:MOST_PARTS]
    if not parts:
        return
    if not _looks_like_path(piece, parts):
        for part in parts:
            _piece(part, notes)
        return
    keys = [part.casefold().rstrip(".") for part in parts]
    for first, second in pairwise(keys):
        notes.shown[f"{first}/{second}"] = None
    notes.name("path", "/".join(keys[-2:]))
    for part in parts:
        _show(part, notes)


def _looks_like_path(piece: str, parts: list[str]) -> bool:
    if not PARTS.fullmatch(piece):
        return False
    _, dot, suffix = parts[-1].rpartition(".")
    if dot and suffix.lower() in SUFFIXES:
        return True
    if all(map(str.isdigit, parts)):
        return False
    rooted = piece.startswith(("/", "./", "../", "~/")) or piece.endswith("/")
    return len(parts) >= 3 or (rooted and len(parts) >= 2)


def _show(part: str, notes: _Notes) -> None:
    """Everything that a part of an anchor would name by itself is shown, not named."""
    for key in within(part.casefold()):
        notes.shown[key] = None


@lru_cache(maxsize=1 << 16)
def within(part: str) -> tuple[str, ...]:
    """A part of a path, its atoms, and every run of its dotted parts."""
    found = {part: None}
    if not part.isalnum():
        for atom in ATOM.findall(part):
            found[atom] = None
            found[atom.strip("_") or atom] = None
        if "." in part:
            found.update(dict.fromkeys(_runs(part.split(".")[:MOST_PARTS])))
    return tuple(found)


def _runs(parts: list[str]) -> Iterator[str]:
    """Every run of one or more parts next to each other, joined by dots."""
    for start in range(len(parts)):
        for end in range(start + 1, len(parts) + 1):
            yield ".".join(parts[start:end])
