"""Runs on a cluster with faults, with and without collectors: `soak.py SECONDS [SEED]`.

Each output is compared with that of a run without collectors and faults, each number with what the processor has
counted itself. All processes, mounts and network links are inside namespaces that end with this program (needs root or
user namespaces); where there are none, the faults that need them are left out. What the processes said is in
build/soak/logs.
"""

from __future__ import annotations

import asyncio
import errno
import faulthandler
import logging
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import coffea
import dask
import distributed
from coffea import processor
from coffea.nanoevents import NanoAODSchema

import roastcoffea
from roastcoffea import MetricsCollector
from roastcoffea.backends.source import Source

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "soak"
sys.path[:0] = [str(ROOT / "tests" / "soak"), str(ROOT / "tests" / "e2e")]

from cluster import END_S, Cluster, Faults, make_link  # noqa: E402
from files import nano_columns, write_ttree  # noqa: E402
from processors import PROCESSORS, Plain, counts_of, text_of  # noqa: E402

INTERRUPTS = 10  # of each process that is interrupted
CALM_S, GIVE_UP_S = 60, 300  # a round that takes longer has no more faults; is given up
GRACE_S = 90  # how long something of ours may be on the scheduler: a client that was cut off may come back
BAD = ("chunks lost", "results changed", "numbers wrong", "left behind", "exceptions of ours")
FLAG = "_roastcoffea_collect_metrics"
EXECUTORS = {"dask": processor.DaskExecutor, "futures": processor.FuturesExecutor,
             "iterative": processor.IterativeExecutor}
# What Dask raises where it has lost too many workers, or its scheduler.
DASK_RAISES = (distributed.KilledWorker, distributed.client.FutureCancelledError, asyncio.CancelledError, OSError)
WATCHED = {owner: dict(vars(owner)) for owner in (
    processor.Runner, *EXECUTORS.values(), distributed.Client, ProcessPoolExecutor)}
PLACES = [os.path.dirname(file) + os.sep for file in (roastcoffea.__file__, coffea.__file__, __file__)]
OUT = os.fdopen(os.dup(1), "w")  # the progress; Coffea's bars and the like go into a log


def say(text: str) -> None:
    print(text, file=OUT, flush=True)


def is_ours(files: list[str]) -> bool:
    """Whether our code called what raised: it is the innermost that is no library's."""
    owners = (place for file in reversed(files) for place in PLACES if file.startswith(place))
    return next(owners, None) == PLACES[0]


class Score:
    def __init__(self) -> None:
        self.count: Counter[str] = Counter()
        self.notes: Counter[str] = Counter()
        self._lock = threading.Lock()

    def add(self, what: str, words: str = "", number: int = 1) -> None:
        with self._lock:
            self.count[what] += number
            if words:
                say(f"  {what}: {words}")

    def hear(self, notes: list[str]) -> None:
        with self._lock:
            self.notes.update(re.sub(r"roastcoffea-\w+|tcp://[\d.:]+|[\d.]+", "#", note)[:120] for note in notes)


class Plan:
    """A run: what is run where, and what is around it."""

    def __init__(self, chance: random.Random, small: bool = False, fewest: int = 0) -> None:
        self.executor = chance.choice(("dask",) * 6 + ("futures", "iterative", "iterative"))
        self.kind: type[Plain] = chance.choice(PROCESSORS)
        self.collectors = max(fewest, chance.choice((0, 1, 1, 1, 2)))
        self.raises = chance.random() < 0.3
        self.saved = chance.choice(("", "", "disk", "small" if small else "disk")) if self.collectors else ""
        self.preprocessed = chance.random() < 0.5  # Coffea knows the files already
        self.given = chance.choice(("client", "executor", "runner"))  # to the collector
        self.tracks = chance.random() < 0.8

    def __str__(self) -> str:
        return (f"{self.kind.__name__} on {self.executor}, {self.collectors} collectors"
                f"{', raises' * self.raises}{f', saved on {self.saved}' * bool(self.saved)}")


