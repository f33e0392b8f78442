"""SQL over a measurement: in a process of its own, with limits."""

from __future__ import annotations

import asyncio
import json
import resource
import shutil
import sys
from pathlib import Path
from typing import Any

__all__ = ["Refused", "ask", "tables"]

SECONDS, ROWS, MEMORY, ANSWER = 10, 10_000, 4 << 30, 64 << 20


class Refused(Exception):
    """The text says why."""


def program() -> str:
    """The program `roast`, which is installed with this package."""
    beside = Path(sys.executable).with_name("roast")
    found = str(beside) if beside.is_file() else shutil.which("roast")
    if found is None:
        raise Refused("the program roast was not found beside Python")
    return found


async def _run(*arguments: str) -> tuple[str, str]:
    """Output and notes. Whatever happens to the process, this one lives on."""
    process = await asyncio.create_subprocess_exec(
        program(), "sql", *arguments, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE, limit=ANSWER, close_fds=True)
    try:
        resource.prlimit(process.pid, resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.prlimit(process.pid, resource.RLIMIT_CPU, (2 * SECONDS, 2 * SECONDS))
        output, notes = await asyncio.wait_for(process.communicate(), 2 * SECONDS)
    except ProcessLookupError:
        output, notes = await process.communicate()
    except TimeoutError as error:
        raise Refused(f"the answer took more time than {2 * SECONDS} seconds") from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    told = notes.decode("utf-8", "replace").strip()
    if process.returncode != 0:
        raise Refused(told.removeprefix("roast: ") or "the query needs more memory or time than it may have")
    return output.decode("utf-8", "replace"), told


async def ask(run: str, query: str, form: str = "json") -> tuple[Any, bool]:
    """The answer, and whether there are more rows than are shown."""
    if not query.strip():
        raise Refused("there is no query")
    output, told = await _run(f"--{form}", "--timeout", str(SECONDS), "--limit", str(ROWS), "--", run, query)
    return (json.loads(output) if form == "json" else output), "more rows" in told


async def tables(run: str) -> dict[str, list[str]]:
    """The tables and their columns."""
    output, _ = await _run("--", run)
    found: dict[str, list[str]] = {}
    for line in output.splitlines():
        if not line.startswith(" "):
            found[line.strip()] = []
        elif found:
            found[next(reversed(found))] += line.split()
    return found
