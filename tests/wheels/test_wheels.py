"""What `make wheel` has built: each wheel holds the whole package and works where there is nothing but its Python.

Each is installed alone into an empty environment, in which the loader does not find SQLite, jansson and zstd. Those for
another Python than that of the tests pass a core of the Python tests, too.
"""

import os
import shutil
import subprocess
import sys
import zipfile
from email import message_from_bytes
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import wheels

WHEELS = sorted((ROOT / "dist").glob("*.whl"))

HIDDEN = """
import ctypes
for name in ("libsqlite3.so.0", "libjansson.so.4", "libzstd.so.1"):
    try:
        ctypes.CDLL(name)
    except OSError:
        pass
    else:
        raise SystemExit(f"{name} is not hidden")
"""

VERSION = """
import roastcoffea, coffea_metrics
assert coffea_metrics.track_metrics is roastcoffea.track_metrics
print(roastcoffea.__version__)
"""

MEASURE = """
import sys
from roastcoffea import MetricsCollector, load_measurement, track_metrics, track_time

class Analysis:
    @track_metrics
    def process(self, events):
        with track_time(self, "selection"):
            return {"n": sum(range(events))}

analysis = Analysis()
with MetricsCollector(processor_instance=analysis, output_dir=sys.argv[1]) as mc:
    mc.extract_metrics_from_output(analysis.process(1000))
    mc.set_coffea_report({"entries": 1000, "bytesread": 10, "processtime": 1e-4, "chunks": 1})
print(mc.get_metrics()["num_successful_chunks"])
"""

SUMMARY = "import roastcoffea, sys; roastcoffea.open_run(sys.argv[1]).print_summary(full=True)"

# What is asked for, and the extra that it needs.
EXTRAS = """
import contextlib, io, roastcoffea, runpy, sys
from roastcoffea.export.measurements import load_measurement
run = roastcoffea.open_run(sys.argv[1])
for what in ("run.print_summary()", "run.save_report('report.html')", "roastcoffea.plot_all",
             "roastcoffea.compare(run, run).save_report('comparison.html')", "roastcoffea.board('.')",
             "run._repr_html_()", "run.diagnose()", "run.budget()"):
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            eval(what)
    except ImportError as error:
        print(what, "|", error)
    else:
        print(what, "| works")
"""

# Where the extension meets objects, memory and errors of its interpreter; and what these files need.
CORE = ("attempts", "channel", "chunk_log", "clocks", "custom_values", "entering", "golden", "interrupts", "legacy", "marks",
        "measurements", "progress", "reads", "recorder", "run", "sections", "series", "settings", "tasks",
        "taskvine", "tracked")
CORE_NEEDS = ("pytest", "cloudpickle", "numpy")


@pytest.fixture(scope="module")
def hidden(tmp_path_factory):
    """The environment of processes that do not find the system's libraries."""
    library = tmp_path_factory.mktemp("hide") / "hide.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, Path(__file__).with_name("hide.c")], check=True)
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "LD_"))}
    return {**clean, "LD_AUDIT": str(library)}


