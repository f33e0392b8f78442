"""Runs the tests, cheapest first: `run_tests.py [PART ...]`; without PART those of `make test`, with `slow` those of
`make test-slow`.

Prints what each part ran and how long it took, a table at the end, and the counts on the last line. A
part that fails does not keep the later ones from running; a build that fails does. A test that failed beside others and
passed alone is flaky: it is named, and a failure of `make test-slow`.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import fuzz_reentrant
from build import BUILD, ROOT, BuildFailed, build
from counts import Counts, count_junit, count_tap, failed_in_junit
from watched import SANITIZERS, build_extension, watched_package

def beside(least: int = 2) -> tuple[str, ...]:
    """So many processes of pytest at once. Tests of one file stay together: they share what they have set up."""
    return "-n", str(max(least, min(4, os.cpu_count() or least))), "--dist", "loadfile"


def say(text: str) -> None:
    print(text, flush=True)


def run_program(command: list[str], environment: dict[str, str], timeout: float) -> tuple[int, str]:
    """Exit code and output; a program that takes too long has failed."""
    try:
        result = subprocess.run(
            command, cwd=ROOT, env={**os.environ, **environment}, timeout=timeout, text=True,
            errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
        )
    except subprocess.TimeoutExpired as expired:
        output = expired.stdout or b""
        text = output if isinstance(output, str) else output.decode(errors="replace")
        return 1, f"{text}\nstopped after {timeout:.0f} s\n"
    return result.returncode, result.stdout


def run_c_test(test: dict[str, Any], environment: dict[str, str]) -> tuple[str, Counts, float, str]:
    start = time.monotonic()
    code, output = run_program(
        test["cmd"], {"CMOCKA_MESSAGE_OUTPUT": "TAP", **test["env"], **environment},
        test["timeout"] or 120)
    return test["name"], count_tap(output, code), time.monotonic() - start, output


def list_c_tests(directory: Path) -> list[dict[str, Any]]:
    listing = subprocess.run(["meson", "introspect", "--tests", directory], cwd=ROOT, check=True,
                             stdout=subprocess.PIPE, text=True)
    tests: list[dict[str, Any]] = json.loads(listing.stdout)
    return tests


def run_c(configuration: str, environment: dict[str, str], prefixes: tuple[str, ...] = ("",)) -> Counts:
    """The C tests of one configuration whose names begin with one of the prefixes."""
    tests = list_c_tests(build(configuration))
    return run_c_tests([test for test in tests if test["name"].startswith(prefixes)], environment)


def run_c_tests(tests: list[dict[str, Any]], environment: dict[str, str]) -> Counts:
    total = Counts()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, counts, seconds, output in pool.map(lambda t: run_c_test(t, environment), tests):
            if counts.failed:
                say(output.rstrip())
            say(f"  {name:<28} {counts}  ({seconds:.1f} s)")
            total += counts
    return total


def run_tap(command: list[str], environment: dict[str, str] | None = None) -> Counts:
    """A runner of our own that prints TAP."""
    code, output = run_program([sys.executable, *command], environment or {}, 600)
    say(output.rstrip())
    return count_tap(output, code)


def run_pytest(folder: str, *options: str, report: str | None = None, environment: dict[str, str] | None = None,
               python: tuple[str, ...] = ()) -> Counts:
    """`python`: options of the interpreter; processes of pytest-xdist have to be given theirs."""
    xml = BUILD / f"{report or Path(folder).name}.xml"
    xml.unlink(missing_ok=True)
    result = subprocess.run([sys.executable, *python, "-m", "pytest", "-q", f"--junitxml={xml}", *options,
                             folder], cwd=ROOT, env={**os.environ, **(environment or {})}, check=False)
    counts = count_junit(xml.read_text()) if xml.is_file() else Counts()
    if result.returncode != 0 and counts.failed == 0:
        counts.failed = 1
    return counts


# So many failed tests get a second try with nothing beside them; more is no accident of a busy machine.
MOST_TRIED_AGAIN = 5


def failed_of(report: str) -> set[str]:
    """The tests that failed in a run of pytest."""
    xml = BUILD / f"{report}.xml"
    return failed_in_junit(xml.read_text()) if xml.is_file() else set()


def failures_tried_again(counts: Counts, folder: str, environment: dict[str, str] | None = None,
                         python: tuple[str, ...] = (), reports: tuple[str, ...] = ()) -> Counts:
    """What fails for want of a core passes alone; what is broken fails twice. Both tries are shown. `reports`: those of
    the first try."""
    if not 0 < counts.failed <= MOST_TRIED_AGAIN:
        return counts
    failed = set[str]().union(*map(failed_of, reports or (Path(folder).name,)))
    say("the failed tests again, one by one:")
    again = run_pytest(folder, "--last-failed", "--last-failed-no-failures=none", "-rpf",
                       report=f"{Path(folder).name}-again", environment=environment, python=python)
    flaky = sorted(failed - failed_of(f"{Path(folder).name}-again"))
    say(f"{again.passed} of {counts.failed} tests that failed beside others passed alone")
    return Counts(counts.passed + again.passed, counts.failed - again.passed, counts.skipped, counts.busy, tuple(flaky))


def run_python(*options: str, report: str | None = None, environment: dict[str, str] | None = None,
               python: tuple[str, ...] = ()) -> Counts:
    """The Python tests, several at a time."""
    count, distribution = beside()[1], beside()[2:]
    processes = f"{count}*popen//python={shlex.join((sys.executable, *python))}"
    counts = run_pytest("tests/python", *options, "--tx", processes, *distribution, "--cache-clear", report=report,
                        environment=environment, python=python)
    return failures_tried_again(counts, "tests/python", environment, python, (report or "python",))


def run_python_watched() -> Counts:
    """With the interpreter's own checks: of its memory, also in the programs that the tests start; and all others."""
    return run_python(environment={"PYTHONMALLOC": "debug"}, python=("-X", "dev"))


