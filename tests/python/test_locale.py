"""Numbers in a program whose locale writes a comma for the decimal point."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import json, locale, sys
from roastcoffea import _core, open_run
from roastcoffea.export.measurements import load_measurement, save_measurement
locale.setlocale(locale.LC_ALL, "")
comma = locale.localeconv()["decimal_point"]
values = [(0.0251, "s"), (12345.6, "s"), (12.3, "kHz"), (58.6, "%"), (2.5e9, "bytes"), (1234567.0, "1"), (0.123, "1")]
texts = [_core.format_value(value, unit) for value, unit in values]
save_measurement({"wall_time": 1.5}, 1790000000.5, 1790000010.75, sys.argv[1], "run")
run = open_run(sys.argv[1] + "/run")
old = load_measurement(sys.argv[2])
print(json.dumps([comma, texts, run.t_start, run.t_end, old[1], old[2]]))
"""


@pytest.fixture(scope="module")
def commas(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a program with German numbers."""
    folder = tmp_path_factory.mktemp("locales")
    if shutil.which("localedef") is None or not Path("/usr/share/i18n/locales/de_DE").exists():
        pytest.skip("no sources of locales are installed")
    subprocess.run(["localedef", "--no-archive", "-i", "de_DE", "-f", "UTF-8", folder / "de_DE.UTF-8"], check=True)
    return {**os.environ, "LOCPATH": str(folder), "LC_ALL": "de_DE.UTF-8"}


def told(environment: dict[str, str], folder: Path) -> list[object]:
    old = folder / "old"
    old.mkdir(parents=True)
    (old / "metrics.json").write_text('{"wall_time": 10.25}')
    (old / "metadata.json").write_text('{"format": "roastcoffea_measurement_v1", "elapsed_time_seconds": 10.25}')
    (old / "start_end_time.txt").write_text("1790000000.5,1790000010.75")
    done = subprocess.run([sys.executable, "-c", PROGRAM, folder, old], env=environment, capture_output=True, text=True,
                          timeout=120, check=True)
    answer: list[object] = json.loads(done.stdout)
    return answer


def test_numbers_have_a_point_in_every_locale(commas: dict[str, str], tmp_path: Path) -> None:
    plain = told({**os.environ, "LC_ALL": "C.UTF-8"}, tmp_path / "plain")
    german = told(commas, tmp_path / "german")
    assert (plain[0], german[0]) == (".", ",")
    assert german[1:] == plain[1:]
    assert plain[1] == ["25.1 ms", "3.43 h", "12.3 kHz", "58.6 %", "2.50 GB", "1,234,567", "0.123"]
    assert plain[2:] == [1790000000.5, 1790000010.75, 1790000000.5, 1790000010.75]
