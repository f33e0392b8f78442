"""Runs the checks, and the tests of the checks, and prints TAP."""

from __future__ import annotations

import sys
import unittest
from collections.abc import Callable, Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE))

import check_clang
import check_docs
import check_format
import check_hygiene
import check_install
import check_layers
import check_links
import check_spelling
import check_symbols
from common import Skip

CHECKS: dict[str, Callable[[Path], list[str]]] = {
    "C files are formatted": check_format.check,
    "no include or import points up": check_layers.check,
    "files are tidy": check_hygiene.check_lines,
    "libroast uses its allocator and never prints": check_hygiene.check_calls,
    "no test is defined twice": check_hygiene.check_names,
    "every public function has a test": check_hygiene.check_tested,
    "every public header stands alone": check_hygiene.check_headers,
    "libroast shows roast_ names only": check_symbols.check_library,
    "functions of libroast stay as they were released": check_symbols.check_released,
    "libroast can be installed and used": check_install.check,
    "a build names all packages that are missing": check_install.check_missing,
    "the extension exports its init only": check_symbols.check_extension,
    "clang compiles everything": check_clang.check,
    "links lead somewhere": check_links.check,
    "words are spelt right": check_spelling.check,
    "the documentation builds": check_docs.check,
}


def run_check(check: Callable[[Path], list[str]]) -> tuple[str, list[str]]:
    """The end of the TAP line, and the problems."""
    try:
        return "", check(ROOT)
    except Skip as reason:
        return f" # SKIP {reason}", []


def cases(suite: unittest.TestSuite) -> Iterator[unittest.TestCase]:
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from cases(test)
        else:
            yield test


def run_case(case: unittest.TestCase) -> tuple[str, list[str]]:
    result = unittest.TestResult()
    case.run(result)
    note = f" # SKIP {result.skipped[0][1]}" if result.skipped else ""
    return note, [line for _, text in result.failures + result.errors for line in text.splitlines()]


def report(number: int, name: str, note: str, problems: list[str]) -> bool:
    print(f"{'not ok' if problems else 'ok'} {number} - {name}{note}")
    for problem in problems:
        print(f"#   {problem}")
    return not problems


def main() -> int:
    tests = list(cases(unittest.defaultTestLoader.discover(str(HERE), "test_*.py")))
    print(f"1..{len(CHECKS) + len(tests)}")
    good = True
    for number, (name, check) in enumerate(CHECKS.items(), 1):
        good &= report(number, name, *run_check(check))
    for number, case in enumerate(tests, len(CHECKS) + 1):
        good &= report(number, case.id(), *run_case(case))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
