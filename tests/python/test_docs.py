"""What the pages say is there: names, verbs, options, keys, pictures. tests/lint checks their links."""

from __future__ import annotations

import ast
import importlib
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from bench import document

import roastcoffea

ROOT = Path(__file__).resolve().parent.parent.parent
DOCS = ROOT / "docs"
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md"))]
BLOCK = re.compile(r"^```([^\n`]*)\n(.*?)^```[ ]*$", re.M | re.S)
LARGEST_PICTURE = 300_000


def page_ids(page):
    return str(page.relative_to(ROOT))


def blocks(page, kind):
    text = page.read_text(encoding="utf-8")
    return [body for found, body in BLOCK.findall(text) if found.strip() == kind]


def manual():
    """The manual page, without its marks."""
    return re.sub(r"\\f.|\\", "", (ROOT / "cli" / "roast.1").read_text(encoding="utf-8"))


def verbs():
    return re.findall(r'^\.SS "roast (\w+)', manual(), re.M)


@pytest.mark.parametrize("page", PAGES, ids=page_ids)
def test_python_blocks(page):
    """They compile, and what they import of ours is there."""
    for code in blocks(page, "python"):
        for node in ast.walk(ast.parse(code)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(("roastcoffea", "coffea_metrics")):
                module = importlib.import_module(node.module)
                assert [alias.name for alias in node.names if not hasattr(module, alias.name)] == []


def commands(page):
    """Calls of the program in blocks and in the text: ``(verb, options)``."""
    text = page.read_text(encoding="utf-8")
    lines = [line for body in blocks(page, "sh") for line in body.splitlines()]
    lines += re.findall(r"`(roast [^`\n]+)`", text)
    for line in lines:
        match = re.match(r"roast (\w+)(.*)", line.split(" -- ")[0].split(" #")[0])
        if match:
            yield match[1], re.findall(r"(?<!\S)--[a-z][-a-z]*", match[2])


@pytest.mark.parametrize("page", PAGES, ids=page_ids)
def test_commands(page):
    """Every verb and every option that a page names is in the manual."""
    known = manual()
    for verb, options in commands(page):
        assert verb in verbs()
        assert [option for option in options if option not in known] == []


def test_every_verb_is_described():
    assert len(verbs()) >= 8
    text = (DOCS / "measurements.md").read_text(encoding="utf-8")
    assert [verb for verb in verbs() if f"roast {verb}" not in text] == []


def test_every_plot_is_listed():
    text = (DOCS / "plots.md").read_text(encoding="utf-8")
    assert [name for name in roastcoffea.__all__ if name.startswith("plot_") and name not in text] == []


def keys():
    """Every key and other name of the catalogue, as the page of metrics has them."""
    return set(re.findall(r"`(\w+)`", (DOCS / "metrics.md").read_text(encoding="utf-8")))


@pytest.mark.parametrize("page", PAGES, ids=page_ids)
def test_metrics_in_examples(page):
    """A key that an example looks up, or a command explains, is one that there is."""
    known = keys() | {"sections", "chunk_info", "budget", "per_dataset", "tracking_data"}
    found = set(re.findall(r"roast explain (\w+)", page.read_text(encoding="utf-8")))
    for code in blocks(page, "python"):
        found |= set(re.findall(r"""(?:get_metrics\(\)|\bmetrics)\[["'](\w+)["']\]""", code))
    assert found - known - {"KEY", "KIND", "NAME", "alone"} == set()


def test_the_readme_is_short():
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 60
    assert [line for line in lines if len(line) > 120] == []
    assert {"make demo", "make test"} <= set(re.findall(r"`(make \w+)`", "\n".join(lines)))


def test_costs_in_the_readme():
    """They are those of the page of performance, and none is missing there."""
    readme, page = ((path).read_text(encoding="utf-8") for path in (ROOT / "README.md", document.PAGE))
    table = document.costs(page)
    assert table in readme
    assert [line for line in table.splitlines() if line.split(" | ")[1] == "-"] == []


def test_a_cost_that_was_not_measured():
    table = document.costs("# Performance\n")
    assert "0" not in re.sub(r"`.*?`|1,500|0\.1\.2|95 %", "", table)
    assert document.with_costs("## What it costs\n\n| old |\n\nMore", "") == f"## What it costs\n\n{table}\nMore"


QUESTIONS = ["How fast?", "Where did the time go?", "What should I change?", "Is it better now?",
             "What is happening now?"]


def test_five_questions():
    """Each leads to a page, and each is a part of the table of contents."""
    text = (DOCS / "index.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \*\*(.+?)\*\* \| .*`.+` \| .*\]\((\S+?\.md)", text, re.M)
    assert [question for question, _ in rows] == QUESTIONS
    assert [page for _, page in rows if not (DOCS / page).is_file()] == []
    assert [question for question in QUESTIONS if f":caption: {question}\n" not in text] == []


def pictures():
    return [path for path in sorted((DOCS / "images").iterdir()) if path.suffix in (".png", ".svg")]


def test_pictures_are_used():
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert {"report.png", "summary.svg"} <= {path.name for path in pictures()}
    assert [path.name for path in pictures() if f"images/{path.name}" not in text] == []


@pytest.mark.parametrize("path", pictures(), ids=lambda path: path.name)
def test_picture(path):
    """Small, and complete in itself."""
    data = path.read_bytes()
    assert len(data) < LARGEST_PICTURE
    if path.suffix == ".png":
        assert data.startswith(b"\x89PNG\r\n\x1a\n")
    else:
        ElementTree.fromstring(data)
        assert re.findall(rb"""(?:url\(["']?|href=["'])https?:""", data) == []


def test_the_version_is_said_once():
    """No page but the changelog names a version of ours that would have to be kept up."""
    for page in PAGES:
        if page.name != "CHANGELOG.md":
            assert roastcoffea.__version__ not in page.read_text(encoding="utf-8")
