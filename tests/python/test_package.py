"""What `import roastcoffea` loads, and what it loads when somebody asks."""

from __future__ import annotations

import subprocess
import sys

import pytest
import roastcoffea


def in_fresh_python(code):
    command = [sys.executable, "-c", "import sys, roastcoffea\n" + code]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def test_a_worker_loads_no_more_than_the_engine():
    loaded = in_fresh_python("print(*(name for name in sys.modules if name.startswith('roastcoffea.')))")
    # The last holds the names of the plots, and imports nothing.
    assert loaded == ["roastcoffea._core", "roastcoffea.instrumentation", "roastcoffea.visualization"]
    assert in_fresh_python("print('numpy' in sys.modules, 'matplotlib' in sys.modules)") == ["False", "False"]


@pytest.mark.parametrize("name", ["MetricsCollector", "load_measurement", "open_run", "register_backend", "plot_all"])
def test_what_is_asked_for_is_there_for_good(name):
    code = f"print(roastcoffea.{name}.__name__, '{name}' in vars(roastcoffea), '{name}' in dir(roastcoffea))"
    assert in_fresh_python(code) == [name, "True", "True"]


@pytest.mark.parametrize("name", sorted(roastcoffea._MODULES))
def test_its_modules_need_no_import_of_their_own(name):
    assert in_fresh_python(f"print(roastcoffea.{name}.__name__)") == [f"roastcoffea.{name}"]


def test_a_star_brings_all():
    code = "names = {}; exec('from roastcoffea import *', names); print(*sorted(names.keys() - {'__builtins__'}))"
    assert in_fresh_python(code) == sorted(roastcoffea.__all__)


def test_what_is_not_there():
    with pytest.raises(AttributeError, match="module 'roastcoffea' has no attribute 'espresso'"):
        roastcoffea.espresso  # noqa: B018
