"""Runs the CLI tests and prints TAP: `run.py PROGRAM [--update]`.

--update rewrites the cases and the generated pages with what the program prints now; read the difference
before you commit it.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import cases
import completion
import exported
import hostile
import watched

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
WIDTH = 80
sys.path.insert(0, str(ROOT))
from tools.man_page import manual  # noqa: E402



def answer(program: Path, *arguments: str) -> str:
    return subprocess.run([program, *arguments], capture_output=True, check=True).stdout.decode()


# Pages that are made of what the program prints.
GENERATED: dict[str, Callable[[Path], str]] = {
    "docs/metrics.md": lambda program: answer(program, "explain", "--markdown"),
    "cli/roast.1": manual,
}


def check_case(program: Path, path: Path, update: bool) -> list[str]:
    case = cases.parse(path.read_bytes().decode())  # line ends as they are: those of CSV are two letters
    outcome = cases.run(program, case)
    if update:
        path.write_bytes(cases.write(cases.updated(case, outcome)).encode())
        return []
    return cases.problems(case, outcome)


def check_page(program: Path, name: str, update: bool) -> list[str]:
    path = ROOT / name
    text = GENERATED[name](program)
    if update:
        path.write_text(text)
    if path.is_file() and path.read_text() == text:
        return []
    return ["differs from what the program prints; run.py --update writes it"]


def keys(program: Path) -> list[str]:
    """Every name of every metric."""
    rows = re.findall(r"^\| (`[^|]*) \|", answer(program, "explain", "--markdown"), re.MULTILINE)
    return [name for row in rows for name in row.replace("`", "").split()]


def check_width(program: Path) -> list[str]:
    """No page is wider than a terminal."""
    names = keys(program)
    pages = [["--help"], ["explain"], *(["explain", name] for name in names),
             *(["help", verb] for verb in verbs(program))]
    wide = [f"roast {' '.join(page)}: {line}" for page in pages
            for line in answer(program, *page).splitlines() if len(line) > WIDTH]
    return wide if names else ["there are no metrics"]


def verbs(program: Path) -> list[str]:
    page = answer(program, "--help")
    return re.findall(r"^  ([\w-]+) ", page[page.index("Verbs"):page.index("Exit codes")], re.MULTILINE)


def check_man(program: Path) -> list[str]:
    """The manual page has every verb and every option that a page of help has."""
    page = manual(program).replace("\\-", "-")
    missing = [f"verb {verb}" for verb in verbs(program) if f'.SS "roast {verb}' not in page]
    for verb in verbs(program):
        options = re.findall(r"^ +(?:-\w, )?(--[\w-]+)", answer(program, "help", verb), re.MULTILINE)
        missing += [f"{verb} {option}" for option in options if option not in page]
    return [f"the manual page does not have {name}" for name in missing]


def check_list(program: Path) -> list[str]:
    """The list of metrics names every key."""
    listed = set(re.findall(r"^  (\S+)", answer(program, "explain"), re.MULTILINE))
    rows = re.findall(r"^\| `(\w+)`", answer(program, "explain", "--markdown"), re.MULTILINE)
    missing = sorted(set(rows) - listed)
    return [f"'roast explain' does not list {name}" for name in missing]


def checks(program: Path, update: bool) -> Iterator[tuple[str, Callable[[], list[str]]]]:
    for path in sorted((HERE / "cases").glob("*.txt")):
        yield path.stem, partial(check_case, program, path, update)
    for name in GENERATED:
        yield f"{name} is up to date", partial(check_page, program, name, update)
    yield f"pages fit into {WIDTH} columns", partial(check_width, program)
    yield "the list of metrics is complete", partial(check_list, program)
    yield "the manual page is complete", partial(check_man, program)
    for name, check in {**completion.CHECKS, **exported.CHECKS, **hostile.CHECKS, **watched.CHECKS}.items():
        yield name, partial(check, program)


def main(arguments: list[str]) -> int:
    update = "--update" in arguments
    programs = [argument for argument in arguments if not argument.startswith("-")]
    if len(programs) != 1 or len(arguments) > 1 + update:
        print("usage: run.py PROGRAM [--update]", file=sys.stderr)
        return 2
    todo = list(checks(Path(programs[0]).resolve(), update))
    print(f"1..{len(todo)}")
    failed = 0
    for number, (name, check) in enumerate(todo, 1):
        problems = check()
        failed += bool(problems)
        print(f"{'not ok' if problems else 'ok'} {number} - {name}")
        for problem in problems:
            print(f"#   {problem}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
