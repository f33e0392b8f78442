"""The pages of the API have every public name, and words for every parameter."""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import inspect
import re
from pathlib import Path

import pytest

import roastcoffea

DOCS = Path(__file__).resolve().parent.parent.parent / "docs"
PAGES = sorted((DOCS / "api").glob("*.md"))
DIRECTIVE = re.compile(r"^\.\. (?:auto|py:)(class|function|data):: ([\w.]+)\S*((?:\n   :.*)*)", re.M)
# Modules of the contract whose public names are all on the pages.
MODULES = [
    "export.reporter", "instrumentation", "backends.base", "aggregation.workflow", "aggregation.efficiency",
    "aggregation.fine_metrics", "aggregation.branch_coverage", "aggregation.backends.dask",
]


def load_parameters():
    spec = importlib.util.spec_from_file_location("docs_parameters", DOCS / "parameters.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


parameters = load_parameters()


def directives():
    """``{dotted name: options}`` of what the pages show."""
    return {name: options for page in PAGES for _, name, options in DIRECTIVE.findall(page.read_text(encoding="utf-8"))}


SHOWN = directives()


def found(name):
    """The object of a dotted name."""
    parts = name.split(".")
    for i in range(len(parts) - 1, 0, -1):
        try:
            thing = importlib.import_module(".".join(parts[:i]))
        except ModuleNotFoundError:
            continue
        for part in parts[i:]:
            thing = getattr(thing, part)
        return thing
    raise AssertionError(name)


@pytest.mark.parametrize("name", roastcoffea.__all__)
def test_a_public_name_is_shown(name):
    assert f"roastcoffea.{name}" in SHOWN


@pytest.mark.parametrize("module", MODULES)
def test_the_names_of_a_module_are_shown(module):
    public = importlib.import_module(f"roastcoffea.{module}").__all__
    things = [found(name) for name in SHOWN]
    missing = [name for name in public if found(f"roastcoffea.{module}.{name}") not in things]
    assert missing == []


def members(thing, options):
    """The methods that autodoc shows: with a docstring, and of the class itself unless the page asks for more."""
    if ":no-members:" in options:
        return
    chosen = {name for names in re.findall(r":members: (.+)", options) for name in names.split(", ")}
    for name, method in inspect.getmembers(thing, callable):
        own = name in vars(thing) or ":inherited-members:" in options
        if not name.startswith("_") and own and inspect.getdoc(method) and (not chosen or name in chosen):
            yield name, method


CHECKED = [name for name in SHOWN if name not in ("roastcoffea.__version__", "roastcoffea.track_section")]


@pytest.mark.parametrize("name", CHECKED)
def test_every_parameter_is_described(name):
    thing = found(name)
    assert inspect.getdoc(thing)
    checked = [(name, thing)]
    if inspect.isclass(thing):
        checked += [(f"{name}.{method}", value) for method, value in members(thing, SHOWN[name])]
    if dataclasses.is_dataclass(thing) or hasattr(thing, "_fields"):
        del checked[0]  # its parameters are its fields
        lines = inspect.getsource(thing).splitlines()
        fields = [line for line in lines if re.match(r"    \w+: ", line)]
        assert fields and [line for line in fields if "  #: " not in line] == []
    missing = [f"{where}: {parameter}" for where, one in checked
               for parameter, words in parameters.added(where, one, inspect.getdoc(one)) if words is None]
    assert missing == []


def test_words_are_used():
    """No entry of the table is left over from a parameter that is gone."""
    things = [(name, found(name)) for name in CHECKED]
    things += [(f"{name}.{method}", value) for name, thing in things if inspect.isclass(thing)
               for method, value in members(thing, SHOWN[name])]
    used = {words for name, thing in things if not dataclasses.is_dataclass(thing)
            for _, words in parameters.added(name, thing, inspect.getdoc(thing))}
    assert [key for key, words in parameters.WORDS.items() if words not in used] == []


def test_a_parameter_without_words():
    def given(known, unknown):
        """Words.

        Args:
            known: It is described.
        """

    assert list(parameters.added("given", given, given.__doc__)) == [("unknown", None)]
