"""Type checkers accept a user's program: tests/typing/users_program.py uses the public names as users do."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import roastcoffea

PROGRAM = Path(__file__).resolve().parent.parent / "typing" / "users_program.py"
PACKAGES = Path(roastcoffea.__file__).resolve().parent.parent
# What is installed is found by itself, and must not be named.
INSTALLED = PACKAGES in {Path(sysconfig.get_path(name)).resolve() for name in ("purelib", "platlib")}
# A type checker under the sanitizers takes minutes and says nothing new.
pytestmark = pytest.mark.skipif("asan" in os.environ.get("LD_PRELOAD", ""), reason="the sanitizers are on")


def run(command, **environment):
    result = subprocess.run(
        list(map(str, command)), env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    return result.returncode, result.stdout + result.stderr


def mypy(program, cache):
    environment = {} if INSTALLED else {"MYPYPATH": str(PACKAGES)}
    return run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", cache, program], **environment)


def find_pyright():
    """Beside this Python, or on the path. ROAST_PYRIGHT names another one."""
    folders = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return os.environ.get("ROAST_PYRIGHT") or shutil.which("pyright", path=folders)


def pyright(program, folder):
    """Checks a copy: the settings of a folder hold for all that is in it."""
    shutil.copy(program, folder)
    settings = {"include": [program.name], "typeCheckingMode": "strict"}
    if not INSTALLED:
        settings["extraPaths"] = [str(PACKAGES)]
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    return run([find_pyright(), "--pythonpath", sys.executable, "-p", folder], PYRIGHT_PYTHON_IGNORE_WARNINGS="1")


@pytest.fixture(scope="module")
def wrong_program(tmp_path_factory):
    """The same program with one line more, which no checker may accept."""
    path = tmp_path_factory.mktemp("wrong") / PROGRAM.name
    path.write_text(PROGRAM.read_text(encoding="utf-8") + "\nnumber: int = MetricsCollector().get_metrics()\n")
    return path


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")
def test_mypy(tmp_path, wrong_program):
    code, output = mypy(PROGRAM, tmp_path)
    assert code == 0, output
    code, output = mypy(wrong_program, tmp_path)
    assert code == 1 and "Incompatible types in assignment" in output


@pytest.mark.skipif(find_pyright() is None, reason="pyright is not installed")
def test_pyright(tmp_path, wrong_program):
    code, output = pyright(PROGRAM, tmp_path)
    assert code == 0, output
    code, output = pyright(wrong_program, tmp_path)
    assert code == 1 and "is not assignable" in output


def test_the_program_uses_every_public_name_but_plots():
    text = PROGRAM.read_text(encoding="utf-8")
    names = [name for name in roastcoffea.__all__ if not name.startswith("plot_")]
    assert [name for name in names if name not in text] == []
