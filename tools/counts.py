"""How many tests ran and how they ended, from what the test programs print."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass


@dataclass
class Counts:
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    busy: int = 0  # of the skipped ones: those that need an idle machine, and this one was busy
    flaky: tuple[str, ...] = ()  # of the passed ones: those that failed beside others and passed alone

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped,
                      self.busy + other.busy, self.flaky + other.flaky)

    @property
    def total(self) -> int:
        return self.passed + self.failed + self.skipped

    def __str__(self) -> str:
        text = f"{self.passed} passed, {self.failed} failed"
        if self.skipped:
            text += f", {self.skipped} skipped"
        return f"{text} ({self.busy} of them as this machine was busy)" if self.busy else text


PLAN = re.compile(r"^1\.\.(\d+)", re.MULTILINE)
RESULT = re.compile(r"^(not )?ok \d+(.*)$", re.MULTILINE)
SKIPPED = re.compile(r"#\s*skip", re.IGNORECASE)
BUSY = re.compile(r"\bbusy\b")  # in the reason of a test that was skipped


def count_tap(text: str, exit_code: int) -> Counts:
    """Of a program that prints TAP; one that prints none is a single test.

    Tests that were planned and did not report (the program died) have failed, and so has a program
    whose tests all passed and that ended badly nevertheless (a leak found at exit).
    """
    counts = Counts()
    results = list(RESULT.finditer(text))
    plans = PLAN.findall(text)
    if not results and not plans:
        return Counts(passed=1) if exit_code == 0 else Counts(failed=1)
    for result in results:
        if SKIPPED.search(result[2]):
            counts.skipped += 1
            counts.busy += BUSY.search(result[2]) is not None
        elif result[1]:
            counts.failed += 1
        else:
            counts.passed += 1
    counts.failed += max(0, sum(map(int, plans)) - len(results))
    if exit_code != 0 and counts.failed == 0:
        counts.failed = 1
    return counts


def failed_in_junit(text: str) -> set[str]:
    """The names of the tests of a JUnit file that failed."""
    return {f"{case.get('classname', '')}.{case.get('name', '')}" for case in ElementTree.fromstring(text).iter("testcase")
            if case.find("failure") is not None or case.find("error") is not None}


def count_junit(text: str) -> Counts:
    """Of a JUnit file as pytest writes it."""
    tree = ElementTree.fromstring(text)
    counts = Counts(busy=sum(BUSY.search(skip.get("message", "")) is not None for skip in tree.iter("skipped")))
    for suite in tree.iter("testsuite"):
        number = {key: int(suite.get(key, 0)) for key in ("tests", "failures", "errors", "skipped")}
        failed = number["failures"] + number["errors"]
        counts += Counts(max(0, number["tests"] - failed - number["skipped"]), failed,
                         number["skipped"])
    return counts
