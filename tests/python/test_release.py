"""The version, the bounds of the extras and the names of files are the same wherever they are written."""

import re
import tomllib
from pathlib import Path

import jinja2
import pytest
import roastcoffea
import yaml

ROOT = Path(__file__).resolve().parent.parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
VERSION = re.search(r"version: '([^']+)'", (ROOT / "meson.build").read_text())[1]
CONDA = ROOT / "packaging" / "conda" / "meta.yaml"
# What conda calls a package of PyPI.
CONDA_NAMES = {"matplotlib": "matplotlib-base", "parsl[monitoring]": "parsl"}


@pytest.fixture(scope="module")
def recipe():
    text = jinja2.Template(CONDA.read_text()).render(PYTHON="python", compiler=lambda language: f"{language}_compiler")
    return yaml.safe_load(text)


def bounds():
    """{package: oldest version} of all extras."""
    found = [needed.split(">=") for name, extra in PROJECT["optional-dependencies"].items() if name != "all"
             for needed in extra]
    oldest = dict(found)
    assert all(oldest[package] == version for package, version in found), "two bounds for one package"
    return oldest


def test_version():
    assert roastcoffea.__version__ == VERSION
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == VERSION
    assert f"\n## [{VERSION}]" in (ROOT / "CHANGELOG.md").read_text()


def test_all_is_all():
    extras = dict(PROJECT["optional-dependencies"])
    assert extras.pop("all") == [f"roastcoffea[{','.join(extras)}]"]


def test_conda_recipe(recipe):
    assert recipe["package"] == {"name": PROJECT["name"], "version": VERSION}
    assert recipe["source"]["path"] == f"../../dist/roastcoffea-{VERSION}.tar.gz"
    assert (ROOT / recipe["about"]["license_file"]).is_file()
    assert recipe["about"]["license"] == PROJECT["license"]
    constrained = dict(line.split(" >=") for line in recipe["requirements"]["run_constrained"])
    assert constrained == {CONDA_NAMES.get(package, package): version for package, version in bounds().items()}


def test_conda_builds_with_what_meson_asks_for(recipe):
    asked = re.findall(r"dependency\('(\w+)', version: '>=([\d.]+)'\)", (ROOT / "meson.build").read_text())
    host = dict(line.split(" >=") for line in recipe["requirements"]["host"] if " " in line)
    names = {"jansson": "jansson", "sqlite3": "libsqlite", "libzstd": "zstd"}
    assert {names[name]: version for name, version in asked}.items() <= host.items()


def test_docs_name_the_bounds():
    page = (ROOT / "docs" / "compatibility.md").read_text()
    for package, version in bounds().items():
        assert re.search(rf"\| {re.escape(package.partition('[')[0])} \| {re.escape(version)} \|", page), package
