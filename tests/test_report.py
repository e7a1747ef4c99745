"""The report: findings computed from tables, and a page on which nothing hostile lives."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec
import pytest

from compactlab import results
from compactlab.bench import plan, run
from compactlab.errors import BadRun
from compactlab.formats.own import save
from compactlab.report import finding, report, shown_run
from compactlab.report.page import Section, clean, page, section
from compactlab.results import RunFolder, make_manifest
from compactlab.session import Message, Text
from tests.tables_by_hand import runs
from tests.test_fates import recorded
from tests.test_notebook import cell, notebook

HOSTILE = ('<script>alert("here")</script><img src=x onerror="alert(1)"> '
           '[link](javascript:alert(2)) <a href="https://evil.example/x">there</a>')


class Page(HTMLParser):
    """Tags with their attributes, and the text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def assert_harmless(html: str) -> Page:
    """No script, no handler, no address, no picture but data; what links there are stay here."""
    read = Page(html)
    assert not re.search(r"https?:", html, re.IGNORECASE)
    names = {tag for tag, _ in read.tags}
    assert not names & {"script", "iframe", "object", "embed", "link", "base", "form", "svg"}
    for tag, attributes in read.tags:
        assert not [name for name in attributes if name.startswith("on")], tag
        assert (attributes.get("href") or "#").startswith("#")
        assert (attributes.get("src") or "data:image/png;").startswith("data:image/png;")
    return read


# --- which run the notebook about one session shows ---------------------------------------------


def test_the_shown_run_reduced_most_among_those_served_whole_of_the_longest_session() -> None:
    table = runs(
        {"session": "short", "requests": 2, "token_reduction": 0.99},
        {"strategy": "compressor", "token_reduction": 0.5},
        {"strategy": "layered", "token_reduction": 0.8, "served_share": 0.5},
        {"strategy": "layered", "token_reduction": 0.9, "compactions": 0},
        {"token_reduction": 0.4})
    files = {"s1": Path("a"), "short": Path("b")}
    chosen = shown_run(table, files)
    assert chosen is not None
    assert (chosen["session"], chosen["strategy"]) == ("s1", "compressor")


@pytest.mark.parametrize("row", [
    {"settings": '{"threshold": 0.9}'}, {"window": None}, {"summariser": "my_own"},
    {"status": "error"}, {"session": "unknown"}])
def test_a_run_that_a_notebook_cannot_replay_is_not_shown(row: dict[str, Any]) -> None:
    assert shown_run(runs(row), {"s1": Path("a")}) is None


# --- sections and the page ----------------------------------------------------------------------


def shown(folder: Path, *outputs: dict[str, Any], markdown: str = "# What is shown?") -> Section:
    made = cell("show")
    made["outputs"] = list(outputs)
    made["execution_count"] = 1
    return section(notebook(folder, cell(markdown, kind="markdown"), made, name="x.ipynb"))


def data(**bundle: str) -> dict[str, Any]:
    return {"output_type": "display_data", "metadata": {},
            "data": {name.replace("_", "/"): text for name, text in bundle.items()}}


def test_hostile_outputs_are_shown_as_text_or_not_at_all(tmp_path: Path) -> None:
    made = shown(
        tmp_path, data(text_html=HOSTILE), data(text_plain=HOSTILE), data(text_markdown=HOSTILE),
        data(text_latex=HOSTILE), data(application_javascript="alert(3)"),
        data(**{"image_svg+xml": f"<svg onload='alert(4)'>{HOSTILE}</svg>"}),
        {"output_type": "stream", "name": "stdout", "text": HOSTILE},
        markdown=f"# {HOSTILE}\n\n{HOSTILE}\n\n![x](https://evil.example/x.png)")
    read = assert_harmless(page("title", "run", ["finding"], [made], []))
    assert read.words.count('alert("here")') >= 5
    assert "alert(3)" not in read.words and "alert(4)" not in read.words


@pytest.mark.parametrize(("given", "kept"), [
    ('<img src="data:image/png;base64,QUJD" alt="a">',
     '<img src="data:image/png;base64,QUJD" alt="a">'),
    ('<img src="data:image/svg+xml;base64,QUJD">', "<img>"),
    ('<img src="picture-7">', "<img >"),
    ('<h2 id="x" onclick="y()">t</h2>', '<h2 id="x">t</h2>'),
    ('<p id="x" style="a">t</p>', "<p>t</p>"),
    ('<a href="javascript:alert(1)">t</a>', "<a>t</a>"),
    ("<iframe></iframe>", "&lt;iframe&gt;&lt;/iframe&gt;"),
])
def test_only_known_tags_and_pictures_in_the_page_are_left(given: str, kept: str) -> None:
    assert clean(given) == kept


def test_a_table_of_pandas_keeps_its_shape_and_loses_its_style(tmp_path: Path) -> None:
    import pandas as pd

    table = pd.DataFrame({"n": [1, 2], "text": ["<b>bold</b>", "word"]})
    read = Page(shown(tmp_path, data(text_html=table.to_html())).body)
    assert [len(read.all(tag)) for tag in ("table", "tr", "th", "td")] == [1, 3, 5, 4]
    assert [a.get("class") for a in read.all("td")] == [None, "text", None, "text"]
    assert "<b>bold</b>" in read.words and "vertical-align" not in read.words
    assert not read.all("b")


