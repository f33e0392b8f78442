"""Measurements that mean harm: names that steer a terminal or a spreadsheet, and files that are none."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
ORIGINAL = ROOT / "tests" / "data" / "measurements_0_1_2" / "sections"
DATASETS = {"ttbar": "=cmd\x1b[31m|'x'!A1", "W+jets": "-1+\x9b31m\u202e\r"}
# What we send ourselves: colours, and the line of an import that the next one replaces.
OURS = (b"\x1b[0m", b"\x1b[1m", b"\x1b[2m", b"\r\x1b[K", b"\r\r\n", b"\r\n", b"\n")


def make(folder: Path) -> Path:
    """A measurement of 0.1.x whose names hold control characters and formulas, in a folder that has some, too."""
    path = folder / "=evil\x1b]0;x\x07"
    shutil.copytree(ORIGINAL, path)
    text = (path / "metrics.json").read_text()
    for name, evil in DATASETS.items():
        text = text.replace(json.dumps(name), json.dumps(evil))
    (path / "metrics.json").write_text(text)
    return path


def on_a_terminal(program: Path, *arguments: str) -> bytes:
    """What a terminal gets, both outputs together."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen([program, *arguments], stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs)
    os.close(theirs)
    seen = bytearray()
    try:
        while part := os.read(ours, 65536):
            seen += part
    except OSError:  # the other end is closed
        pass
    os.close(ours)
    process.wait()
    return bytes(seen)


def unsafe(seen: bytes) -> list[str]:
    for known in OURS:
        seen = seen.replace(known, b"")
    return sorted({repr(letter) for letter in seen.decode()
                   if ord(letter) < 0x20 or 0x7F <= ord(letter) < 0xA0 or letter in "\u202e\u2066"})


def check_terminal(program: Path) -> list[str]:
    """Nothing that a measurement holds gets to a terminal as a control character, whatever is asked for."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        evil, ours = make(folder), folder / "ours"
        subprocess.run([program, "import", evil, "-o", ours], check=True, capture_output=True)
        (run,) = ours.iterdir()
        calls = [[verb, str(path), *options] for path in (evil, run) for verb, options in (
            ("export", ["--csv"]), ("export", ["--csv", "-t", "sections"]), ("export", ["--json"]),
            ("export", ["--openmetrics", "--all", "--samples"]), ("export", ["--trace"]),
            ("show", []), ("show", ["--json"]), ("diagnose", []), ("diagnose", ["--json"]), ("ls", []),
            ("ls", ["--csv"]), ("ls", ["--json"]), ("import", ["-o", str(folder / "again")]))]
        question = "SELECT dataset, char(27) AS esc FROM chunks"
        calls += [["sql", str(run), question, *options] for options in ([], ["--csv"], ["--json"])]
        calls += [["sql", str(run), "SELECT 1 AS \"\x1b[31m\"", *options] for options in ([], ["--csv"], ["--json"])]
        calls += [[verb, f"{folder}/none\x1b[31m"] for verb in ("show", "diagnose", "ls", "sql")]
        calls += [["explain", "wal\x1b"], ["x\x1b"], ["ls", "--\x1b"], ["export", "x", "--\x9b"]]
        calls += [["trend", "-m", "\x1b"], ["trend", "-w", "\x1b>3"]]
        found = []
        for call in calls:
            if letters := unsafe(on_a_terminal(program, *call)):
                found.append(f"{call[0]} {call[2:]} sends {', '.join(letters)}")
        return found


def check_spreadsheet(program: Path) -> list[str]:
    """--safe, and a terminal, put a ' before what would be a formula; numbers and other outputs stay."""
    with tempfile.TemporaryDirectory() as name:
        run = make(Path(name))
        command = [program, "export", str(run), "--csv"]
        plain = subprocess.run(command, check=True, capture_output=True).stdout.decode()
        safe = subprocess.run([*command, "--safe"], check=True, capture_output=True).stdout.decode()
        shown = on_a_terminal(program, *command[1:]).decode().replace("\r\r\n", "\r\n")
        found = [] if shown == safe else ["a terminal gets something else than --safe"]
        tables = [list(csv.reader(io.StringIO(text, newline=""), strict=True)) for text in (plain, safe)]
        cells = [(was, is_now) for before, after in zip(*tables, strict=True)
                 for was, is_now in zip(before, after, strict=True)]
        if {was for was, _ in cells} < set(DATASETS.values()):
            found.append("without --safe the datasets are not what they were")
        for was, is_now in cells:
            if is_now[:1] in tuple("=+-@\t\r") and not is_number(is_now):
                found.append(f"{is_now!r} is a formula")
            if is_number(was) and was != is_now:
                found.append(f"the number {was} became {is_now}")
        if ("=cmd\x1b[31m|'x'!A1", "'=cmd\\x1b[31m|'x'!A1") not in cells:
            found.append("the dataset is not shown as expected")
        return found


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def check_no_files(program: Path) -> list[str]:
    """A pipe or a device in the place of a file ends every verb at once, with a failure that is told."""
    found = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run([program, "import", ORIGINAL, "-o", folder / "ours"], check=True, capture_output=True)
        for original, file in [(ORIGINAL, "metrics.json"), (ORIGINAL, "metadata.json"), (ORIGINAL, "start_end_time.txt"),
                               (folder / "ours" / "sections", "run.sqlite"),
                               (folder / "ours" / "sections", "metrics.json")]:
            for kind, make_it in (("pipe", os.mkfifo), ("device", lambda path: path.symlink_to("/dev/zero"))):
                place = folder / "place"
                shutil.copytree(original, place / "run")
                (place / "run" / file).unlink()
                make_it(place / "run" / file)
                found += [f"{file} as a {kind}: {problem}" for problem in verb_problems(program, place)]
                shutil.rmtree(place)
    return found


def verb_problems(program: Path, place: Path) -> list[str]:
    run = str(place / "run")
    found = []
    for call in (["show", run], ["diagnose", run], ["export", run, "--json"], ["export", run, "--csv"],
                 ["sql", run, "SELECT 1"], ["ls", str(place)], ["ls", run], ["import", str(place), "-o", f"{place}/to"]):
        try:
            result = subprocess.run([program, *call], capture_output=True, timeout=20, check=False)
        except subprocess.TimeoutExpired:
            found.append(f"{call[0]} blocks")
            continue
        if result.returncode not in (0, 3, 4):
            found.append(f"{call[0]} ends with {result.returncode}: {result.stderr.decode()}")
    return found


CHECKS: dict[str, Callable[[Path], list[str]]] = {
    "nothing in a measurement steers a terminal": check_terminal,
    "--safe is safe for spreadsheets": check_spreadsheet,
    "what is no file blocks nobody": check_no_files,
}
