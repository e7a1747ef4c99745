"""What a recorded message did, in short: the user's request, tool actions, file paths."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from compactlab.session import Message, Text, ToolCall

PATH_KEYS = ("file_path", "path", "notebook_path", "filename", "file", "filepath", "target_file")
MAIN_KEYS = (
    "command", "cmd", *PATH_KEYS, "pattern", "query", "url", "skill", "description", "prompt",
)
"""Arguments that say best what a call did, the first that is there; else the first with a value."""
QUOTED = re.compile(r"'[^']*+(?:'|\Z)|\"(?:[^\"\\]|\\.)*+(?:\"|\\?\Z)", re.DOTALL)
HEREDOC = re.compile(
    r"<<-?\s*['\"]?(\w+)['\"]?([^\n]*)\n.*?(?:^\s*\1\s*$|\Z)", re.DOTALL | re.MULTILINE)
"""Text inside a command line. What is never closed runs to the end: so one pass is enough."""
TEXT_READ = 20_000
"""Characters of a command or request that are searched for paths: beyond, it is pasted data."""

WORD = re.compile(r"[^\s\"'`<>|;,(){}\[\]=*?!$&\\^%#\u3000-\u9fff\uff00-\uffef]+")
"""What a file's name in running text is looked for in. Ideographs end a word, since Chinese is
written without spaces."""
SUFFIXES = frozenset((
    "bash", "bat", "c", "cc", "cfg", "cjs", "clj", "cmake", "conf", "cpp", "cs", "css", "csv",
    "dart", "diff", "env", "erl", "ex", "exs", "go", "gradle", "h", "hpp", "hs", "html", "ini",
    "ipynb", "java", "jinja", "jl", "js", "json", "jsonl", "jsx", "kt", "less", "lock",
    "lua", "m", "md", "mdx", "mjs", "ml", "nix", "parquet", "patch", "pdf", "php", "pl", "png",
    "proto", "ps1", "py", "pyi", "pyx", "r", "rb", "rs", "rst", "scala", "scss", "sh", "sql",
    "svelte", "svg", "swift", "tex", "tf", "toml", "ts", "tsx", "txt", "vue", "xml", "yaml", "yml",
    "zig", "zsh",
))
"""Ends of file names: in running text `ui.setFocus` looks like a file and is none."""


def one_line(text: str, limit: int = 0) -> str:
    """The text on one line, runs of white space as one space, at most `limit` characters (0: all).

    >>> one_line("fix  the\\n tests", 7)
    'fix the'
    """
    if limit:
        text = text.lstrip()[: 8 * limit]  # a line of it does not need a walk through a megabyte
    line = " ".join(text.split())
    return line[:limit].rstrip() if limit else line


def request_text(message: Message) -> str:
    """The text of a user's request; empty for every other message and for a client's line."""
    if not message.starts_turn:
        return ""
    return "\n".join(b.text for b in message.blocks if isinstance(b, Text)).strip()


def main_argument(call: ToolCall) -> str:
    """The argument that says best what the call did, as text; empty where it has none."""
    arguments = call.parsed()
    if not isinstance(arguments, dict):
        return arguments if isinstance(arguments, str) else call.arguments
    for key in MAIN_KEYS:
        value = _text(arguments.get(key))
        if value:
            return value
    return next(filter(None, map(_text, arguments.values())), "")


def _text(value: Any) -> str:
    """A text argument; a list of words (an argument vector) as a command line."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, list) and value and all(isinstance(part, str) for part in value):
        return " ".join(value).strip()
    return ""


def call_paths(call: ToolCall) -> tuple[str, ...]:
    """File paths that a call names: its path arguments, else those in its command or query."""
    arguments = call.parsed()
    found: list[str] = []
    if isinstance(arguments, dict):
        for key in PATH_KEYS:
            value = arguments.get(key)
            if isinstance(value, str) and value.strip():
                found.append(one_line(value))
    return tuple(found) or command_paths(main_argument(call))


def command_paths(command: str) -> tuple[str, ...]:
    """Distinct paths in a command line, without those in what it quotes or pipes in as text.

    >>> command_paths("sed -i 's/old.js/new.js/' src/app.js")
    ('src/app.js',)
    """
    bare = HEREDOC.sub(r"\2", command[:TEXT_READ])
    return text_paths(QUOTED.sub(_unless_path, bare))


def _unless_path(quoted: re.Match[str]) -> str:
    inside = quoted[0][1:-1]
    plain = not any(c.isspace() for c in inside) and text_paths(inside) == (inside,)
    return f" {inside} " if plain else " "


def text_paths(text: str) -> tuple[str, ...]:
    """Distinct file paths in a text, in their order: words with a file's suffix."""
    return tuple(dict.fromkeys(_paths(text[:TEXT_READ])))


def _paths(text: str) -> Iterator[str]:
    for word in WORD.findall(text):
        if "." not in word or "://" in word:
            continue
        name = word.lstrip("@").split(":", 1)[0].rstrip(".")  # a mention; a line number behind it
        stem, _, suffix = name.rpartition(".")
        if suffix.lower() in SUFFIXES and stem.strip("./"):
            yield name