def test_code_is_left_out_and_headings_have_ids_of_their_own(tmp_path: Path) -> None:
    made = section(notebook(tmp_path, cell("# Same?\n\n## Part", kind="markdown"),
                            cell("secret_code()"), name="x.ipynb"))
    assert made.title == "Same?"
    assert "secret_code" not in made.body
    assert [a["id"] for a in Page(made.body).all("h2")] == ["x-Part"]


def test_the_page_escapes_every_text_and_forbids_everything_but_pictures() -> None:
    html = page(HOSTILE, HOSTILE, [HOSTILE, HOSTILE], [], [(HOSTILE, HOSTILE)])
    read = assert_harmless(html)
    policy = next(a["content"] for a in read.all("meta") if "http-equiv" in a)
    assert policy == "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
    assert read.words.count('alert("here")') == 7  # title twice, run, findings and facts in pairs
    assert "never whether the task would still have succeeded" in read.words


# --- a whole report -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    session = recorded(60)
    first = Message("user", (Text(HOSTILE),), "user", "u")
    session = msgspec.structs.replace(
        session, id="<script>x</script>", messages=(session.messages[0], first,
                                                    *session.messages[2:]))
    save(folder / "one.jsonl", [session])
    planned = plan(["raw", "escalating", "compressor"], [8_000], summariser="fallback",
                   tokenizer="rough", quality=True)
    place = RunFolder(folder / "run", "abc", quality=True)
    determines = {"files": [{"name": "one.jsonl"}], "tokenizer": {"name": "rough", "sha256": "0"},
                  "settings": planned.described()}
    place.finish(run([session], planned), make_manifest(
        determines, [{"name": "x", "reason": "no importer"}]) | {"run": "abc"})
    return report(place.folder, files={session.id: folder / "one.jsonl"})


def test_a_report_is_one_harmless_page_with_its_notebooks_beside_it(made: Path) -> None:
    names = {path.name for path in made.parent.iterdir()}
    assert names >= {"report.html", "01_one_session.ipynb", "02_compare_strategies.ipynb",
                     "03_escalation.ipynb", "04_prompt_caching.ipynb", "05_summary_quality.ipynb"}
    read = assert_harmless(made.read_text("utf-8"))
    assert len(read.all("section")) == 5
    assert len(read.all("img")) >= 14
    assert all(len(attributes["alt"] or "") > 20 for attributes in read.all("img"))


def tables(folder: Path) -> tuple[Any, Any]:
    return results.read(folder), results.read_quality(folder)


def test_the_notebook_on_quality_reads_what_the_run_measured(made: Path) -> None:
    cells = json.loads((made.parent / "05_summary_quality.ipynb").read_text("utf-8"))["cells"]
    given = next(c for c in cells if "injected-parameters" in c["metadata"].get("tags", ()))
    assert "results = '.'" in "".join(given["source"])


def test_without_recorded_files_the_quality_of_a_run_that_measured_it_is_shown(made: Path) -> None:
    from compactlab.report.build import _jobs

    runs, _ = tables(made.parent)
    names = [(path.name, parameters.get("results"), parameters.get("windows"))
             for path, parameters in _jobs(Path("n"), runs, {}, measured=True)]
    assert ("05_summary_quality.ipynb", ".", [8_000]) in names
    assert "05_summary_quality.ipynb" not in [
        path.name for path, _ in _jobs(Path("n"), runs, {}, measured=False)]


def test_a_report_opens_with_the_finding_and_its_contents_lead_somewhere(made: Path) -> None:
    html = made.read_text("utf-8")
    read = Page(html)
    first, *others = finding(*tables(made.parent))
    assert first.startswith("On 1 session at a window of 8K, ")
    assert read.words.index(first) < read.words.index("What a replay cannot show")
    assert all(text in read.words for text in others)
    assert "cannot be told, n = 0" in read.words, "the agent names nothing again in this session"
    assert "tokenizer rough, summariser fallback" in read.words
    assert "1 (no importer)" in read.words
    ids = [attributes["id"] for _, attributes in read.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = [str(attributes["href"])[1:] for attributes in read.all("a") if "href" in attributes]
    assert len(links) == 5
    assert set(links) <= set(ids)


def test_a_report_holds_nothing_of_the_machine(made: Path) -> None:
    for path in [made, *made.parent.glob("*.ipynb")]:
        text = path.read_text("utf-8")
        for private in (str(made.parent.parent), str(Path.cwd()), str(Path.home()) + "/"):
            assert private not in text, path.name
    cells = json.loads((made.parent / "01_one_session.ipynb").read_text("utf-8"))["cells"]
    given = next(c for c in cells if "injected-parameters" in c["metadata"].get("tags", ()))
    assert "session = 'one.jsonl'" in "".join(given["source"])


def test_a_folder_without_a_finished_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadRun, match="no finished run"):
        report(tmp_path)