def is_our_leak(finding: str) -> bool:
    """The interpreter keeps much until the end; ours is what the engine's own allocator handed out."""
    lines = finding.splitlines()
    return any("leak of" in line for line in lines) and any(
        line.split()[:1] == ["#1"] and ("system_hook" in line or "/_core." in line) for line in lines)


NOT_FOR_SANITIZERS = ("leaks", "docs", "typing", "stub", "plots", "report")


def run_extension_asan() -> Counts:
    """The Python tests with an extension that is watched by the sanitizers, and the corpus of its fuzzer.

    Left out: the counts of the interpreter's blocks, which it does not keep with malloc, and what only reads or
    draws: pages, types, plots, the report.
    """
    watched = watched_package("asan-ext")
    reports = BUILD / "asan-ext" / "reports"
    shutil.rmtree(reports, ignore_errors=True)
    reports.mkdir()
    counts = run_python(
        *(f"--ignore=tests/python/test_{name}.py" for name in NOT_FOR_SANITIZERS), report="python-asan",
        environment={
            **watched, **SANITIZERS,
            "ASAN_OPTIONS": f"{SANITIZERS['ASAN_OPTIONS']}:log_path={reports}/asan",
            "LSAN_OPTIONS": f"exitcode=0:log_path={reports}/leaks",
        })
    for report in sorted(reports.iterdir()):
        for finding in report.read_text(errors="replace").split("\n\n"):
            if is_our_leak(finding) or "ERROR: AddressSanitizer" in finding:
                say(finding)
                counts.failed += 1
    return counts + fuzz_reentrant.replay()


# C tests that start threads, or test code that does, and which of their tests do.
THREADED = {
    "columns": "*threads*",
    "limits": "*",
    "proc": "*",
    "sampler": "*",
    "truth": "*",
}


def run_tsan() -> Counts:
    """What has threads, watched by the thread sanitizer: C tests, and the extension in Python's threads.

    The interpreter is not watched: its locks are seen, its memory is not. So nothing has to be suppressed.
    """
    forgotten = {path.stem.removeprefix("test_") for path in (ROOT / "tests" / "c").glob("test_*.c")
                 if "pthread_create(&" in path.read_text()} - set(THREADED)
    if forgotten:
        say(f"not in THREADED of run_tests.py: {', '.join(sorted(forgotten))}")
        return Counts(failed=1)
    directory = build_extension("tsan", "tests/c/burn", *(f"tests/c/test_{name}" for name in THREADED))
    total = Counts()
    for test in list_c_tests(directory):
        if test["name"] in THREADED:
            total += run_c_tests([test], {"ROAST_TEST_FILTER": THREADED[test["name"]]})
    return total + run_tap(["tests/tsan/threads.py"], watched_package("tsan"))


