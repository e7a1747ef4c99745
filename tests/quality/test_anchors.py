"""What a word names and shows, in three scripts."""

from __future__ import annotations

import pytest

from compactlab.history import Store
from compactlab.quality.anchors import Lexicon, extract, found_in, lexicon
from compactlab.quality.survives import survives
from compactlab.session import Message, Text
from tests.quality.stories import result, says, store, user


def named(text: str) -> set[tuple[str, str]]:
    known = store()
    words = lexicon(known)
    found = found_in(known, user(text)).named
    return {(words.kinds[anchor], words.keys[anchor]) for anchor in words.bits(found)}


@pytest.mark.parametrize(("text", "kind", "key"), [
    ("see src/app/parser.py:12", "path", "app/parser.py"),
    ("open parser.py.", "path", "parser.py"),
    (r"C:\code\app\parser.py", "path", "app/parser.py"),
    ("请修改docs/说明.md文件", "path", "docs/说明.md"),
    ("Файл конфиг/настройки.yaml готов", "path", "конфиг/настройки.yaml"),
    ("call parse_line(x)", "identifier", "parse_line"),
    ("a ParseError object", "identifier", "parseerror"),
    ("через имя_файла", "identifier", "имя_файла"),
    ("调用get_user函数", "identifier", "get_user"),
    ("os.path.join", "identifier", "os.path.join"),
    ("commit 3f2a9bc1", "id", "3f2a9bc1"),
    ("123e4567-e89b-12d3-a456-426614174000", "id", "123e4567-e89b-12d3-a456-426614174000"),
    ("see #1234", "id", "#1234"),
    ("needs v1.2.3", "id", "v1.2.3"),
    ("took 250 ms", "number", "250ms"),
    ("took 250ms", "number", "250ms"),
    ("137,566 tokens", "number", "137566tokens"),
    ("87%", "number", "87%"),
    ("costs $3.50", "number", "$3.50"),
    ("ждать 30 секунд", "number", "30секунд"),
    ("超时30秒后", "number", "30秒"),
    ("at https://example.org/a/b.html.", "url", "https://example.org/a/b.html"),
    ("TypeError: cannot read the field", "error", "typeerror cannot read the field"),
    ("Ошибка: файл не найден", "error", "ошибка файл не найден"),
    ("错误：找不到模块", "error", "错误：找不到模块"),
])
def test_each_class_is_named_in_each_script(text: str, kind: str, key: str) -> None:
    assert (kind, key) in named(text)


@pytest.mark.parametrize("text", [
    "and/or", "read/write the file", "It works. Then stop", "e.g. this", "error handling is hard",
    "step 3 of 4", "the fox jumps", "дальше так", "接下来我们看看",
])
def test_prose_names_nothing(text: str) -> None:
    assert named(text) == set()


def test_a_shell_call_names_what_it_runs_up_to_its_first_flag() -> None:
    known = store()
    found = found_in(known, says("", bash_1={"command": "cd x && npm run build --silent | tail"}))
    words = lexicon(known)
    commands = [words.keys[a] for a in words.bits(found.named) if words.kinds[a] == "command"]
    assert commands == ["npm run build"]


def test_names_of_tools_and_arguments_are_in_every_prompt_and_no_anchors() -> None:
    known = store()
    message = says("", read_file={"file_path": "x"})
    assert found_in(known, message).named == 0


@pytest.mark.parametrize(("said", "text"), [
    ("parse_line", "call `parse_line(x)`"),
    ("parse_line", "self.parse_line"),
    ("parse_line", "PARSE_LINE"),
    ("src/app/parser.py", "the file app/parser.py:12 is long"),
    ("a/b/src/app/parser.py", "/srv/other/app/parser.py"),
    ("parser.py", "src/app/parser.py"),
    ("took 250 ms", "250ms at most"),
    ("TypeError: cannot read the field", "- TypeError: cannot read the field (fixed)"),
    ("docs/说明.md", "已修改docs/说明.md文件"),
])
def test_an_anchor_survives_as_a_whole_token_wherever_it_stands(said: str, text: str) -> None:
    assert survival(said, text)


@pytest.mark.parametrize(("said", "text"), [
    ("parse_line", "parse_lines"),
    ("parse_line", "my_parse_line"),
    ("src/app/parser.py", "parser.py"),
    ("src/app/parser.py", "src/web/parser.py"),
    ("took 250 ms", "took 205 ms"),
    ("took 250 ms", "1250 ms"),
    ("TypeError: cannot read the field", "TypeError: cannot write the field"),
])
def test_what_only_looks_like_an_anchor_is_none(said: str, text: str) -> None:
    assert not survival(said, text)


def survival(said: str, text: str) -> bool:
    known = store()
    anchors = found_in(known, user(said)).named
    assert anchors, said
    shown = found_in(known, user(text)).shown
    return all(survives(anchor, shown) for anchor in lexicon(known).bits(anchors))


def test_anchors_of_a_message_are_extracted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    known = store()
    message = result("c", "parse_line in src/app/parser.py")
    first = found_in(known, message)
    monkeypatch.setattr("compactlab.quality.anchors.read_word", None)
    assert found_in(known, message) is first


def test_a_megabyte_without_a_space_and_deep_nesting_are_read_in_no_time() -> None:
    known: Store = store()
    assert found_in(known, Message("user", (Text("x" * 1_000_000),))).named == 0
    assert found_in(known, Message("user", (Text("a/" * 100_000),))).named == 0
    assert found_in(known, Message("user", (Text("a." * 50_000 + "b_c," * 50_000),))).shown >= 0
    deep = "[" * 900 + "]" * 900
    assert found_in(known, says("", read_1={"path": deep})).shown >= 0


@pytest.mark.parametrize(("text", "kind", "key"), [
    ("12,5 мб и 125 МБ", "number", "12.5мб"), ("137,566 tokens", "number", "137566tokens"),
    ("see .claude/settings.json", "path", ".claude/settings.json"),
    ("in /srv/proj/.claude/settings.json", "path", ".claude/settings.json"),
    ("файл «src/foo.py» изменён", "path", "src/foo.py")])
def test_numbers_hidden_folders_and_quotation_marks(text: str, kind: str, key: str) -> None:
    words = Lexicon()
    found = extract(words, Message("user", (Text(text),)))
    assert (kind, key) in {(words.kinds[n], words.keys[n]) for n in words.bits(found.named)}


def test_line_numbers_of_a_reading_tool_are_no_numbers_with_a_unit() -> None:
    words = Lexicon()
    text = "   115→    lines = x\n   116→{% if y %}\n   117→ errors: list"
    found = extract(words, Message("user", (Text(text),)))
    assert not found.named & words.of_class["number"]