class Runs:
    """Does runs, and compares them with bare ones."""

    def __init__(self, small: Path | None) -> None:
        self.small, self.score = small, Score()
        files = {dataset: [write_ttree(FOLDER / f"{dataset}{i}.root", nano_columns(500 + 70 * i, i + 7 * k, 10))
                           for i in range(2)] for k, dataset in enumerate(("ttbar", "wjets"))}
        self.fileset = {dataset: {"files": dict.fromkeys(paths, "Events")} for dataset, paths in files.items()}
        self.bare: dict[type[Plain], Any] = {}  # what each processor counts; the first runs are bare

    def run(self, plan: Plan, client: Any) -> str:
        """How it went, in a few words."""
        more = {"dask": {"client": client}, "futures": {"workers": 2}}.get(plan.executor, {})
        executor = EXECUTORS[plan.executor](retries=5, status=False, **more)
        cache = {} if plan.preprocessed else {"metadata_cache": {}}
        runner = processor.Runner(executor=executor, schema=NanoAODSchema, chunksize=150, **cache)
        instance = plan.kind(tempfile.mkdtemp(dir=FOLDER) if plan.raises else None)
        before, output, word, begun = state(runner, executor, instance), None, "ok", time.perf_counter()
        given = {"client": client if plan.executor == "dask" else executor, "executor": executor, "runner": runner}
        place = {"": None, "disk": FOLDER / "saved", "small": self.small}[plan.saved]
        collectors = [MetricsCollector(given[plan.given], track_workers=plan.tracks, worker_tracking_interval=0.3,
                                       output_dir=place) for _ in range(plan.collectors)]
        entered = 0
        try:
            with ExitStack() as stack:
                for mc in collectors:
                    stack.enter_context(mc)
                    entered += 1
                output = runner(self.fileset, instance)
        except Exception as error:
            word = self.failed(plan, error, entered == plan.collectors, output is not None)
        seconds = time.perf_counter() - begun
        if before != (after := state(runner, executor, instance)):
            self.score.add("left behind", f"{plan}: {before} became {after}")
        if output is not None:
            counted = counts_of(output)
            if counted != self.bare.setdefault(plan.kind, counted):
                self.score.add("results changed", f"{plan}: {counted}")
            for mc in collectors:
                for problem in self.compare(plan, mc, counted["pieces"], seconds):
                    self.score.add("numbers wrong", f"{plan}: {problem}; notes {mc.notes}")
        for mc in collectors:
            self.score.hear(mc.notes)
        self.score.add("runs")
        return word

    def failed(self, plan: Plan, error: Exception, entered: bool, done: bool) -> str:
        words = f"{plan}: {''.join(traceback.format_exception(error))}"
        if plan.saved == "small" and not entered and isinstance(error, OSError) and error.errno == errno.ENOSPC:
            return f"refused: {error}"  # a folder that cannot be written to is told at once
        if done or not entered or is_ours([frame.filename for frame in traceback.extract_tb(error.__traceback__)]):
            self.score.add("exceptions of ours", words)
        elif plan.executor == "dask" and (isinstance(error, DASK_RAISES) or "KilledWorker" in str(error)):
            self.score.add("failed by the faults")
        else:
            self.score.add("results changed", words)
        return f"failed: {type(error).__name__}: {error}"[:120]

    def compare(self, plan: Plan, mc: MetricsCollector, pieces: dict[Any, Any], seconds: float) -> Iterator[str]:
        """What a collector tells, with what the processor has counted."""
        truth = {"total_events": sum(piece["events"] for piece in pieces.values()), "num_chunks": len(pieces)}
        known = [mc.get_metrics()]
        if mc.measurement_path is not None and not any("could not be saved" in note for note in mc.notes):
            known.append(roastcoffea.load_measurement(mc.measurement_path)[0])
        for metrics in known:
            if (found := {key: metrics.get(key) for key in truth}) != truth:
                yield f"{found}, not {truth}"
            if not 0 < metrics["wall_time"] <= seconds:
                yield f"a wall time of {metrics['wall_time']} s, while the block took {seconds} s"
        done = set()
        for chunk in [chunk for chunk in mc.chunk_metrics if not chunk.get("error")]:
            piece = tuple(chunk[key] for key in ("dataset", "file", "entry_start", "entry_stop"))
            done.add(piece)
            custom, counted = chunk["custom_metrics"], pieces.get(piece, {})
            told = {"times": 1, "events": chunk["num_events"], "number": custom.get("number"),
                    "uses": sum(one["section_name"] == "loop" for one in chunk["sections"])}
            if told != counted or custom.get("text") != text_of(counted["number"]):
                yield f"{piece}: {told} and the text {str(custom.get('text')):.20}..., not {counted}"
        if missing := 0 if plan.kind is Plain else len(pieces.keys() - done):
            is_told = any("chunks have a record" in note for note in mc.notes)
            words = "" if is_told else f"{plan}: {missing} of {len(pieces)}; notes {mc.notes}"
            self.score.add("told losses" if is_told else "chunks lost", words, missing)

    def open_and_close(self, client: Any, ended: threading.Event) -> None:
        """Collectors around nothing, while others run."""
        while not ended.wait(random.uniform(0, 0.5)):
            try:
                with MetricsCollector(client, worker_tracking_interval=0.1):
                    ended.wait(random.uniform(0, 1))
            except Exception as error:
                self.score.add("exceptions of ours", "".join(traceback.format_exception(error)))