def run_wheels() -> Counts:
    """Builds sdist and wheels, and tries each of them in an environment of its own."""
    code, output = run_program([sys.executable, "tools/wheels.py"], {}, 1800)
    say(output.rstrip())
    return Counts(failed=1) if code != 0 else run_pytest("tests/wheels", *beside()[:2], "--dist", "loadgroup")


# A larger share of skipped end-to-end tests is a failure: such a run has shown too little.
MOST_SKIPPED = 0.1


def run_e2e(which: str = "") -> Counts:
    """Several at a time; then those that measure how busy the machine is, one by one.

    They wait for clusters and processes for a third of their time: one more at a time than there are cores.
    """
    counts = run_pytest("tests/e2e", "-m", f"not alone{which}", *beside(3), "--no-loadscope-reorder", "--cache-clear")
    counts += run_pytest("tests/e2e", "-m", f"alone{which}", report="e2e-alone")
    return skips_checked(failures_tried_again(counts, "tests/e2e", reports=("e2e", "e2e-alone")))


def skips_checked(counts: Counts) -> Counts:
    if counts.skipped > MOST_SKIPPED * counts.total:
        say(f"{counts.skipped} of {counts.total} tests were skipped; at most {MOST_SKIPPED:.0%} may be")
        counts.failed += 1
    return counts


def run_lint() -> Counts:
    build("plain")
    return run_tap(["tests/lint/run.py"])


def run_cli() -> Counts:
    """The program as it is, and watched by the sanitizers."""
    total = Counts()
    for configuration, environment in (("plain", {}), ("asan", SANITIZERS)):
        say(f"the program of build/{configuration}:")
        program = build(configuration) / "cli" / "roast"
        total += run_tap(["tests/cli/run.py", str(program)], environment)
    return total


# In the order in which they run. What ASan runs as well is not run without it.
TEST = ("lint", "asan", "cli", "python", "e2e-core")
SLOW = ("tsan", "getrusage", "wheels", "python-asan", "e2e")
PARTS: dict[str, tuple[str, Callable[[], Counts]]] = {
    "lint": ("lint", run_lint),
    "c": ("C tests", lambda: run_c("plain", {})),
    "asan": ("C tests, ASan + UBSan + leaks", lambda: run_c("asan", SANITIZERS)),
    "tsan": ("threads, TSan", run_tsan),
    "getrusage": ("C tests, getrusage", lambda: run_c("getrusage", {}, ("proc", "limits", "sampler"))),
    "cli": ("CLI tests", run_cli),
    "python": ("Python tests, -X dev", run_python_watched),
    "wheels": ("wheels", run_wheels),
    "python-asan": ("Python tests, ASan + UBSan + leaks", run_extension_asan),
    "e2e-core": ("end-to-end tests, the core", lambda: run_e2e(" and not slow")),
    "e2e": ("end-to-end tests", run_e2e),
}


def run_parts(names: list[str]) -> list[tuple[str, Counts, float]]:
    results = []
    for name in names:
        title, part = PARTS[name]
        say(f"== {title}")
        start = time.monotonic()
        try:
            counts = part()
        except BuildFailed as failure:
            say(f"the build failed: {failure}")
            results.append((f"{title}: build", Counts(failed=1), time.monotonic() - start))
            break
        seconds = time.monotonic() - start
        say(f"{counts} in {seconds:.1f} s\n")
        results.append((title, counts, seconds))
    return results


def main(names: list[str]) -> int:
    slow = names == ["slow"]
    names = list(SLOW if slow else names or TEST)
    if not set(names) <= set(PARTS):
        print(f"usage: run_tests.py [PART ...], of {' '.join(PARTS)}; or slow", file=sys.stderr)
        return 2
    results = run_parts([name for name in PARTS if name in names])
    say(f"{'part':<32} {'tests':>6} {'failed':>7} {'seconds':>8}")
    for title, counts, seconds in results:
        say(f"{title:<32} {counts.total:>6} {counts.failed:>7} {seconds:>8.1f}")
    total = sum((counts for _, counts, _ in results), Counts())
    if total.flaky:
        say(f"flaky, as they failed beside others and passed alone: {', '.join(total.flaky)}")
    say(str(total))
    return 1 if total.failed or (slow and total.flaky) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
