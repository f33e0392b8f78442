"""Which lines of the decoders the fuzz targets reach: `run_fuzz.py --coverage`, which needs clang and llvm.

Replays the corpora of the repository, also damaged, and what the fuzzer has kept in build/fuzz-corpus. Lines for memory that
is not there count on their own: no input reaches them; the C tests do.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from build import BUILD, ROOT, build, run

# File: which of its functions decode. Others encode, describe, or give what was decoded.
DECODERS = {
    "base/frame.c": "get|open|close|fail|damaged|check", "base/varint.c": "", "base/json_scan.c": "",
    "model/chunk_wire.c": "read|decode|no_memory", "model/chunk_entries.c": "_(text|origin|file|count|valid|next)$|read|check",
    "model/chunk_rows.c": "read|refs|valid|count", "model/chunk_tails.c": "start|next|passed",
    "model/series_codec.c": "get|decode", "model/attempts_codec.c": "get|decode", "metrics/wire.c": "get|decode",
    "analyse/diagnose/findings.c": "get|decode|kind_named|add$|keep_text|is_possible",
    "engines/taskvine.c": "manager|line|keep|take_bytes|feed$|finish$|departures", "engines/taskvine_fields.c": "",
    "engines/taskvine_files.c": "^(?!roast_recent_memory)", "engines/taskvine_tasks.c": "^(?!explanation)",
    "engines/taskvine_workers.c": "^(?!roast_taskvine)", "runs/quick.c": "^(?!roast_found_quick)",
    "store/read/run.c": "", "store/database/parts.c": "walk|unpack|take_row|no_memory", "store/legacy/chunks.c": "",
    "store/legacy/json.c": "", "store/legacy/series.c": "", "store/legacy/texts.c": "",
    "store/legacy/legacy.c": "^(?!roast_legacy_(files|load)|read_|str_of)",
}
NO_MEMORY = re.compile("no_memory|ENOMEM|no memory")


def functions(lcov: str) -> Iterator[tuple[str, str, dict[int, int]]]:
    """File and name of each function, and how often each of its lines ran."""
    for record in lcov.split("end_of_record\n"):
        file = record.partition("SF:")[2].partition("\n")[0].rpartition("/src/")[2]
        starts = sorted((int(at), name.rpartition(":")[2]) for at, name in re.findall(r"^FN:(\d+),(.*)", record, re.M))
        counts = {int(at): int(count) for at, count in re.findall(r"^DA:(\d+),(\d+)", record, re.M)}
        for (start, name), (end, _) in zip(starts, [*starts[1:], (1 << 30, "")]):
            yield file, name, {at: count for at, count in counts.items() if start <= at < end}


def replay(names: list[str]) -> str:
    """The counts of all lines, as lcov writes them."""
    folder = build("coverage", *(f"fuzz/{kind}_{name}" for name in names for kind in ("replay", "fuzz")))
    profiles = folder / "profiles"
    shutil.rmtree(profiles, ignore_errors=True)
    for name in names:
        run([folder / f"fuzz/replay_{name}", ROOT / "fuzz/corpus" / name], {"LLVM_PROFILE_FILE": f"{profiles}/r-{name}"})
        if (kept := BUILD / "fuzz-corpus" / name).is_dir():
            run([folder / f"fuzz/fuzz_{name}", "-runs=0", kept], {"LLVM_PROFILE_FILE": f"{profiles}/f-{name}"})
    run(["llvm-profdata", "merge", "-o", folder / "all.profdata", *profiles.iterdir()])
    objects: list[str | Path] = [word for name in names for word in ("-object", folder / f"fuzz/replay_{name}")]
    return subprocess.run(["llvm-cov", "export", "-format=lcov", f"-instr-profile={folder}/all.profdata", *objects],
                          check=True, capture_output=True, text=True).stdout


def report(names: list[str], least: float = 0.95) -> bool:
    """Prints a row for each decoder, with the lines that nothing reached; false: they reach less than `least` of all."""
    total: dict[str, list[int]] = {}
    missed: dict[str, list[int]] = {}
    for file, name, counts in functions(replay(names)):
        if file in DECODERS and re.search(DECODERS[file], name):
            source = (ROOT / "src" / file).read_text().splitlines()
            row = total.setdefault(file, [0, 0, 0])
            for at, count in counts.items():
                memory = count == 0 and (name == "no_memory" or NO_MEMORY.search(source[at - 1]) is not None)
                row[0] += not memory
                row[1] += count > 0
                row[2] += memory
                if count == 0 and not memory:
                    missed.setdefault(file, []).append(at)
    sums = [sum(row[i] for row in total.values()) for i in range(3)]
    for file, (lines, reached, memory) in [*sorted(total.items()), ("all", sums)]:
        print(f"{file:<30} {reached:>5} of {lines:>5} {reached / lines:7.1%} {memory:>4} for want of memory",
              *missed.get(file, []))
    return set(total) == set(DECODERS) and sums[1] >= least * sums[0]
