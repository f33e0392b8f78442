"""Checks of `roast run` that need more than its output: signals, and the truth of its figures."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
CPU_S, MEMORY_MB, WRITTEN_MB = 0.3, 120, 20

# Two processes below a shell: one computes, one holds memory and writes.
LOAD = f"""
import os, sys, time
if os.fork() == 0:
    while time.process_time() < {CPU_S}:
        pass
    os._exit(0)
held = bytearray(b"x") * {MEMORY_MB * 10**6}
with open(sys.argv[1], "wb") as file:
    file.write(held[:{WRITTEN_MB * 10**6}])
    os.fsync(file.fileno())
time.sleep(0.3)
os.wait()
"""


def saved(folder: str, name: str) -> dict:
    return json.loads((Path(folder) / name / "metrics.json").read_text())


def wait_for(path: Path, seconds: float = 30) -> bool:
    until = time.monotonic() + seconds
    while not path.exists() and time.monotonic() < until:
        time.sleep(0.01)
    return path.exists()


def _hear_interrupts() -> None:
    """A job in the background of a shell ignores them, and so would all that it starts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def check_signals(program: Path) -> list[str]:
    """What is sent to roast reaches the command, once; what the command makes of it is what counts."""
    found = []
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1):
        with tempfile.TemporaryDirectory() as folder:
            ready = Path(folder) / "ready"
            script = f"trap 'echo got; exit 7' {number.name[3:]}; touch {ready}; while :; do sleep 0.02; done"
            process = subprocess.Popen([program, "run", "-q", "-o", folder, "--name", "x", "--", "sh", "-c", script],
                                       stdout=subprocess.PIPE, start_new_session=True, preexec_fn=_hear_interrupts)
            if not wait_for(ready):
                found.append("the command did not start")
            os.kill(process.pid, number)
            output = process.communicate(timeout=60)[0]
            if (process.returncode, output) != (7, b"got\n"):
                found.append(f"{number.name}: exit status {process.returncode}, output {output!r}")
            if saved(folder, "x")["meta"]["exit_status"] != "7":
                found.append(f"{number.name}: the measurement has another exit status")
    return found


def check_figures(program: Path) -> list[str]:
    """A load of a known size is measured as such."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "written"
        start = time.monotonic()
        subprocess.run([program, "run", "-q", "-i", "0.02", "-o", folder, "--name", "x", "--", "sh", "-c",
                        '"$@"; true', "sh", sys.executable, "-c", LOAD, str(file)], check=True, timeout=60)
        wall = time.monotonic() - start
        metrics = saved(folder, "x")
    meta = metrics["meta"]
    expected = {
        "wall_time": (metrics["wall_time"], 0.3, wall),
        "total_cpu_time": (metrics["total_cpu_time"], CPU_S, 2 * wall + 1),
        "peak_memory_bytes": (metrics["peak_memory_bytes"], MEMORY_MB * 1e6, 3 * MEMORY_MB * 1e6),
        "largest_process_bytes": (float(meta["largest_process_bytes"]), MEMORY_MB * 1e6, 2 * MEMORY_MB * 1e6),
        "avg_workers": (metrics["avg_workers"], 1, 1),
        "processes": (int(meta["processes"]), 2, 10),
    }
    if float(meta["storage_write_bytes"]) > 0:  # a folder in memory has no storage
        expected["storage_write_bytes"] = (float(meta["storage_write_bytes"]), WRITTEN_MB * 1e6, 1e9)
    return [f"{name} is {value}, not between {least} and {most}"
            for name, (value, least, most) in expected.items() if not least <= value <= most]


def check_damaged(program: Path) -> list[str]:
    """Broken measurements are listed with what is wrong, and hide nothing else."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("good", "bad"):
            subprocess.run([program, "run", "-q", "-o", folder, "--name", name, "--", "true"], check=True)
        database = Path(folder) / "bad" / "run.sqlite"
        database.write_bytes(database.read_bytes()[:1000])
        old = Path(folder) / "old"
        old.mkdir()
        (old / "metrics.json").write_text('{"wall_time": 1,')
        (old / "metadata.json").write_text('{"format": "roastcoffea_measurement_v1"}')
        (old / "start_end_time.txt").write_text("1,2")
        table = subprocess.run([program, "ls", folder], capture_output=True, text=True, check=True).stdout
        rows = json.loads(subprocess.run([program, "ls", "--json", folder], capture_output=True, check=True).stdout)
        imported = subprocess.run([program, "import", folder], capture_output=True, text=True, check=False)
        left = sorted(os.listdir(folder))
    found = []
    errors = {row["name"]: row.get("error") for row in rows}
    if set(errors) != {"good", "bad", "old"} or errors["good"] is not None or not all((errors["bad"], errors["old"])):
        found.append(f"the list says {errors}")
    below = table[table.index("Cannot be read"):] if "Cannot be read" in table else ""
    found += [f"{name} is not among those that cannot be read" for name in ("bad", "old")
              if f"/{name}\n" not in below]
    if imported.returncode != 4 or "1 failed" not in imported.stdout:
        found.append(f"import of a damaged one: {imported}")
    if left != ["bad", "good", "old"]:
        found.append(f"a failed import left {left}")
    return found


def check_import_beside(program: Path) -> list[str]:
    """Without a folder to put it in, it stands beside the original, which stays to the bit."""
    original = ROOT / "tests" / "data" / "measurements_0_1_2" / "local"
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(shutil.copytree(original, Path(folder) / "local"))
        subprocess.run([program, "import", f"{copy}/"], check=True, capture_output=True)
        names = sorted(os.listdir(folder))
        same = all((copy / path.name).read_bytes() == path.read_bytes() for path in original.iterdir())
        config = (Path(folder) / "local.imported" / "config.json").read_bytes()
        metrics = saved(folder, "local.imported")
    found = []
    if names != ["local", "local.imported"] or not same:
        found.append(f"the folder holds {names}, the original is {'the same' if same else 'changed'}")
    if config != (original / "config.json").read_bytes():
        found.append("the config is another one")
    if (metrics["total_events"], metrics["num_chunks"]) != (1200, 6):
        found.append(f"the metrics are {metrics}")
    return found


def check_ignored_children(program: Path) -> list[str]:
    """Where nobody waits for children, the status of the command is not lost."""
    with tempfile.TemporaryDirectory() as folder:
        script = 'trap "" CHLD; exec "$@"'
        result = subprocess.run(["sh", "-c", script, "sh", program, "run", "-q", "-o", folder, "sh", "-c", "exit 9"],
                                check=False, timeout=60)
    return [] if result.returncode == 9 else [f"exit status {result.returncode}"]


def check_at_once(program: Path) -> list[str]:
    """Runs that end in the same second do not take each other's name."""
    with tempfile.TemporaryDirectory() as folder:
        runs = [subprocess.Popen([program, "run", "-q", "-o", folder, "--", "true"]) for _ in range(8)]
        codes = [run.wait(timeout=60) for run in runs]
        names = sorted(os.listdir(folder))
    return [] if codes == [0] * 8 and len(names) == 8 else [f"exit codes {codes}, measurements {names}"]


CHECKS: dict[str, Callable[[Path], list[str]]] = {
    "signals reach the command": check_signals,
    "the status is kept where children are ignored": check_ignored_children,
    "runs at the same time": check_at_once,
    "a load of a known size is measured": check_figures,
    "damaged measurements are listed": check_damaged,
    "an import stands beside the original": check_import_beside,
}
