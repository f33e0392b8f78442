"""What `roast export` writes, read by others: Python's own parsers, and that of prometheus_client."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

from prometheus_client.openmetrics.parser import text_string_to_metric_families

ROOT = Path(__file__).resolve().parent.parent.parent
ORIGINALS = ROOT / "tests" / "data" / "measurements_0_1_2"
NAMES = ("sections", "local", "failed_chunks", "report_only", "odd_values")


@contextmanager
def imported(program: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program, "import", str(ORIGINALS), "-o", folder], check=True, capture_output=True)
        yield Path(folder)


def export(program: Path, run: Path, *options: str) -> str:
    result = subprocess.run([program, "export", str(run), *options], check=True, capture_output=True)
    return result.stdout.decode()


def each(check: Callable[[Path, Path], list[str]]) -> Callable[[Path], list[str]]:
    """The check over every measurement, the imported ones and the originals."""
    def all_of(program: Path) -> list[str]:
        with imported(program) as folder:
            return [f"{run.name}: {problem}" for parent in (folder, ORIGINALS) for name in NAMES
                    for run in [parent / name] for problem in check(program, run)]
    return all_of


# ---- OpenMetrics ----

# To the base unit, by the word of a key that names another one.
UNITS = {"mb": 1e6, "us": 1e-6, "gbps": 125e6, "mbps": 1e6, "khz": 1e3, "pct": 0.01, "percent": 0.01, "percentage": 0.01}


def base_value(key: str, value: float) -> float:
    return value * math.prod(UNITS.get(word, 1) for word in key.split("_"))


def key_of(family: Any) -> str | None:
    """The help names it: "Wall Time (wall_time): ..."."""
    found = re.search(r" \((\w+)\): ", family.documentation)
    return None if found is None else found[1]


def openmetrics_problems(program: Path, run: Path) -> list[str]:
    """Its parser takes it, and the numbers are those of the JSON, in base units."""
    metrics = json.loads(export(program, run, "--json"))
    found = []
    for options in ([], ["--all"], ["--all", "--samples"]):
        text = export(program, run, "--openmetrics", *options)
        families = {family.name: family for family in text_string_to_metric_families(text)}
        for name, family in families.items():
            key, samples = key_of(family), family.samples
            if key not in metrics or set(samples[0].labels) != {"run"}:
                continue
            want = base_value(key, metrics[key])
            if len(samples) != 1 or samples[0].labels != {"run": run.name} or not math.isclose(samples[0].value, want):
                found.append(f"{name} is {samples}, not {want}")
        for key, name in (("wall_time", "roast_wall_time_seconds"), ("data_rate_mbps", "roast_data_rate_bytes_per_second")):
            if key in metrics and name not in families:
                found.append(f"there is no {name}")
        found += dataset_problems(metrics, families)
    return found


def dataset_problems(metrics: dict[str, Any], families: dict[str, Any]) -> list[str]:
    family = families.get("roast_dataset_total_events")
    got = {} if family is None else {sample.labels["dataset"]: sample.value for sample in family.samples}
    want = {name: row["total_events"] for name, row in metrics["per_dataset"].items()}
    return [] if got == want else [f"events of the datasets are {got}, not {want}"]


# ---- JSON ----

def strict(text: str) -> Any:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({key for key, _ in pairs}) < len(pairs):
            raise ValueError(f"a key twice: {[key for key, _ in pairs]}")
        return dict(pairs)

    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is no JSON")
    return json.loads(text, object_pairs_hook=once, parse_constant=refuse)


def nulls(value: Any, path: str) -> Iterator[str]:
    if value is None:
        yield path
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from nulls(inner, f"{path}/{key}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from nulls(inner, f"{path}/{index}")


def json_problems(program: Path, run: Path) -> list[str]:
    """What was not measured is absent, not null; the parts of the contract are there."""
    document = strict(export(program, run, "--json"))
    found = [f"{path} is null" for path in nulls(document, "")]
    parts = {"tracking_data", "raw_chunk_metrics", "raw_section_metrics", "raw_span_metrics", "per_dataset",
             "sections", "file_metadata", "file_read_metrics", "compression_ratios",
             "bytes_read_percent_per_file"}
    return found + [f"there is no {part}" for part in sorted(parts - document.keys())]


# ---- CSV ----

def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))


def csv_problems(program: Path, run: Path) -> list[str]:
    """The chunks of the CSV are those of the JSON, value by value."""
    chunks = json.loads(export(program, run, "--json"))["raw_chunk_metrics"]
    rows = rows_of(export(program, run, "--csv"))
    if len(rows) != len(chunks):
        return [f"{len(rows)} rows of {len(chunks)} chunks"]
    found = []
    for row, chunk in zip(rows, chunks, strict=True):
        for key, text in row.items():
            value = chunk.get(key)
            same = text == "" if value is None else text == value if isinstance(value, str) \
                else math.isclose(float(text), value, rel_tol=0, abs_tol=0)
            if not same:
                found.append(f"{key} is {text!r}, not {value!r}")
    return found


def check_folder(program: Path) -> list[str]:
    """With a folder to write to there is a file for each table, and nothing else."""
    with imported(program) as folder, tempfile.TemporaryDirectory() as target:
        run = folder / "sections"
        export(program, run, "--csv", "-o", target)
        names = sorted(path.name for path in Path(target).iterdir())
        if names != ["chunks.csv", "reads.csv", "samples.csv", "sections.csv"]:
            return [f"the files are {names}"]
        return [f"{name} is not what standard output gets" for name in names
                if (Path(target) / name).read_bytes().decode() !=
                export(program, run, "--csv", "--table", name.removesuffix(".csv"))]


def check_whole_or_not(program: Path) -> list[str]:
    """An output that fails leaves what was there, and nothing beside it."""
    with imported(program) as folder, tempfile.TemporaryDirectory() as target:
        file = Path(target) / "out.json"
        file.write_text("before")
        export(program, folder / "sections", "--json", "-o", str(file))
        whole = json.loads(file.read_text())
        damaged = folder / "sections" / "run.sqlite"
        content = bytearray(damaged.read_bytes())
        content[len(content) // 2] ^= 1
        damaged.write_bytes(content)
        result = subprocess.run([program, "export", str(folder / "sections"), "--json", "-o", str(file)],
                                capture_output=True, check=False)
        found = [] if result.returncode == 4 else [f"a damaged run ends with {result.returncode}"]
        if json.loads(file.read_text()) != whole or len(list(Path(target).iterdir())) != 1:
            found.append("a failed export left something else than what was there")
        return found


# ---- trace ----

def trace_problems(program: Path, run: Path) -> list[str]:
    """In a lane slices lie apart or within each other; every chunk that says when it ran is there."""
    trace = json.loads(export(program, run, "--trace"), parse_float=Fraction)
    lanes: dict[tuple[int, int], list[tuple[Fraction, Fraction, str]]] = {}
    chunks = 0
    for event in trace["traceEvents"]:
        if event["ph"] == "X":
            start = Fraction(event["ts"])
            # Those that begin together: the longest first.
            lanes.setdefault((event["pid"], event["tid"]), []).append(
                (start, -Fraction(event["dur"]), event["name"]))
            chunks += event["cat"] == "chunk"
    found = [f"'{name}' overlaps" for slices in lanes.values() for name in overlapping(sorted(slices))]
    document = json.loads(export(program, run, "--json"))
    timed = sum("t_start" in chunk for chunk in document["raw_chunk_metrics"])
    return found if chunks == timed else [*found, f"{chunks} chunks of {timed}"]


def overlapping(slices: list[tuple[Fraction, Fraction, str]]) -> Iterator[str]:
    ends: list[Fraction] = []
    for start, lasted, name in slices:
        while ends and ends[-1] <= start:
            ends.pop()
        if ends and start - lasted > ends[-1]:
            yield name
        ends.append(start - lasted)


CHECKS: dict[str, Callable[[Path], list[str]]] = {
    "exported JSON is strict and has no nulls": each(json_problems),
    "exported CSV says what the JSON says": each(csv_problems),
    "exported OpenMetrics text is parsed by prometheus_client": each(openmetrics_problems),
    "slices of an exported trace do not overlap": each(trace_problems),
    "tables go into a folder": check_folder,
    "an export is whole or not there": check_whole_or_not,
}