# ---- what is left behind ----

def state(runner: Any, executor: Any, instance: Any) -> dict[str, Any]:
    """What the user can see; the processor's flag may stay when it is off. Coffea itself changes two of the values."""
    seen = {**vars(executor), **vars(runner), **vars(instance)}
    return {key: value for key, value in seen.items()
            if key not in ("metadata_cache", "heavy_input", "_chunk_metrics") and (key != FLAG or value)}


def left_here() -> list[str]:
    """When no collector is open."""
    found = [f"{owner.__name__}.{name}" for owner, before in WATCHED.items() for name, value in vars(owner).items()
             if callable(value) and value is not before.get(name)]
    found += [thread.name for thread in threading.enumerate() if "roastcoffea" in thread.name]
    return [*found, *(kind.__name__ for kind in PROCESSORS if vars(kind).get(FLAG)), *dask.get_annotations()]


def left_there(dask_scheduler: Any = None) -> list[str]:
    places = dask_scheduler.plugins, dask_scheduler.periodic_callbacks, dask_scheduler._broker._topics
    return [name for names in places for name in names if "roastcoffea" in name]


class Soak:
    def __init__(self, seed: str, inside: bool) -> None:
        linked, self.small = prepare(inside)
        self.chance, self.runs = random.Random(f"{seed} runs"), Runs(self.small)
        self.cluster = Cluster(FOLDER, linked)
        self.faults = Faults(self.cluster, seed, self.small)
        self.clients: dict[int, Any] = {}
        self.seen: dict[str, float] = {}  # what of ours is on the scheduler, and since when
        self.begun = time.monotonic()

    def run(self, seconds: float) -> None:
        self.cluster.start()
        for kind in PROCESSORS:
            for executor in EXECUTORS:
                self.run_bare(Plan(self.chance), executor=executor, kind=kind, raises=False)
        say(f"soak: bare runs done after {time.monotonic() - self.begun:.1f} s, faults begin")
        injector = threading.Thread(target=self.faults.run, daemon=True)
        injector.start()
        number = 0
        while time.monotonic() - self.begun < seconds and injector.is_alive():
            number += 1
            self.round(number)
        self.faults.ended.set()
        injector.join()
        self.look_at_scheduler()
        while self.seen and time.monotonic() - max(self.seen.values()) < GRACE_S:
            time.sleep(1)
            self.look_at_scheduler()
        for name in self.seen:
            self.runs.score.add("left behind", f"{name} on the scheduler at the end")

    def client(self, lane: int) -> Any:
        """Each thread has its own; a new one where it has lost the scheduler."""
        if lane not in self.clients or self.clients[lane].status != "running":
            self.clients[lane] = self.cluster.client()
        return self.clients[lane]

    def round(self, number: int) -> None:
        """One run, or two at once; sometimes other collectors open and close meanwhile."""
        two, others = self.chance.random() < 0.3, self.chance.random() < 0.2
        # A call without a collector is seen by the only one that is open: two at once have one each.
        plans = [Plan(self.chance, self.small is not None, int(two)) for _ in range(1 + two)]
        ended, words, before = threading.Event(), ["lost"] * len(plans), self.faults.count.copy()

        def lane(i: int, plan: Plan) -> None:
            try:
                words[i] = self.runs.run(plan, self.client(i))
            except Exception:
                self.runs.score.add("soak failed", f"{plan}: {traceback.format_exc()}")

        lanes = [threading.Thread(target=lane, args=each, daemon=True) for each in enumerate(plans)]
        aside = [threading.Thread(target=self.runs.open_and_close, args=(self.client(2), ended), daemon=True)] * others
        if self.chance.random() < 0.2:
            aside.append(threading.Thread(target=self.interrupt, args=(self.chance.choice(("dask", "iterative")),), daemon=True))
        begun = time.monotonic()
        for thread in lanes + aside:
            thread.start()
        self.wait_for(lanes, begun)
        ended.set()
        self.wait_for(aside, begun)
        now, new = time.monotonic(), self.faults.count - before
        for plan, word in zip(plans, words, strict=True):
            beside = ", two at once" * two + ", others open" * others
            say(f"{now - self.begun:6.1f} s  {number:3}  {plan}{beside}: {word}, {now - begun:.1f} s; "
                + ", ".join(f"{kind} {count}" for kind, count in new.items()))
        for name in left_here() + self.look_at_scheduler():
            self.runs.score.add("left behind", f"{name} after {', '.join(map(str, plans))}")
        for plan in [plan for plan, word in zip(plans, words, strict=True) if word.startswith("failed")]:
            self.calm_down()
            self.run_bare(plan)
            self.faults.calm.clear()

    def interrupt(self, kind: str) -> None:
        """Runs of another process, which are interrupted at random moments."""
        command = [sys.executable, str(ROOT / "tests" / "soak" / "interrupts.py"), kind, str(INTERRUPTS),
                   str(self.chance.random()), str(FOLDER / "scheduler")]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                              env={**os.environ, "TMPDIR": str(FOLDER)}) as process:
            try:
                output, _ = process.communicate(timeout=GIVE_UP_S / 2)
            except subprocess.TimeoutExpired:  # a cluster with faults may keep it waiting
                process.kill()
                return
        self.faults.count["interrupt"] += INTERRUPTS
        if process.returncode != 0:
            self.runs.score.add("left behind", f"after interrupts: {output[-2000:]}")

    def wait_for(self, threads: list[threading.Thread], begun: float) -> None:
        while any(thread.is_alive() for thread in threads):
            time.sleep(0.05)
            if time.monotonic() - begun > CALM_S:
                self.calm_down()
            if time.monotonic() - begun > GIVE_UP_S:
                faulthandler.dump_traceback(all_threads=True)
                self.runs.score.add("soak failed", "a run does not end; all threads are in client.log")
                raise KeyboardInterrupt
        self.faults.calm.clear()

    def calm_down(self) -> None:
        self.faults.calm.set()
        self.faults.heal()

    def run_bare(self, plan: Plan, **changes: Any) -> None:
        """Without faults and without us a run gives what it should."""
        vars(plan).update(changes, collectors=0, saved="")
        if (word := self.runs.run(plan, self.client(0))) != "ok":
            self.runs.score.add("soak failed", f"{plan}, without faults and without us: {word}")

    def look_at_scheduler(self) -> list[str]:
        """What of ours has been there for too long."""
        try:
            names = self.client(0).run_on_scheduler(left_there)
        except OSError:  # the link is cut
            return []
        self.seen = {name: self.seen.get(name, time.monotonic()) for name in names}
        return [f"{name} on the scheduler" for name, since in self.seen.items() if time.monotonic() - since > GRACE_S]

    def sum_up(self) -> int:
        for path in (FOLDER / "logs").iterdir():
            for block in path.read_text(errors="replace").split("Traceback (most recent call last):\n")[1:]:
                frames = re.match(r"(?: .*\n)*", block)[0]
                if is_ours(re.findall(r'^ +File "([^"]+)", line', frames, re.MULTILINE)):
                    self.runs.score.add("exceptions of ours", f"{path.name}: {block[:len(frames) + 200]}")
        count, faults = self.runs.score.count, self.faults.count
        for note, number in self.runs.score.notes.most_common():
            say(f"note, {number} times: {note}")
        say(f"faults: {dict(faults)}; runs failed by them: {count['failed by the faults']}; chunks without a record of "
            f"which a note tells: {count['told losses']}")
        say(f"{count['runs']} runs, {faults.total()} faults injected, "
            + ", ".join(f"{what} {count[what]}" for what in BAD))
        return int(any(count[what] for what in (*BAD, "soak failed")))


