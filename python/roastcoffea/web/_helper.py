"""Processes that read measurements for the board, with limits of time and memory.

A measurement is not trusted: a small file may ask for much of both. Whatever happens to such a process, the board lives on,
and its threads never wait for Python's lock while a page is made.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import select
import signal
import sys
import traceback
from collections.abc import Callable
from errno import ENOMEM
from typing import Any

__all__ = ["Helper", "Helpers", "Unmade"]

SECONDS, MEMORY, ANSWER = 60, 4 << 30, 128 << 20  # of an answer; of the process; bytes
IDLE = 600  # seconds after which a process ends that nobody asks
FAILED = "The board failed at this page; the terminal says more."
KEPT = 1 << 30  # bytes of memory: with more, a process does not stay for the next question


class Unmade(RuntimeError):
    """A page that could not be made; the text says why."""


def _too_much(seconds: int, memory: int) -> str:
    return f"This measurement takes more to show than the board gives it: {seconds} seconds and {memory / 2**30:.3g} GB of memory."


# ---- in the board ----


class Helper:
    """One process, which is started when it is needed. It answers one question at a time."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None
        self._turn = asyncio.Lock()
        self._closed = False

    async def ask(self, what: str, *arguments: Any) -> str:
        async with self._turn:
            try:
                process, head = await self._begin([what, *arguments])
                well, size, stays = json.loads(head)
                assert process.stdout is not None
                told = (await process.stdout.readexactly(size)).decode("utf-8", "replace")
                if not stays:
                    await self._end()
            except BaseException as error:
                await self._end()
                if isinstance(error, asyncio.IncompleteReadError):
                    raise Unmade(FAILED) from error
                raise
        if not well:
            raise Unmade(told)
        return told

    async def _begin(self, question: list[Any]) -> tuple[asyncio.subprocess.Process, bytes]:
        """Asks, and waits for the first line of the answer."""
        line = json.dumps(question).encode() + b"\n"
        while True:
            fresh = self._process is None
            if self._process is None and not self._closed:
                # Ctrl-C is the board's; "-P": what lies in the folder where the board was started is not imported.
                self._process = await asyncio.create_subprocess_exec(
                    sys.executable, "-P", "-m", __name__, str(SECONDS), str(MEMORY), start_new_session=True,
                    stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)
            process = self._process
            if process is None or self._closed:
                raise Unmade("The board has ended.")
            assert process.stdin is not None and process.stdout is not None
            try:
                process.stdin.write(line)
                await process.stdin.drain()
            except (BrokenPipeError, ConnectionResetError):
                pass  # how it ended is seen below
            if head := await process.stdout.readline():
                return process, head
            code = await process.wait()
            await self._end()
            if code == 0 and not fresh:  # nobody has asked it for long
                continue
            raise Unmade(FAILED if code == 1 else _too_much(SECONDS, MEMORY))

    async def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        try:
            process.kill()
        except ProcessLookupError:
            pass
        assert process.stdin is not None
        process.stdin.close()
        await process.communicate()  # what is in the pipes: before that it is not done

    async def close(self) -> None:
        """A question that is being answered fails."""
        self._closed = True
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
        async with self._turn:  # who asked reads the end of the pipe
            await self._end()


class Helpers:
    """Some of them: whoever comes first is served by the next that is free."""

    def __init__(self, count: int) -> None:
        self._all = [Helper() for _ in range(count)]
        self._free = list(self._all)
        self._turns = asyncio.Semaphore(count)

    async def ask(self, what: str, *arguments: Any) -> str:
        async with self._turns:
            helper = self._free.pop()
            try:
                return await helper.ask(what, *arguments)
            finally:
                self._free.append(helper)

    async def close(self) -> None:
        for helper in self._all:
            await helper.close()


# ---- in the process ----


def _answers() -> dict[str, Callable[..., str]]:
    from roastcoffea.collector.results import compare, open_run
    from roastcoffea.scaling_runs import scaling
    from roastcoffea.web._live import LiveRun, look_at_all
    from roastcoffea.web._pages import Pages

    live: dict[str, LiveRun] = {}

    def look(path: str) -> str:
        return json.dumps(live.setdefault(path, LiveRun(path)).look())

    return {
        "report": lambda base, name, path: Pages(base).report(name, open_run(path)),
        "comparison": lambda base, paths: Pages(base).comparison([compare(paths[0], path) for path in paths[1:]]),
        "scaling": lambda base, paths: Pages(base).scaling(scaling(paths)),
        "look": look,
        "look at all": lambda path: json.dumps(look_at_all(path)),
    }


def _answer(make: Callable[..., str], arguments: list[Any]) -> tuple[bool, bytes]:
    try:
        made = make(*arguments).encode("utf-8", "surrogateescape")
        if len(made) <= ANSWER:
            return True, made
        told = f"The page is larger than {ANSWER >> 20} MB."
    except (OSError, ValueError, RuntimeError) as error:
        told = str(error)
    except MemoryError:
        raise
    except Exception:
        traceback.print_exc()
        told = FAILED
    return False, told.encode("utf-8", "replace")


def main() -> None:
    seconds, memory = map(int, sys.argv[1:])
    resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever is printed is no answer
    answers = _answers()
    while select.select([sys.stdin.buffer], [], [], IDLE)[0] and (line := sys.stdin.buffer.readline()):
        signal.alarm(seconds)  # ends the process, also inside of the engine
        what, *arguments = json.loads(line)
        try:
            well, told = _answer(answers[what], arguments)
        except MemoryError:
            os._exit(ENOMEM)  # what is left may not be enough for more
        signal.alarm(0)
        stays = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10 < KEPT
        out.write(json.dumps([well, len(told), stays]).encode() + b"\n" + told)
        out.flush()
        if not stays:
            break


if __name__ == "__main__":
    main()
