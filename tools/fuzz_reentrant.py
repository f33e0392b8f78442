"""The fuzzer of the extension: starts fuzz/reentrant/cases.py under the sanitizers and hears how it ends.

A case that breaks the engine ends the process that runs it: by a signal, by the sanitizers, or because it took too
long. It is run once more alone, its report is kept in build/fuzz-found/reentrant, and another process goes on behind it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from build import BUILD, ROOT, BuildFailed
from counts import Counts
from watched import SANITIZERS, watched_package

CASES = ROOT / "fuzz" / "reentrant" / "cases.py"
CORPUS = ROOT / "fuzz" / "corpus" / "reentrant" / "cases.txt"
FOUND = BUILD / "fuzz-found" / "reentrant"
MANY = 10_000_000
MOST_BROKEN = 10
REPLAYED = 16  # numbers of each entry
JOBS = max(1, min(4, os.cpu_count() or 1))


def environment() -> dict[str, str]:
    """Memory that is not freed at the end is looked for by other tests."""
    options = SANITIZERS["ASAN_OPTIONS"].replace("detect_leaks=1", "detect_leaks=0")
    return {**watched_package("asan-ext"), **SANITIZERS, "ASAN_OPTIONS": f"{options}:max_allocation_size_mb=400",
            "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}


def kind_of(report: str) -> str:
    """What is wrong, and where in our sources: two cases of one kind have one cause."""
    what = re.search(r"ERROR: AddressSanitizer: [\w-]+|runtime error: .*|SystemError: .*? set\b|SystemError: .*|Timeout"
                     r"|the next chunk|Assertion .*|Fatal .*", report)
    where = re.search(r"in (\w+) \.\./\.\./((?:ext|src)/[\w/]+\.\w):\d+", report)
    kind = re.sub(" at 0x[0-9a-f]+|<class 'map'>|<built-in function abs>", "", what[0]) if what else report[-200:]
    return f"{kind} in {where[1]}, {where[2]}" if where else kind


class Fuzzer:
    def __init__(self) -> None:
        self.environment = {**os.environ, **environment()}
        self.cases = 0
        self.broken: dict[str, str] = {}  # a case each, by what the report says

    def start(self, arguments: list[str], current: Path) -> tuple[int, str]:
        """Ends by itself, also in a case that does not."""
        result = subprocess.run(
            [sys.executable, CASES, "--current", current, *arguments], env=self.environment, text=True,
            errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        return result.returncode, result.stdout

    def run(self, arguments: list[str], seconds: float = 3600) -> None:
        """All cases that the arguments name, or as many as there is time for."""
        until = time.monotonic() + seconds
        after: list[str] = []
        with tempfile.TemporaryDirectory() as folder:
            current = Path(folder) / "current"
            while time.monotonic() < until and len(self.broken) < MOST_BROKEN:
                left = str(max(1.0, until - time.monotonic()))
                code, output = self.start([*arguments, *after, "--seconds", left], current)
                ran, _, case = current.read_text().strip().partition(" ") if current.exists() else ("0", "", "")
                self.cases += int(ran)
                if code == 0:
                    return
                if not case:
                    raise BuildFailed(f"no case could be run: {output}")
                self.keep(case, output)
                after = ["--after", case]

    def keep(self, case: str, output: str) -> None:
        with tempfile.TemporaryDirectory() as folder:
            code, alone = self.start(["--case", case], Path(folder) / "current")
        report = alone if code != 0 else f"alone it holds; behind others:\n{output}"
        kind = kind_of(report)
        if kind in self.broken:
            return
        self.broken[kind] = case
        FOUND.mkdir(parents=True, exist_ok=True)
        (FOUND / f"{case.replace(' ', '-')}.txt").write_text(report)
        print(f"{report[-8000:]}\nbroken: {case}: {kind}\n  python tools/run_fuzz.py --case '{case}'", flush=True)


def fuzz(seconds: float) -> bool:
    """For some time; whether it held."""
    print(f"== reentrant, {seconds:.0f} s", flush=True)
    fuzzer = Fuzzer()
    start = time.time_ns() // 10**9 % MANY  # other cases each time
    with ThreadPoolExecutor(JOBS) as pool:
        list(pool.map(lambda job: fuzzer.run(
            ["--numbers", str(start + job), str(MANY * 2), str(JOBS)], seconds), range(JOBS)))
    print(f"{fuzzer.cases} cases, {len(fuzzer.broken)} ways to break it")
    return not fuzzer.broken


def replay() -> Counts:
    """The corpus, and the first cases of each entry; number 0 of each must succeed."""
    fuzzer = Fuzzer()
    fuzzer.run(["--file", str(CORPUS), "--numbers", "0", str(REPLAYED), "1"], 120)
    print(f"{fuzzer.cases} cases of re-entrant objects, {len(fuzzer.broken)} ways to break the extension", flush=True)
    return Counts(passed=0 if fuzzer.broken else 1, failed=len(fuzzer.broken))


def run_alone(case: str) -> int:
    """One case, with what happens in it."""
    return subprocess.run([sys.executable, CASES, "--trace", "--case", case],
                          env={**os.environ, **environment()}, check=False).returncode
