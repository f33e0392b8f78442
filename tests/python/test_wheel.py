"""The wheel holds the whole package, and what it installs works in an empty environment."""

import os
import subprocess
import sys
import zipfile
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


def run(*command):
    # The build backend looks for ninja beside the Python that runs it.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    result = subprocess.run([str(word) for word in command], cwd=ROOT, text=True,
                            env={**os.environ, "PATH": path}, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, check=False)
    assert result.returncode == 0, result.stdout
    return result.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation",
        "--config-settings=build-dir=build/wheel", "--wheel-dir", folder, ".")
    (found,) = folder.glob("roastcoffea-*.whl")
    return found


@pytest.mark.parametrize("pattern", [
    "roastcoffea/__init__.py",
    "roastcoffea/_core*.so",
    "roastcoffea/_core.pyi",
    "roastcoffea/py.typed",
    "coffea_metrics/__init__.py",
    "roastcoffea-*.data/scripts/roast",
    "roastcoffea-*.dist-info/licenses/LICENSE",
])
def test_wheel_holds(wheel, pattern):
    names = zipfile.ZipFile(wheel).namelist()
    assert [name for name in names if fnmatch(name, pattern)], "\n".join(names)


def test_wheel_holds_nothing_else(wheel):
    """No test, no library of ours, nothing that a build left behind, nothing twice."""
    names = zipfile.ZipFile(wheel).namelist()
    assert len(names) == len(set(names)), "\n".join(names)
    for name in names:
        assert name.startswith(("roastcoffea/", "coffea_metrics/", "roastcoffea-")), name
        assert not name.endswith((".a", ".o", ".c", ".h", ".pyc")), name


def test_installed_wheel_works(wheel, tmp_path):
    environment = tmp_path / "environment"
    run(sys.executable, "-m", "venv", "--without-pip", environment)
    python = environment / "bin" / "python"
    run(sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", wheel)
    version = wheel.name.split("-")[1]
    assert run(environment / "bin" / "roast", "--version") == f"roast {version}\n"
    script = ("import roastcoffea, coffea_metrics; "
              "assert coffea_metrics.track_metrics is roastcoffea.track_metrics; "
              "print(roastcoffea.__version__)")
    assert run(python, "-I", "-c", script) == f"{version}\n"
