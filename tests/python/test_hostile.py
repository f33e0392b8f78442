"""User code may run in the middle of ours: nothing that it does there may crash the interpreter."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import hostile
import pytest

HERE = Path(__file__).parent


@pytest.mark.parametrize("name", sorted(hostile.CASES))
def test_survives(name):
    result = subprocess.run(
        [sys.executable, "-X", "faulthandler", str(HERE / "hostile.py"), name], capture_output=True,
        text=True, timeout=300, check=False)
    assert result.returncode == 0, result.stderr[-4000:]
