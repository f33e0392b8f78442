"""Every note that the code can make is on docs/notes.md, below a heading."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
CODE = sorted((ROOT / "python" / "roastcoffea").rglob("*.py"))
# The C files that make notes. A literal that begins here is one: add_note(log, "..."), note(input, "...").
C_FILES = ["src/engines/taskvine_run.c", "src/store/legacy/legacy.c"]
C_NOTE = re.compile(r"\b(?:add_note|note)\(\s*\w+,\s*((?:\"(?:\\\\.|[^\"\\\\])*\"\s*(?:PRIu64\s*)?)+)")
SHORTEST = 4  # letters; a shorter piece between two names says nothing


def pieces(node):
    """The longest piece of a text that is the same each time; None if it is not known here."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        found = [part.value for part in node.values if isinstance(part, ast.Constant)]
        return max(found, key=len, default=None)
    return None


def makes_a_note(call):
    """hook("..."), attempt("..."), note("..."), self.note("..."), notes.add("..."), cannot.append("...")."""
    function = call.func
    name = getattr(function, "attr", getattr(function, "id", ""))
    owner = ast.unparse(function.value) if isinstance(function, ast.Attribute) else ""
    of_notes = name in ("add", "append") and owner.rpartition(".")[2].lstrip("_") in ("notes", "cannot")
    return of_notes or name in ("hook", "attempt", "note")


def python_notes():
    for path in CODE:
        if "visualization" in path.parts:  # there note() writes into a plot
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and node.args and makes_a_note(node):
                text = pieces(node.args[0])
                if text is not None and len(text.strip(" :;,.()")) >= SHORTEST:
                    yield path.name, text


def c_notes():
    for name in C_FILES:
        for found in C_NOTE.findall((ROOT / name).read_text(encoding="utf-8")):
            text = re.sub(r'"\s*"', "", found.replace("PRIu64", "")).strip().strip('"').replace('\\"', '"')
            yield Path(name).name, max(re.split(r"%(?:\.\*)?\w*\s*|\"", text), key=len)


NOTES = sorted({(where, " ".join(text.split()).strip(" :;,.(")) for where, text in [*python_notes(), *c_notes()]})


def page():
    """Below the first heading of a part, without the breaks of lines."""
    text = (ROOT / "docs" / "notes.md").read_text(encoding="utf-8")
    return " ".join(text[text.index("\n## "):].split())


@pytest.mark.parametrize(("where", "text"), NOTES)
def test_a_note_has_its_place(where, text):
    assert text in page()


def test_the_notes_are_found():
    """Some of each form of call, so that an empty list does not pass."""
    texts = {text for _, text in NOTES}
    assert len(texts) > 80
    for one in ("the end of watching", "the workers could not be sampled", "written by roastcoffea 0.1.x",
                "without the TaskVineExecutor itself nothing is known of its workers: MetricsCollector(executor)",
                "took more than allowed (RESOURCE_EXHAUSTION)"):
        assert [text for text in texts if one in text] != [], one


def test_every_part_has_a_name():
    """An anchor that stays when the heading is changed."""
    text = (ROOT / "docs" / "notes.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## .+$", text, re.M)
    anchors = re.findall(r"^\(notes-\w+\)=\n## ", text, re.M)
    assert len(anchors) == len(headings) > 5
