"""Verbs of `roast` that Python does, asked as a user asks them: by the program that is installed with the package."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

GOLDEN = Path(__file__).resolve().parent.parent / "data" / "measurement_v2"


@pytest.fixture
def roast(tmp_path):
    """Runs it in an empty folder, with a browser that writes down what it is to open."""
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" >> {tmp_path}/opened\n')
    browser.chmod(0o755)
    program = Path(sys.executable).with_name("roast")

    def run(*arguments):
        return subprocess.run([program, *map(str, arguments)], cwd=tmp_path, capture_output=True, text=True, check=False,
                              env={**os.environ, "BROWSER": str(browser)})
    return run


def test_report_is_written_and_opened(roast, tmp_path):
    shutil.copytree(GOLDEN, tmp_path / "a run")
    told = roast("report", "a run", "--open")
    assert (told.stdout, told.stderr, told.returncode) == ("a run.html\n", "", 0)
    assert (tmp_path / "a run.html").read_text().startswith("<!DOCTYPE html>")
    assert (tmp_path / "opened").read_text() == f"{(tmp_path / 'a run.html').as_uri()}\n"


def test_report_of_nothing(roast):
    told = roast("report", "-o", "there.html", "nothing")
    assert told.returncode == 1 and "nothing" in told.stderr and not told.stdout
