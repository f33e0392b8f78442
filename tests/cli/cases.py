"""A case of the CLI tests: a file with a command line, what it must print, and its exit code.

    $ roast explain wal_time
    exit: 3
    stdout: full
    --- stdout
    --- stderr
    roast: no metric has the name "wal_time"
    *

`exit` is 0 and `stdout` is captured if they are not told; `stdout: full` sends it to a full disk and
`stdout: closed` closes it; with `stdout: terminal` it is one, of 80 columns and without colours. A line that is one `*` stands for any number of lines, `{any}` inside a line for
any letters. `{tmp}` is an empty folder of the case's own, also in what is printed. Lines `before: roast ...`
are run first, in their order, and must end well; `env: NAME=VALUE` sets a variable. All run from the root of
the repository, in UTC.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
ANY_LINES = "*"
ANY_LETTERS = "{any}"
FOLDER = "{tmp}"
# What would make the answer depend on who runs the tests.
UNSET = ("COLUMNS", "NO_COLOR", "LC_ALL", "LANG")
DESTINATIONS = ("captured", "full", "closed", "terminal")


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
    before: list[list[str]] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)
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
        elif name == "before" and value.startswith("roast "):
            case.before.append(shlex.split(value)[1:])
        elif name == "env" and "=" in value:
            variable, _, content = value.partition("=")
            case.environment[variable] = content
        else:
            raise ValueError(f"not understood: {setting!r}")
    for section in sections:
        name, _, body = section.partition("\n")
        if name not in case.expected:
            raise ValueError(f"there is no section {name!r}")
        case.expected[name] = body
    return case


def write(case: Case) -> str:
    text = "$ " + command_line(case.command) + "\n"
    for command in case.before:
        text += f"before: {command_line(command)}\n"
    for variable, content in case.environment.items():
        text += f"env: {variable}={content}\n"
    if case.code != 0:
        text += f"exit: {case.code}\n"
    if case.destination != "captured":
        text += f"stdout: {case.destination}\n"
    for name, body in case.expected.items():
        text += f"--- {name}\n{body}" if body else ""
    return text


def command_line(command: list[str]) -> str:
    """As a shell would read it; a placeholder needs no quotes here."""
    words = [word.replace(FOLDER, "@tmp@") for word in command]
    return shlex.join(["roast", *words]).replace("@tmp@", FOLDER)


def run(program: Path, case: Case) -> Outcome:
    with tempfile.TemporaryDirectory() as folder:
        for command in case.before:
            result = run_one(program, case, command, folder, "captured")
            if result.code != 0:
                return Outcome(result.code, "", f"before: {command_line(command)}\n{result.stderr}")
        return run_one(program, case, case.command, folder, case.destination)


def run_one(program: Path, case: Case, command: list[str], folder: str, destination: str) -> Outcome:
    close = (lambda: os.close(1)) if destination == "closed" else None
    environment = {name: value for name, value in os.environ.items() if name not in UNSET}
    environment |= {"TZ": "UTC", **case.environment}
    if destination == "terminal":
        # script(1) of util-linux: its terminal takes any amount of output.
        line = shlex.join([str(program), *(word.replace(FOLDER, folder) for word in command)])
        result = subprocess.run(["script", "--quiet", "--return", "--command", line, "/dev/null"],
                                stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False, cwd=ROOT,
                                env=environment | {"COLUMNS": "80", "NO_COLOR": "1"})
        printed = result.stdout.decode().replace("\r\n", "\n").replace(folder, FOLDER)
        return Outcome(result.returncode, printed, result.stderr.decode())
    with open("/dev/full", "wb") as full:
        stdout = full if destination == "full" else subprocess.PIPE
        result = subprocess.run([program, *(word.replace(FOLDER, folder) for word in command)],
                                stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.PIPE,
                                timeout=60, check=False, preexec_fn=close, cwd=ROOT, env=environment)
    printed = [(text or b"").decode().replace(folder, FOLDER) for text in (result.stdout, result.stderr)]
    return Outcome(result.returncode, *printed)


def matches(expected: str, actual: str) -> bool:
    return match_lines(expected.split("\n"), actual.split("\n"))


def match_lines(expected: list[str], actual: list[str]) -> bool:
    """Each run of lines between two stars is taken where it is first found."""
    if ANY_LINES not in expected:
        return lines_fit(expected, actual)
    first = expected.index(ANY_LINES)
    last = len(expected) - 1 - expected[::-1].index(ANY_LINES)
    tail = expected[last + 1:]
    if len(actual) < first + len(tail) or not lines_fit(expected[:first], actual[:first]):
        return False
    if tail and not lines_fit(tail, actual[-len(tail):]):
        return False
    rest = actual[first:len(actual) - len(tail)]
    for block in split_at_stars(expected[first:last + 1]):
        found = next((i for i in range(len(rest) - len(block) + 1)
                      if lines_fit(block, rest[i:i + len(block)])), None)
        if found is None:
            return False
        rest = rest[found + len(block):]
    return True


def lines_fit(expected: list[str], actual: list[str]) -> bool:
    return len(expected) == len(actual) and all(map(line_fits, expected, actual))


def line_fits(expected: str, actual: str) -> bool:
    if ANY_LETTERS not in expected:
        return expected == actual
    return re.fullmatch(".*".join(map(re.escape, expected.split(ANY_LETTERS))), actual) is not None


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
    return Case(case.command, outcome.code, case.destination, case.before, case.environment, expected)
