"""SQL over a measurement: in a process of its own, with limits."""

from __future__ import annotations

import asyncio
import csv
import json
import resource
import shutil
import sys
from pathlib import Path
from typing import Any

__all__ = ["Asker", "Refused"]

SECONDS, ROWS, MEMORY, FILE, ANSWER = 10, 10_000, 4 << 30, 256 << 20, 16 << 20
AT_ONCE = 2  # queries
EXACT = 1 << 53  # up to here a browser knows every integer


class Refused(Exception):
    """The text says why."""


def program() -> str:
    """The program `roast`, which is installed with this package."""
    installed = Path(sys.executable).with_name("roast")
    found = str(installed) if installed.is_file() else shutil.which("roast")
    if found is None:
        raise Refused("the program roast was found neither in Python's folder nor on PATH")
    return found


async def _read(stream: asyncio.StreamReader | None, most: int) -> bytes:
    assert stream is not None
    blocks, size = [], 0
    while block := await stream.read(1 << 16):
        blocks.append(block)
        size += len(block)
        if size > most:
            raise Refused(f"the answer is larger than {most / 2**20:.3g} MB: ask for fewer rows or columns")
    return b"".join(blocks)


async def _run(*arguments: str) -> tuple[bytes, str]:
    """Output and notes. Whatever happens to the process, this one lives on."""
    process = await asyncio.create_subprocess_exec(
        program(), "sql", *arguments, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE, close_fds=True)
    reads = [asyncio.ensure_future(_read(stream, ANSWER)) for stream in (process.stdout, process.stderr)]
    try:
        try:
            resource.prlimit(process.pid, resource.RLIMIT_AS, (MEMORY, MEMORY))
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (FILE, FILE))  # of what SQLite sorts on the disk
            resource.prlimit(process.pid, resource.RLIMIT_CPU, (2 * SECONDS, 2 * SECONDS))
        except ProcessLookupError:
            pass  # it is done already
        async with asyncio.timeout(2 * SECONDS):
            output, notes = await asyncio.gather(*reads)
            await process.wait()
    except TimeoutError as error:
        raise Refused(f"the answer took more time than {2 * SECONDS} seconds") from error
    finally:
        if process.returncode is None:
            process.kill()
            for read in reads:
                read.cancel()
            await asyncio.gather(*reads, return_exceptions=True)
            await process.communicate()  # what is in the pipes: before that it is not done
    told = notes.decode("utf-8", "replace").strip()
    if process.returncode != 0:
        raise Refused(told.removeprefix("roast: ") or "the query needs more memory, disk or time than it may have")
    return output, told


def _cell(value: Any) -> Any:
    return str(value) if isinstance(value, int) and abs(value) > EXACT else value


def _as_json(output: bytes, heads: list[str], more: bool) -> str:
    """Rows as lists: columns may share a name, and a browser would sort names that are numbers. The program writes a row a
    line: one at a time, so that the answer is not in memory as objects, and other threads have their turn."""
    rows: list[str] = []
    columns = heads
    for line in output.splitlines()[1:-1]:
        row = json.loads(line.removesuffix(b","), object_pairs_hook=list)
        columns = [name for name, _ in row] if not rows else columns
        rows.append(json.dumps([_cell(value) for _, value in row], separators=(",", ":")))
    return f'{{"columns":{json.dumps(columns)},"rows":[{",".join(rows)}],"more":{json.dumps(more)}}}'


class Asker:
    """Asks for many, a few at once."""

    def __init__(self) -> None:
        self._turns = asyncio.Semaphore(AT_ONCE)

    async def ask(self, run: str, query: str, form: str = "json") -> str:
        """The answer as JSON or as CSV; both say whether there are more rows."""
        if not query.strip():
            raise Refused("there is no query")
        limits = ("--timeout", str(SECONDS), "--limit", str(ROWS), "--", run, query)
        async with self._turns:
            if form == "csv":
                output, told = await _run("--csv", "--safe", *limits)
                more = f"# there are more rows: these are the first {ROWS}\n" if "more rows" in told else ""
                return output.decode("utf-8", "replace") + more
            output, told = await _run("--json", *limits)
            heads = []
            if output.strip() == b"[]":  # which does not name the columns
                heads = next(csv.reader([(await _run("--csv", *limits))[0].decode("utf-8", "replace")]), [])
        return await asyncio.to_thread(_as_json, output, heads, "more rows" in told)

    async def tables(self, run: str) -> dict[str, list[str]]:
        """The tables and their columns."""
        async with self._turns:
            output, _ = await _run("--", run)
        found: dict[str, list[str]] = {}
        for line in output.decode("utf-8", "replace").splitlines():
            if not line.startswith(" "):
                found[line.strip()] = []
            elif found:
                found[next(reversed(found))] += line.split()
        return found
