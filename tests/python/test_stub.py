"""_core.pyi says what the extension has: every name, both ways, and every signature."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest

from roastcoffea import _core

# A type checker under the sanitizers takes minutes and says nothing new.
needs_mypy = pytest.mark.skipif(
    importlib.util.find_spec("mypy") is None or "asan" in os.environ.get("LD_PRELOAD", ""),
    reason="mypy is not installed, or the sanitizers are on")
STUB = Path(__file__).resolve().parent.parent.parent / "python" / "roastcoffea" / "_core.pyi"


def stub_names():
    """The public names of the stub; what begins with _ and is no function is a helper of the stub."""
    names = set()
    for node in ast.parse(STUB.read_text()).body:
        if isinstance(node, ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            names.add(node.name)
        elif isinstance(node, ast.AnnAssign) and node.target.id == "__version__":
            names.add(node.target.id)
    return names


def module_names():
    """Without those that Python makes, some of them when somebody looks."""
    return {name for name in vars(_core) if not name.startswith("__") or name == "__version__"}


def test_names():
    assert _core.__annotations__ == {}  # a look makes the name; some tests look
    assert stub_names() == module_names()


def methods_of(name):
    (found,) = [node for node in ast.parse(STUB.read_text()).body
                if isinstance(node, ast.ClassDef) and node.name == name]
    return {node.name for node in found.body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("name", ["ChunkLog", "ChunkRecord", "ProcessTree", "WorkerSeries"])
def test_methods(name):
    own = {key for key, value in vars(getattr(_core, name)).items()
           if not key.startswith("_") and not hasattr(list, key)
           and not inspect.ismemberdescriptor(value)}
    stub = {key for key in methods_of(name) if not key.startswith("_") and not hasattr(list, key)}
    assert stub == own


@pytest.mark.parametrize("name", sorted(name for name in stub_names() if name[0] != "_"))
def test_documented(name):
    assert getattr(_core, name).__doc__


@needs_mypy
def test_stubtest(tmp_path):
    # Newer checkers want a mark here that older ones do not know.
    allowed = tmp_path / "allowed.txt"
    allowed.write_text("roastcoffea._core.BaseInstrumentationContext\n")
    result = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "--allowlist", str(allowed),
         "--ignore-unused-allowlist", "roastcoffea._core"],
        cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


@needs_mypy
def test_package_is_typed(tmp_path):
    result = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path), "-p", "roastcoffea"],
        cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
