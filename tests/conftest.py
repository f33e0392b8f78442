"""For all tests: no connection leaves this machine, and a process of pytest that crashes at its end is a failure."""

from __future__ import annotations

import codecs
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))
import loopback_only  # noqa: E402

loopback_only.install()

if sys.flags.dev_mode:
    # awkward misspells an error handler when it is imported, which only this mode notices.
    codecs.register_error("surrogatescape", codecs.lookup_error("surrogateescape"))

workers: list[subprocess.Popen[bytes]] = []  # of pytest-xdist


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Its tests are done; the process still has to end."""
    workers.append(node.gateway._io.popen)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> Iterator[None]:
    yield  # pytest-xdist waits for its workers, and kills those that take too long
    codes = [worker.wait() for worker in workers]
    bad = [code for code in codes if code not in (0, -signal.SIGKILL)]
    if bad:
        print(f"\nprocesses of pytest that ended with {bad}", file=sys.stderr)
        session.exitstatus = pytest.ExitCode.INTERNAL_ERROR
