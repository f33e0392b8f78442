"""For all tests: no connection leaves this machine."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))
import loopback_only  # noqa: E402

loopback_only.install()
