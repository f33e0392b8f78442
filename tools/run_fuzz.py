"""Runs each fuzz target for some time: `run_fuzz.py SECONDS`; or `run_fuzz.py --case CASE`, see fuzz_reentrant.py; or
`run_fuzz.py --coverage`, see fuzz_coverage.py.

First the extension, which needs no more than the compiler of the other builds; then the decoders, which need
clang and its libFuzzer. A decoder's target starts from its corpus in the repository and keeps what it finds in
build/fuzz-corpus; an input that breaks it lands in build/fuzz-found.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import fuzz_coverage
import fuzz_reentrant
from build import BUILD, ROOT, BuildFailed, build


def target_names() -> list[str]:
    return sorted(path.stem.removeprefix("fuzz_") for path in (ROOT / "fuzz").glob("fuzz_*.c"))


def build_targets() -> list[Path]:
    names = [f"fuzz/fuzz_{name}" for name in target_names()]
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


def run_decoders(seconds: int) -> list[str]:
    """Names of those that broke."""
    targets = build_targets()
    if not targets:
        raise BuildFailed("there is no fuzz/fuzz_*.c")
    broken = [target.name for target in targets if not run_target(target, seconds)]
    print(f"{len(targets) - len(broken)} targets held, {len(broken)} broke {' '.join(broken)}".rstrip())
    return broken


def main(arguments: list[str]) -> int:
    if len(arguments) == 2 and arguments[0] == "--case":
        return fuzz_reentrant.run_alone(arguments[1])
    coverage = arguments == ["--coverage"]
    if not coverage and (len(arguments) != 1 or not arguments[0].isdigit()):
        print("usage: run_fuzz.py SECONDS | --case CASE | --coverage", file=sys.stderr)
        return 2
    try:
        if coverage:
            return 0 if fuzz_coverage.report(target_names()) else 1
        seconds = int(arguments[0])
        held = fuzz_reentrant.fuzz(seconds)
        if shutil.which("clang") is None:
            print("fuzz: clang is missing: apt-get install clang libclang-rt-dev", file=sys.stderr)
            return 1
        return 0 if not run_decoders(seconds) and held else 1
    except BuildFailed as failure:
        print(f"fuzz: this failed: {failure}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