def prepare(inside: bool) -> tuple[bool, Path | None]:
    """Whether there is a link that can be cut, and a small TMPDIR that can be filled."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    (FOLDER / "logs").mkdir(parents=True)
    if not inside:
        say("soak: no namespaces (root is needed, and unshare of util-linux): TMPDIR is not filled, the link not cut")
        return False, None
    small = FOLDER / "small"
    small.mkdir()
    for place in ("/run", str(small)):  # ip keeps its namespaces in the first
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "soak", place], check=True)
    os.environ["TMPDIR"] = str(small)
    linked = shutil.which("ip") is not None
    if linked:
        make_link()
    else:
        say("soak: ip is missing (Debian package iproute2): the link is not cut")
    return linked, small


def main(arguments: list[str]) -> int:
    inside = arguments[:1] == ["--inside"]
    seconds, seed = float(arguments[inside]), (arguments[1 + inside:] or [str(random.randrange(10**6))])[0]
    if not inside:
        user = [] if os.geteuid() == 0 else ["--map-root-user"]
        command = ["unshare", *user, "--mount", "--net", "--pid", "--fork", "--mount-proc", "--kill-child"]
        works = subprocess.run(["sh", "-c", '"$@" true', "sh", *command], capture_output=True, check=False)
        if works.returncode == 0:
            os.execvp("unshare", [*command, sys.executable, __file__, "--inside", str(seconds), seed])
    say(f"soak: {seconds:g} s, SEED={seed}")
    os.environ["PYTHONPATH"] = str(ROOT / "tests" / "soak")
    # Dask notices sooner that a worker is gone whose last words were lost on the link.
    os.environ |= {"DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP": "12s", "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "30s"}
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    Source.seconds_at_end = END_S
    soak = Soak(seed, inside)
    with open(FOLDER / "logs" / "client.log", "wb") as log:
        for stream in (sys.stdout, sys.stderr):
            os.dup2(log.fileno(), stream.fileno())
    logging.basicConfig()
    try:
        soak.run(seconds)
    except KeyboardInterrupt:
        soak.runs.score.add("soak failed", "interrupted")
    except Exception:
        soak.runs.score.add("soak failed", traceback.format_exc())
    finally:
        soak.faults.ended.set()
        soak.cluster.stop()
    return soak.sum_up()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
