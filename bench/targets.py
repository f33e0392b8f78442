"""What each row must reach: the one table of limits. A row that is not in here is shown without one."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Against(Enum):
    """What a limit is compared with."""

    FLOOR_TIMES = "measured / floor"
    FLOOR_PLUS = "measured - floor"
    ALONE = "measured"


@dataclass(frozen=True)
class Target:
    limit: float  # seconds, bytes or a share where it is not a ratio
    against: Against


TARGETS: dict[str, Target] = {
    # with track_time / track_memory: pass
    "sections/track_time": Target(2.5, Against.FLOOR_TIMES),
    "sections/track_memory": Target(2, Against.FLOOR_TIMES),
    # The decorator over the bare call of the same method, and for a whole chunk.
    "decorator/off, flag absent": Target(100e-9, Against.ALONE),
    "decorator/off, flag False": Target(100e-9, Against.ALONE),
    "decorator/on, all readings": Target(35e-6, Against.ALONE),
    # A chunk of a file with 1,500 branches.
    "nanoevents/a chunk": Target(0.3e-3, Against.ALONE),
    # A chunk in a reduction: all levels of the tree together, beside Coffea's own work on two integers; and of
    # what is moved the result's way to the client too.
    "reduction/time a chunk, by Coffea's accumulate": Target(2.4, Against.FLOOR_TIMES),
    "reduction/moved a chunk": Target(2000, Against.ALONE),
    # A worker at one tick of the scheduler.
    "tick/100 workers": Target(3e-6, Against.ALONE),
    "tick/1,000 workers": Target(3e-6, Against.ALONE),
    "tick/10,000 workers": Target(3e-6, Against.ALONE),
    "tick/kept a sample": Target(48, Against.ALONE),
    # All formulas over a million chunks.
    "metrics/compute": Target(1, Against.ALONE),
    "metrics/memory a chunk": Target(300, Against.ALONE),
    "metrics/compute from Python": Target(1, Against.ALONE),
    # The thread that samples memory, at its default interval, while chunks compute: only then it samples.
    "readings/sampler thread, cores busy": Target(0.001, Against.ALONE),
    # The collector around a real analysis of 1,500 branches. Held against the lower end of the interval:
    # over is only what lies above the limit with all of its interval.
    **{f"overhead/{executor}, difference{what} at least": Target(0.01, Against.ALONE)
       for executor in ("iterative", "Dask") for what in ("", " in CPU time")},
    # A worker with 200 chunks a second, as a share of a core.
    "overhead/records beside the output": Target(0.01, Against.FLOOR_PLUS),
    # Of the CPU time that Dask's spans hold in the end. All of it, to the digits of Dask's own sums.
    "exit/CPU time missed, 2 workers": Target(1e-4, Against.ALONE),
    "exit/CPU time missed, 12 workers": Target(1e-4, Against.ALONE),
    # The program, on a measurement of a million chunks.
    "show/1,000,000 chunks": Target(2, Against.ALONE),
    "show/1,000,000 chunks, memory": Target(200e6, Against.ALONE),
    # What is found in a run of a million chunks on 2,000 workers.
    "diagnose/findings of 1,000,000 chunks": Target(3, Against.ALONE),
    "diagnose/all from scratch, 1,000,000 chunks": Target(3, Against.ALONE),
    # Two runs, compared by the program, which becomes Python. A million chunks took 9.5 s of CPU time and 1.75 GB; in C it
    # were 1.2 s and 0.4 GB, and two thousand lines more.
    "compare/20,000 chunks": Target(1, Against.ALONE),
    "compare/1,000,000 chunks": Target(15, Against.ALONE),
    "compare/1,000,000 chunks, memory": Target(2e9, Against.ALONE),
    # Ten thousand measurements, by the program.
    "runs/ls of 10,000": Target(2, Against.ALONE),
    "runs/trend of 10,000": Target(2, Against.ALONE),
    # The board: after a first index; a run with its report; CPU time of an update of a run that goes on, the share of the
    # looks at all of its chunks included; and while nobody asks, as a share of a core.
    "board/first page of 10,000 runs": Target(1, Against.ALONE),
    "board/report of 1,000,000 chunks": Target(2, Against.ALONE),
    "board/live update": Target(0.05, Against.ALONE),
    "board/idle": Target(0.001, Against.ALONE),
    # A run played again; and how often the interval of 90 % does not hold the true time of a real run.
    "what_if/1,000,000 chunks on 10,000 workers": Target(5, Against.ALONE),
    "what_if/as many chunks of another size on 10,000 workers": Target(5, Against.ALONE),
    "what_if/predictions that miss the true time": Target(0.2, Against.ALONE),
    # A line of TaskVine's log: half a million a second.
    "taskvine/a line of the log": Target(2e-6, Against.ALONE),
    # A chunk among a million against one among ten thousand; a worker among 10,000 against one among 100.
    **{f"growth/{what}, a chunk": Target(1.5, Against.ALONE)
       for what in ("reduction", "aggregate", "save", "load", "show", "export")},
    "growth/tick, a worker": Target(1.5, Against.ALONE),
    # One look in a run that is twenty times as long: it finds less in the caches, and one that searches takes twenty
    # times as long.
    **{f"growth/{what} against {least}": Target(3, Against.ALONE)
       for what, least in (("dict of a chunk, 20,000", "1,000"), ("pickle of a chunk, 20,000", "1,000"),
                           ("chunk_metrics[i], 40,000", "2,000"), ("record after the end, 40,000", "2,000"),
                           ("news of this machine, 10,000", "500"), ("live measurement, 10,000", "500"))},
    **{f"growth/{what}, memory a chunk": Target(400, Against.ALONE)
       for what in ("reduction", "aggregate", "save", "load", "show", "export")},
}

# How many times less than 0.1.2 a row must cost, in the same run.
BETTER: dict[str, float] = {
    "sections/track_time": 5,
    "sections/track_memory": 15,
    "decorator/off, flag absent": 3,
    "decorator/off, flag False": 3,
    "decorator/on, all readings": 2,
    "nanoevents/a chunk": 150,
    "reduction/moved a chunk": 2,
    "reduction/moved a chunk, 100 branches": 5,
    "tick/100 workers, on the scheduler": 3,
    "tick/1,000 workers, on the scheduler": 3,
    "tick/10,000 workers, on the scheduler": 3,
    "tick/memory a sample, on the scheduler": 20,
    "run/aggregate": 20,
    # A dict that a user's program made: every value is a Python object on both sides.
    "run/aggregate, samples as a dict": 1,
    "run/save": 60,
    "run/load": 40,
    "run/size": 15,
    "exit/2 workers": 5,
    "exit/12 workers": 5,
    "import/import": 1,
    "import/import, Coffea and Dask are there": 1,
}
