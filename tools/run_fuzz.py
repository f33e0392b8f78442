"""Runs each fuzz target for some time: `run_fuzz.py SECONDS`. Needs clang and its libFuzzer.

A target starts from its corpus in the repository and keeps what it finds in build/fuzz-corpus; an input
that breaks it lands in build/fuzz-found.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from build import BUILD, ROOT, BuildFailed, build


def build_targets() -> list[Path]:
    names = sorted(f"fuzz/{path.stem}" for path in (ROOT / "fuzz").glob("fuzz_*.c"))
    return [build("fuzz", *names) / name for name in names]


def run_target(target: Path, seconds: int) -> bool:
    name = target.name.removeprefix("fuzz_")
    found, kept = BUILD / "fuzz-found" / name, BUILD / "fuzz-corpus" / name
    for folder in (found, kept):
        folder.mkdir(parents=True, exist_ok=True)
    corpora = [kept, *(path for path in [ROOT / "fuzz" / "corpus" / name] if path.is_dir())]
    print(f"== {name}, {seconds} s", flush=True)
    result = subprocess.run([target, f"-max_total_time={seconds}", f"-artifact_prefix={found}/",
                             "-print_final_stats=1", *corpora], cwd=ROOT, check=False)
    return result.returncode == 0


def main(arguments: list[str]) -> int:
    if len(arguments) != 1 or not arguments[0].isdigit():
        print("usage: run_fuzz.py SECONDS", file=sys.stderr)
        return 2
    if shutil.which("clang") is None:
        print("fuzz: clang is missing: apt-get install clang libclang-rt-dev", file=sys.stderr)
        return 1
    try:
        found = build_targets()
    except BuildFailed as failure:
        print(f"fuzz: this failed: {failure}", file=sys.stderr)
        return 1
    if not found:
        print("fuzz: there is no fuzz/fuzz_*.c", file=sys.stderr)
        return 1
    broken = [target.name for target in found if not run_target(target, int(arguments[0]))]
    print(f"{len(found) - len(broken)} targets held, {len(broken)} broke {' '.join(broken)}".rstrip())
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
