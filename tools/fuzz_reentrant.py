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

from build import BUILD, ROOT
from watched import SANITIZERS, watched_package

CASES = ROOT / "fuzz" / "reentrant" / "cases.py"
CORPUS = ROOT / "fuzz" / "corpus" / "reentrant" / "cases.txt"
FOUND = BUILD / "fuzz-found" / "reentrant"
MANY = 10_000_000
MOST_BROKEN = 10
JOBS = max(1, min(4, os.cpu_count() or 1))


def environment() -> dict[str, str]:
    """Memory that is not freed at the end is looked for by other tests."""
    options = SANITIZERS["ASAN_OPTIONS"].replace("detect_leaks=1", "detect_leaks=0")
    return {**watched_package("asan-ext"), **SANITIZERS, "ASAN_OPTIONS": f"{options}:max_allocation_size_mb=400",
            "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}


def kind_of(report: str) -> str:
    """What is wrong, and where in our sources: two cases of one kind have one cause."""
    what = re.search(r"ERROR: AddressSanitizer: [\w-]+|runtime error: .*|SystemError: .*|Timeout|Assertion .*|Fatal .*",
                     report)
    where = re.search(r"in (\w+) \S*?((?:ext|src)/\w\S*?):\d+", report)
    return f"{what[0] if what else 'ended'} in {where[1]}, {where[2]}" if where else what[0] if what else report[-200:]


class Fuzzer:
    def __init__(self) -> None:
        self.environment = {**os.environ, **environment()}
        self.cases = 0
        self.broken: dict[str, str] = {}  # a case each, by what the report says

    def start(self, arguments: list[str], current: Path) -> tuple[int, str]:
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
                ran = re.search(r"^(\d+) cases$", output, re.MULTILINE)
                self.cases += int(ran[1]) if ran else 0
                if code == 0:
                    return
                case = current.read_text().strip() if current.exists() else ""
                if not case:
                    self.keep("(before the first case)", output)
                    return
                self.keep(case, output)
                after = ["--after", case]

    def keep(self, case: str, output: str) -> None:
        with tempfile.TemporaryDirectory() as folder:
            code, alone = self.start(["--case", case], Path(folder) / "current") if " " in case else (1, output)
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


def run_alone(case: str) -> int:
    """One case, with what happens in it."""
    return subprocess.run([sys.executable, CASES, "--case", case], env={**os.environ, **environment()},
                          check=False).returncode
