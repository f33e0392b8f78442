"""The two sides: ours and 0.1.2, each in a process that does what it is told, line by line in JSON.

The harness asks `{"module": ..., "function": ..., "arguments": {...}}` and gets `{"result": ...}` or
`{"error": ...}`. Both run the same functions of bench/work with the same Python and the same Coffea and Dask; they
differ in PYTHONPATH alone.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import traceback
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

OURS, THEIRS = "ours", "theirs"
HERE = Path(__file__).resolve().parent


class SideFailed(Exception):
    """What went wrong in the process of a side."""


class Side:
    """One such process. It starts at its first call."""

    def __init__(self, name: str, packages: Path | None) -> None:
        """`packages`: the folder where its roastcoffea is; None: where ours is found in any case."""
        self.name = name
        self.environment = dict(os.environ)
        if packages is not None:
            self.environment["PYTHONPATH"] = str(packages.resolve())
        self._process: subprocess.Popen[str] | None = None

    def call(self, module: str, function: str, /, **arguments: Any) -> Any:
        process = self._started()
        assert process.stdin is not None and process.stdout is not None
        question = {"module": f"bench.work.{module}", "function": function, "arguments": arguments}
        try:
            process.stdin.write(json.dumps(question) + "\n")
            process.stdin.flush()
            answer = process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            raise SideFailed(f"{self.name}: the process ended in {module}.{function}")
        told = json.loads(answer)
        if "error" in told:
            raise SideFailed(f"{self.name}: {module}.{function}: {told['error']}")
        return told["result"]

    def _started(self) -> subprocess.Popen[str]:
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "bench.sides"], env=self.environment, text=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        return self._process

    def close(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            assert process.stdin is not None
            process.stdin.close()
            process.wait()

    def __enter__(self) -> Side:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()


def answer(question: dict[str, Any]) -> dict[str, Any]:
    try:
        function = getattr(importlib.import_module(question["module"]), question["function"])
        return {"result": function(**question["arguments"])}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error} (at {_where(error)})"}


def _where(error: Exception) -> str:
    """The lines of bench/ that led there: of the packages, which are looked at from outside, none."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f"{Path(frame.filename).name}:{frame.lineno}" for frame in frames
           if Path(frame.filename).is_relative_to(HERE) and frame.filename != __file__]
    return ", ".join(own) or "no line of bench/"


def _own_output() -> TextIO:
    """Standard output for answers alone: what others print goes to standard error."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return answers


def main() -> None:
    answers = _own_output()
    for line in sys.stdin:
        answers.write(json.dumps(answer(json.loads(line))) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
