"""User code may run in the middle of ours: nothing that it does there may crash the interpreter."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import hostile_hooks  # noqa: F401
import hostile_mappings  # noqa: F401
import hostile_numbers  # noqa: F401
import hostile_scheduler  # noqa: F401
import pytest
from hostile import CASES

HERE = Path(__file__).parent


@pytest.mark.parametrize("name", sorted(CASES))
def test_survives(name):
    result = subprocess.run(
        [sys.executable, "-X", "faulthandler", str(HERE / "hostile.py"), name], capture_output=True,
        text=True, timeout=300, check=False)
    assert result.returncode == 0, result.stderr[-4000:]
