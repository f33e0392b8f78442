"""Random interrupts of a run with a collector: `interrupts.py iterative|dask COUNT [SEED [SCHEDULER_FILE]]`.

An interrupt lands at a random moment of entering, running or leaving. What is left behind then is counted; none is to be.
"""

from __future__ import annotations

import gc
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "tests" / "soak"), str(ROOT / "tests" / "e2e")]

from coffea import processor  # noqa: E402
from coffea.nanoevents import NanoAODSchema  # noqa: E402
from dask_parts import traces  # noqa: E402
from files import nano_columns, write_ttree  # noqa: E402
from processors import Tracked  # noqa: E402

from roastcoffea import MetricsCollector  # noqa: E402
from roastcoffea.coffea import identity, runner_watch
from roastcoffea.common import guard, marks
from roastcoffea.worker import channel

RUNNER = dict(vars(processor.Runner))


def here() -> list[str]:
    """What of ours there is in this process."""
    found = [name for name, value in vars(processor.Runner).items() if callable(value) and value is not RUNNER.get(name)]
    found += [thread.name for thread in threading.enumerate() if "roastcoffea" in thread.name]
    kept = {"watchers": runner_watch._open, "marks": marks._attributes, "runs": identity._open, "notes": guard._listeners,
            "messages": channel._kept, "a call": runner_watch._call.get(), "a phase": runner_watch._preprocessing.get()}
    found += [name for name, there in kept.items() if there]
    if vars(Tracked).get("_roastcoffea_collect_metrics"):
        found.append("the flag of the class")
    return found


def soon(look: Any, seconds: float) -> list[str]:
    """What stays. A thread may end by itself, a scheduler has something to do first."""
    end = time.monotonic() + seconds
    while (found := look()) and time.monotonic() < end:
        time.sleep(0.02)
    return found


class Interrupted:
    def __init__(self, make_executor: Any, given: Any, seed: str) -> None:
        self.chance, self.make_executor, self.given = random.Random(seed), make_executor, given
        self.folder = Path(tempfile.mkdtemp(prefix="interrupts"))
        path = write_ttree(self.folder / "events.root", nano_columns(300, 1, 2))
        self.fileset = {"ttbar": {"files": {str(path): "Events"}}}
        self.saved = self.folder / "saved"
        self.phase = "over"
        self.phases: Counter[str] = Counter()
        self.odd: list[str] = []

    def run(self, delay: float) -> None:
        runner = processor.Runner(executor=self.make_executor(), schema=NanoAODSchema, chunksize=150, metadata_cache={})
        saved = self.saved if self.chance.random() < 0.5 else None
        collector, self.phase = MetricsCollector(self.given, output_dir=saved, worker_tracking_interval=0.05), "entering"
        signal.setitimer(signal.ITIMER_REAL, delay)
        with collector:
            self.phase = "running"
            runner(self.fileset, Tracked())
            self.phase = "leaving"
        self.phase = "over"

    def once(self, delay: float) -> None:
        try:
            self.run(delay)
        except KeyboardInterrupt:
            pass
        except Exception as error:  # of the libraries, which were interrupted in the middle of something
            if "roastcoffea" in repr(error):
                self.odd.append(repr(error))
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)

    def all(self, count: int, look: Any, patience: float) -> Iterator[str]:
        """What is left behind, in words."""
        self.once(0)
        begun = time.monotonic()
        self.once(0)
        longest = 1.2 * (time.monotonic() - begun)
        before = len(os.listdir("/proc/self/fd"))
        for number in range(count):
            names = set(os.listdir(self.saved)) if self.saved.exists() else set()
            try:
                self.once(self.chance.uniform(1e-6, longest))
            except KeyboardInterrupt:  # it came late
                pass
            self.phases[self.phase] += 1
            if self.phase == "entering" and self.saved.exists() and (made := set(os.listdir(self.saved)) - names):
                yield f"{number}: {made} of a run that did not begin"
            for name in soon(look, patience):
                yield f"{number}, {self.phase}: {name}"
            if number % 50 == 49:
                print(f"{number + 1} of {count}: {dict(self.phases)}", flush=True)
                shutil.rmtree(self.saved, ignore_errors=True)
        gc.collect()
        if (more := len(os.listdir("/proc/self/fd")) - before) > 5:
            yield f"{more} more files are open"
        yield from self.odd
        shutil.rmtree(self.folder, ignore_errors=True)


def main(kind: str, count: str, seed: str = "", scheduler_file: str = "") -> int:
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    seed = seed or str(random.randrange(10**6))
    with ExitStack() as stack:
        if kind == "dask":
            import distributed

            cluster: Any = {"scheduler_file": scheduler_file} if scheduler_file else {"address": stack.enter_context(
                distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None))}
            client = stack.enter_context(distributed.Client(**cluster, timeout=60, set_as_default=False))
            look, patience = (lambda: here() + ([] if scheduler_file else traces(client))), 10.0
            interrupted = Interrupted(lambda: processor.DaskExecutor(client=client, status=False, retries=0), client, seed)
        else:
            look, patience = here, 5.0
            interrupted = Interrupted(lambda: processor.IterativeExecutor(status=False, retries=0), None, seed)
        left = list(interrupted.all(int(count), look, patience))
    for text in left[:50]:
        print(text)
    print(f"{kind}, seed {seed}: {count} interrupts {dict(interrupted.phases)}, left behind: {len(left)}", flush=True)
    return int(bool(left))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