def run(*command, environment=None, folder=None):
    result = subprocess.run([str(word) for word in command], cwd=folder, text=True, env=environment,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    assert result.returncode == 0, result.stdout
    return result.stdout


def version_of(wheel):
    """Of Python: "3.12"."""
    tag = wheel.name.split("-")[2].removeprefix("cp")
    return f"{tag[0]}.{tag[1:]}"


@pytest.fixture(scope="module", params=[pytest.param(wheel, id=version_of(wheel), marks=pytest.mark.xdist_group(version_of(wheel)))
                                        for wheel in WHEELS])
def wheel(request):
    return request.param


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """The bin folder of an environment that holds the wheel alone."""
    folder = tmp_path_factory.mktemp("environment")
    python = wheels.find_python(version_of(wheel))
    run(python, "-m", "venv", "--without-pip", folder)
    run(sys.executable, "-m", "pip", "--python", folder / "bin" / "python", "install", "--no-index", wheel)
    return folder / "bin"


def test_there_is_one_for_each_python():
    here = [version for version in wheels.PYTHONS if wheels.find_python(version)]
    assert here
    assert sorted(version_of(wheel) for wheel in WHEELS) == here


@pytest.mark.parametrize("pattern", [
    "roastcoffea/__init__.py",
    "roastcoffea/_core*.so",
    "roastcoffea/_core.pyi",
    "roastcoffea/py.typed",
    "roastcoffea.libs/libsqlite3-*",
    "roastcoffea.libs/libjansson-*",
    "roastcoffea.libs/libzstd-*",
    "coffea_metrics/__init__.py",
    "roastcoffea-*.data/scripts/roast",
    "roastcoffea-*.dist-info/licenses/LICENSE",
    "roastcoffea-*.dist-info/licenses/THIRD-PARTY.md",
])
def test_wheel_holds(wheel, pattern):
    names = zipfile.ZipFile(wheel).namelist()
    assert [name for name in names if fnmatch(name, pattern)], "\n".join(names)


def test_the_program_is_no_script(installed):
    assert (installed / "roast").read_bytes().startswith(b"\x7fELF")


@pytest.mark.parametrize("place", ["lib/{}/site-packages", "lib64/{}/site-packages", "local/lib/{}/dist-packages"])
def test_the_program_finds_its_libraries(installed, hidden, place, tmp_path):
    """As a user, Red Hat and Debian install it."""
    (libraries,) = installed.parent.glob("lib/*/site-packages/roastcoffea.libs")
    shutil.copytree(libraries, tmp_path / place.format(libraries.parts[-3]) / libraries.name)
    program = tmp_path / place.partition("lib")[0] / "bin" / "roast"
    program.parent.mkdir()
    shutil.copy(installed / "roast", program)
    assert run(program, "--version", environment=hidden).startswith("roast ")


def test_the_program_starts_after_pip_install_target(wheel, hidden, tmp_path):
    run(sys.executable, "-m", "pip", "install", "--no-index", "--no-deps", "--only-binary=:all:", "--target", tmp_path,
        f"--python-version={version_of(wheel)}", wheel)
    assert run(tmp_path / "bin" / "roast", "--version", environment=hidden).startswith("roast ")


def test_wheel_holds_nothing_else(wheel):
    """No test, no library of ours, nothing that a build left behind, nothing twice."""
    names = zipfile.ZipFile(wheel).namelist()
    assert len(names) == len(set(names)), "\n".join(names)
    for name in names:
        assert name.startswith(("roastcoffea/", "coffea_metrics/", "roastcoffea-", "roastcoffea.")), name
        assert not name.endswith((".a", ".o", ".c", ".h", ".pyc")), name


def test_the_package_alone_needs_nothing(wheel):
    archive = zipfile.ZipFile(wheel)
    (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
    metadata = message_from_bytes(archive.read(name))
    assert metadata.get_all("Provides-Extra") == ["coffea", "dask", "parsl", "plots", "report", "all"]
    assert all("extra ==" in needed for needed in metadata.get_all("Requires-Dist"))


def test_version_is_one(wheel, installed, hidden):
    version = wheel.name.split("-")[1]
    assert run(installed / "roast", "--version", environment=hidden) == f"roast {version}\n"
    assert run(installed / "python", "-c", VERSION, environment=hidden) == f"{version}\n"


def test_it_measures_and_shows(installed, hidden, tmp_path):
    run(installed / "python", "-c", HIDDEN, environment=hidden)
    assert run(installed / "python", "-c", MEASURE, tmp_path / "runs", environment=hidden) == "1\n"
    (measured,) = (tmp_path / "runs").iterdir()
    shown = run(installed / "roast", "show", measured, environment=hidden)
    assert "1,000" in shown and shown.startswith("Done"), shown
    assert "selection" in run(installed / "roast", "sql", measured, "SELECT name FROM sections", environment=hidden)

    full = run(installed / "roast", "show", "--full", measured, environment=hidden)
    assert run(installed / "python", "-c", SUMMARY, measured, environment=hidden) == full

    told = run(installed / "python", "-c", EXTRAS, measured, environment=hidden, folder=tmp_path)
    for line, words in zip(told.splitlines(), [
        "works",
        "bokeh, which cannot be imported here: python -m pip install 'roastcoffea[report]'",
        "matplotlib, which cannot be imported here: python -m pip install 'roastcoffea[plots]'",
        "numpy, which cannot be imported here: python -m pip install 'roastcoffea[plots]'",
        "tornado, which cannot be imported here: python -m pip install 'roastcoffea[report]'",
        "works",
        "works",
        "works",
    ], strict=True):
        assert line.endswith(words), told


def test_the_core_of_the_python_tests_passes(wheel, installed):
    """Last: from here on, the environment holds more than the wheel."""
    if version_of(wheel) == ".".join(map(str, sys.version_info[:2])):
        pytest.skip("all tests run with this Python")
    run(sys.executable, "-m", "pip", "--python", installed / "python", "install", "--disable-pip-version-check", *CORE_NEEDS)
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    print(run(installed / "python", "-m", "pytest", "-q", "-o", "cache_dir=build/pytest-cache-core",
              "-k", "not test_public_names", *(f"tests/python/test_{name}.py" for name in CORE),
              environment=clean, folder=ROOT))
