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
    of_median: bool = False  # held against the median of the rounds, not the least


TARGETS: dict[str, Target] = {
    # with track_time / track_memory: pass
    "sections/track_time": Target(2, Against.FLOOR_TIMES),
    "sections/track_memory": Target(2, Against.FLOOR_TIMES),
    # The decorator over the bare call of the same method, and for a whole chunk.
    "decorator/off, flag absent": Target(100e-9, Against.FLOOR_PLUS),
    "decorator/off, flag False": Target(100e-9, Against.FLOOR_PLUS),
    "decorator/on, all readings": Target(15e-6, Against.ALONE),
    # A chunk in a reduction: all levels of the tree together, and of what is moved the result's way to the
    # client too.
    "reduction/time a chunk": Target(4e-6, Against.ALONE, of_median=True),
    "reduction/moved a chunk": Target(1000, Against.ALONE),
    # A worker at one tick of the scheduler.
    "tick/100 workers": Target(1.5e-6, Against.ALONE),
    "tick/1,000 workers": Target(1.5e-6, Against.ALONE),
    "tick/10,000 workers": Target(1.5e-6, Against.ALONE),
    "tick/kept a sample": Target(24, Against.ALONE),
    # All formulas over a million chunks.
    "metrics/compute": Target(1, Against.ALONE),
    "metrics/memory a chunk": Target(300, Against.ALONE),
    "metrics/compute from Python": Target(1, Against.ALONE),
    # The thread that samples memory, at its default interval, while chunks compute: only then it samples.
    "readings/sampler thread, cores busy": Target(0.001, Against.ALONE),
    # The collector around a real analysis of 1,500 branches. Held against the lower end of the interval:
    # over is only what lies above the limit with all of its interval.
    "overhead/iterative, difference at least": Target(0.01, Against.ALONE),
    "overhead/Dask, difference at least": Target(0.01, Against.ALONE),
    "overhead/chunk, columns there": Target(0.3e-3, Against.FLOOR_PLUS),
    # A worker with 200 chunks a second, as a share of a core.
    "overhead/records beside the output": Target(0.01, Against.FLOOR_PLUS),
}
