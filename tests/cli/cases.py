"""A case of the CLI tests: a file with a command line, what it must print, and its exit code.

    $ roast explain wal_time
    exit: 3
    stdout: full
    --- stdout
    --- stderr
    roast: no metric has the name "wal_time"
    *

`exit` is 0 and `stdout` is captured if they are not told; `stdout: full` sends it to a full disk and
`stdout: closed` closes it. A line that is one `*` stands for any number of lines.
"""

from __future__ import annotations

import os
import shlex
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

ANY_LINES = "*"
DESTINATIONS = ("captured", "full", "closed")


@dataclass
class Outcome:
    code: int
    stdout: str
    stderr: str


@dataclass
class Case:
    command: list[str]
    code: int = 0
    destination: str = "captured"
    expected: dict[str, str] = field(default_factory=lambda: {"stdout": "", "stderr": ""})


def parse(text: str) -> Case:
    header, *sections = text.split("--- ")
    first, *settings = header.splitlines()
    if not first.startswith("$ roast"):
        raise ValueError("the first line must be '$ roast ...'")
    case = Case(shlex.split(first[2:])[1:])
    for setting in settings:
        name, _, value = setting.partition(": ")
        if name == "exit":
            case.code = int(value)
        elif name == "stdout" and value in DESTINATIONS:
            case.destination = value
        else:
            raise ValueError(f"not understood: {setting!r}")
    for section in sections:
        name, _, body = section.partition("\n")
        if name not in case.expected:
            raise ValueError(f"there is no section {name!r}")
        case.expected[name] = body
    return case


def write(case: Case) -> str:
    text = "$ " + shlex.join(["roast", *case.command]) + "\n"
    if case.code != 0:
        text += f"exit: {case.code}\n"
    if case.destination != "captured":
        text += f"stdout: {case.destination}\n"
    for name, body in case.expected.items():
        text += f"--- {name}\n{body}" if body else ""
    return text


def run(program: Path, case: Case) -> Outcome:
    close = (lambda: os.close(1)) if case.destination == "closed" else None
    with open("/dev/full", "wb") as full:
        stdout = full if case.destination == "full" else subprocess.PIPE
        result = subprocess.run([program, *case.command], stdin=subprocess.DEVNULL, stdout=stdout,
                                stderr=subprocess.PIPE, timeout=60, check=False, preexec_fn=close)
    return Outcome(result.returncode, (result.stdout or b"").decode(), result.stderr.decode())


def matches(expected: str, actual: str) -> bool:
    return match_lines(expected.split("\n"), actual.split("\n"))


def match_lines(expected: list[str], actual: list[str]) -> bool:
    """Each run of lines between two stars is taken where it is first found."""
    if ANY_LINES not in expected:
        return expected == actual
    first = expected.index(ANY_LINES)
    last = len(expected) - 1 - expected[::-1].index(ANY_LINES)
    tail = expected[last + 1:]
    if len(actual) < first + len(tail) or actual[:first] != expected[:first]:
        return False
    if tail and actual[-len(tail):] != tail:
        return False
    rest = actual[first:len(actual) - len(tail)]
    for block in split_at_stars(expected[first:last + 1]):
        found = next((i for i in range(len(rest) - len(block) + 1)
                      if rest[i:i + len(block)] == block), None)
        if found is None:
            return False
        rest = rest[found + len(block):]
    return True


def split_at_stars(lines: list[str]) -> list[list[str]]:
    blocks: list[list[str]] = [[]]
    for line in lines:
        if line == ANY_LINES:
            blocks.append([])
        else:
            blocks[-1].append(line)
    return [block for block in blocks if block]


def problems(case: Case, outcome: Outcome) -> list[str]:
    found = []
    if outcome.code != case.code:
        found.append(f"exit code {outcome.code}, expected {case.code}")
    for name in case.expected:
        actual = getattr(outcome, name)
        if not matches(case.expected[name], actual):
            found += [f"{name} is", *actual.splitlines(), "expected", *case.expected[name].splitlines()]
    return found


def updated(case: Case, outcome: Outcome) -> Case:
    """The case with what came out; a section with stars stays as it is while it matches."""
    expected = {name: body if matches(body, getattr(outcome, name)) else getattr(outcome, name)
                for name, body in case.expected.items()}
    return Case(case.command, outcome.code, case.destination, expected)
