"""Every error that a caller may catch, one sentence each."""

from __future__ import annotations

from collections.abc import Iterable


class CompactlabError(Exception):
    """Something the user can mend; its text is one sentence that says how."""


class UnknownName(CompactlabError):
    """A name that is not among the valid choices."""

    def __init__(self, what: str, name: object, choices: Iterable[str]) -> None:
        valid = ", ".join(sorted(choices))
        super().__init__(f"unknown {what} {str(name)!r}: choose one of {valid}")


class BadSetting(CompactlabError):
    """A setting that no strategy has, or a value outside its range."""


class BadStrategy(CompactlabError):
    """A strategy of the caller's that is none, or that answers what is no compaction; names it."""


class BadSession(CompactlabError):
    """A recorded session that cannot be read; names the file and, where known, the line."""


class BadFile(CompactlabError):
    """A file that cannot be written, or that is there already; names it."""


class NoImporter(CompactlabError):
    """A file in no format that compactlab reads."""


class BadHistory(CompactlabError):
    """A history whose structure a provider would refuse; names the message."""


class SummaryFailed(CompactlabError):
    """A summariser gave no usable answer; `why` is one of: window, empty, failed."""

    def __init__(self, text: str, why: str = "failed") -> None:
        super().__init__(text)
        self.why = why


class NoVocabulary(CompactlabError):
    """A tokenizer whose vocabulary can be neither read, written to a folder, nor fetched."""


class BadRun(CompactlabError):
    """A folder of results that cannot be written, or that holds no finished run."""


class BadRecipe(CompactlabError):
    """A recipe that cannot be recorded; names the file and the step."""


class PrivateText(CompactlabError):
    """A session that would tell on the machine or the person it was recorded on."""


class BadTable(CompactlabError):
    """A table that a chart cannot show: rows of several sessions, or none."""


class BadParameter(CompactlabError):
    """A parameter that a notebook does not have or that has another type, or no parameters cell."""


class NotebookFailed(CompactlabError):
    """A cell of a notebook raised; names the notebook, the cell and what it said."""


class NoPrice(CompactlabError):
    """A model that no price table holds."""


class BadPrices(CompactlabError):
    """A table of prices that cannot be read; names the file, the model and the key."""
