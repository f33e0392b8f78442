"""How often the answers about several runs are right: by simulated runs whose truth is known.

    python tools/calibrate.py              the table, and whether it holds (exit code 1 if not)
    python tools/calibrate.py --write      the same, and docs/how-sure.md
    python tools/calibrate.py --short      a fifth of the simulations

Seeds are fixed, so the table is the same each time. It takes about half an hour of one core, the short form some minutes.
"""

from __future__ import annotations

import argparse
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from simulated_runs import NOISE, REALISTIC, Effects, Work, simulate, with_

import roastcoffea
from roastcoffea.runs.changes import Change
from roastcoffea.runs.compare import Question
from roastcoffea.runs.laws import Laws
from roastcoffea.runs.levels import find_steps
from roastcoffea.runs.statistics import pooled

PAGE = Path(__file__).parents[1] / "docs/how-sure.md"
COUNT = 200
Rng = np.random.Generator


@dataclass(frozen=True)
class Row:
    """A question that is asked many times."""

    verb: str
    question: str
    effects: str
    ask: Callable[[Rng], bool]
    most: float = 1.0  # the share of answers "yes" lies between these
    least: float = 0.0
    more: int = 1  # simulations of rows that take little time

    @property
    def stated(self) -> str:
        if self.most == 1 and self.least == 0:
            return "nothing"
        return f"at most {100 * self.most:.0f} %" if self.most < 1 else f"at least {100 * self.least:.0f} %"

    def holds(self, seen: float, count: int) -> bool:
        """Within what chance allows a share that is as stated: two standard errors."""
        limit = self.most if self.most < 1 else self.least
        slack = 2 * np.sqrt(limit * (1 - limit) / count)
        return seen <= self.most + slack if self.most < 1 else seen >= self.least - slack


def work_of(rng: Rng, prefix: str = "") -> Work:
    """Of 20 to 160 files, with some 240 chunks."""
    files = int(rng.integers(20, 161))
    return Work.draw(rng, files, max(1, round(240 / files)), prefix)


def same(file: int, part: str) -> float:
    return 1.0


def by(factor: float) -> Callable[[int, str], float]:
    return lambda file, part: factor


# ---- compare ----


def sides(rng: Rng, effects: Effects, runs: int, slower: Callable[[int, str], float] = same,
          work: Work | None = None, other: Work | None = None) -> tuple[Any, Any]:
    work = work or work_of(rng)
    return ([simulate(rng, work, effects) for _ in range(runs)],
            [simulate(rng, other or work, effects, slower=slower) for _ in range(runs)])


def cost_of(a: list[Any], b: list[Any], given: float | None = None, others: list[Any] | None = None) -> Change:
    """The cost as compare() has it, without all else that compare() says."""
    asked = Question([("a", one) for one in a], [("b", one) for one in b], [others] if others else [], given).sides
    change = Change("cost", "all", "", "s", None, None)
    change.take(asked.ratio(asked.cost("all")))
    return change


def differ(change: Change) -> bool:
    return change.verdict in ("more", "less")


def finds(effects: Effects, runs: int, factor: float = 1.0, given: float | None = None) -> Callable[[Rng], bool]:
    def ask(rng: Rng) -> bool:
        return differ(cost_of(*sides(rng, effects, runs, by(factor)), given))
    return ask


def finds_beside_others(effects: Effects, others: int) -> Callable[[Rng], bool]:
    """So many other runs of the same work lie in the folder."""
    def ask(rng: Rng) -> bool:
        work = work_of(rng)
        return differ(cost_of(*sides(rng, effects, 1, work=work),
                              others=[simulate(rng, work, effects) for _ in range(others)]))
    return ask


def gate_fails(runs: int, condition: str = "process>5%") -> Callable[[Rng], bool]:
    def ask(rng: Rng) -> bool:
        failed: bool = roastcoffea.compare(*sides(rng, REALISTIC, runs)).gate(condition)[0]
        return failed
    return ask


def names_a_cause(runs: int) -> Callable[[Rng], bool]:
    """A section, dataset or file with an interval that excludes no change."""
    def ask(rng: Rng) -> bool:
        found = roastcoffea.compare(*sides(rng, REALISTIC, runs))
        return any(one["verdict"] in ("more", "less") for one in found.causes)
    return ask


def wall_differs(runs: int) -> Callable[[Rng], bool]:
    def ask(rng: Rng) -> bool:
        found = roastcoffea.compare(*sides(rng, REALISTIC, runs))
        return any(one["name"] == "wall_time" and one["verdict"] in ("more", "less") for one in found.figures)
    return ask


def other_files(effects: Effects) -> Callable[[Rng], bool]:
    def ask(rng: Rng) -> bool:
        work = work_of(rng)
        other = Work.draw(rng, len(work.names), work.chunks, "other-")
        return differ(cost_of(*sides(rng, effects, 1, work=work, other=other)))
    return ask


def other_chunks(rng: Rng) -> bool:
    work = Work.draw(rng, int(rng.integers(20, 81)), 4)
    other = Work(work.names, work.datasets, work.seconds * 2, 2, work.events * 2)
    return differ(cost_of(*sides(rng, REALISTIC, 1, work=work, other=other)))


def slow_files(rng: Rng) -> bool:
    """A tenth of the files ten times as slow: the true ratio is in the interval, it is no chance, and the gate fails."""
    work = work_of(rng)
    slow = set(rng.choice(len(work.names), len(work.names) // 10, replace=False).tolist())
    truth = 1 + 9 * sum(work.seconds[i] for i in slow) / work.seconds.sum()
    found = roastcoffea.compare(*sides(rng, REALISTIC, 1, lambda file, part: 10.0 if file in slow else 1.0, work))
    return bool(found.cost["low"] <= truth <= found.cost["high"] and found.cost["verdict"] == "more"
                and found.gate("process>5%")[0])


def covers(effects: Effects, runs: int, factor: float) -> Callable[[Rng], bool]:
    def ask(rng: Rng) -> bool:
        cost = cost_of(*sides(rng, effects, runs, by(factor)))
        return bool(cost.low <= factor <= cost.high)
    return ask


MORE = with_(REALISTIC, run=0.08)
ONE, THREE, FIVE = "one run of each side", "three runs of each side", "five runs of each side"
COMPARE = [
    Row("compare", f"Without a difference, {ONE}: it says there is one", "chunks", finds(NOISE, 1), 0.05),
    Row("compare", f"Without a difference, {ONE}: it says there is one", "chunks, runs 1 %",
        finds(with_(NOISE, run=0.01), 1), 0.05),
    Row("compare", f"Without a difference, {ONE}: it says there is one", "chunks, runs 3 %",
        finds(with_(NOISE, run=0.03), 1), 0.05),
    Row("compare", f"Without a difference, {ONE}: it says there is one", "all", finds(REALISTIC, 1), 0.05),
    Row("compare", f"Without a difference, {THREE}: it says there is one", "all", finds(REALISTIC, 3), 0.05),
    Row("compare", f"Without a difference, {FIVE}: it says there is one", "all", finds(REALISTIC, 5), 0.05),
    Row("compare", f"Without a difference, {ONE}, five others in the folder: it says there is one", "all",
        finds_beside_others(REALISTIC, 5), 0.05),
    Row("compare", f"Without a difference, {ONE}, five others in the folder: it says there is one", "all, but runs 8 %",
        finds_beside_others(MORE, 5), 0.05),
    Row("compare", f"Without a difference, {ONE}, runs differ by more than is assumed: it says there is one",
        "all, but runs 8 %", finds(MORE, 1)),
    Row("compare", f"Without a difference, {ONE}: the wall time is said to differ", "all", wall_differs(1), 0.05),
    Row("compare", f"Without a difference, {ONE}: a section, dataset or file is named", "all", names_a_cause(1), 0.05),
    Row("compare", f"Without a difference, {THREE}: a section, dataset or file is named", "all", names_a_cause(3), 0.05),
    Row("compare", f'Without a difference, {ONE}: `--fail-on "process>5%"` fails', "all", gate_fails(1), 0.05),
    Row("compare", f'Without a difference, {THREE}: `--fail-on "process>5%"` fails', "all", gate_fails(3), 0.05),
    Row("compare", f"Without a difference, other files, {ONE}: it says there is one", "chunks", other_files(NOISE), 0.05),
    Row("compare", f"Without a difference, other files, {ONE}: it says there is one", "all", other_files(REALISTIC), 0.05),
    Row("compare", f"Without a difference, other chunks of the same files, {ONE}: it says there is one", "all",
        other_chunks, 0.05),
    Row("compare", f"15 % slower, {ONE}: the interval holds it", "all", covers(REALISTIC, 1, 1.15), least=0.95),
    Row("compare", f"15 % slower, {THREE}: the interval holds it", "all", covers(REALISTIC, 3, 1.15), least=0.95),
    Row("compare", f"15 % slower, {FIVE}: it is found", "all", finds(REALISTIC, 5, 1.15), least=0.8),
    Row("compare", f"5 % slower, {ONE}, `--runs-differ 1%`: it is found", "chunks",
        finds(NOISE, 1, 1.05, 0.01), least=0.9),
    Row("compare", f"A tenth of the files ten times as slow, {ONE}: the interval holds the truth, and the gate fails", "all",
        slow_files, least=0.95),
]


# ---- trend ----


def neighbours(rng: Rng, count: int, alike: float) -> Any:
    """Noise of which each value is like the one before."""
    values = rng.normal(size=count)
    for i in range(1, count):
        values[i] = alike * values[i - 1] + np.sqrt(1 - alike**2) * values[i]
    return values


def finds_a_change(alike: float) -> Callable[[Rng], bool]:
    def ask(rng: Rng) -> bool:
        return len(find_steps(100 + 3 * neighbours(rng, int(rng.integers(20, 81)), alike), 0.01)) > 0
    return ask


def finds_the_step(rng: Rng) -> bool:
    at, values = int(rng.integers(12, 29)), 100 + 3 * rng.normal(size=40)
    values[at:] *= 1.1
    return any(abs(step.at - at) <= 2 for step in find_steps(values, 0.01))


TREND = [
    *(Row("trend", "20 to 80 runs without a change: it finds one", f"neighbours share {alike:.1f}" if alike else "noise",
          finds_a_change(alike), 0.01, more=5) for alike in (0.0, 0.3, 0.6)),
    Row("trend", "A step of 10 % in 40 runs: it is found within 2 runs", "noise of 3 %", finds_the_step, least=0.9, more=5),
]


# ---- scaling ----


def predicts(serial: float, crosstalk: float, times: float) -> Callable[[Rng], bool]:
    """Whether the interval at so many times the largest size holds the truth; two runs of each of five sizes, with workers
    that differ."""
    def time(cores: float) -> float:
        return (1 + serial * (cores - 1) + crosstalk * cores * (cores - 1)) / cores

    def ask(rng: Rng) -> bool:
        cores = np.repeat(np.array([1.0, 2.0, 4.0, 8.0, 16.0]) * float(rng.choice([1, 2, 4])), 2)
        noise = rng.normal(0, np.sqrt(REALISTIC.run**2 + REALISTIC.worker**2 / cores))
        walls = np.array([time(one) for one in cores]) * np.exp(noise)
        seen = pooled(np.log(walls[i:i + 2]) for i in range(0, len(walls), 2))
        laws = Laws(cores, walls * cores, seen.value, seen.freedom)
        far = times * float(cores.max())
        low, high = laws.time(far)
        return bool(low <= time(far) * far <= high)
    return ask


AMDAHL, CROSSTALK = (0.02, 0.0), (0.01, 0.0003)
SCALING = [
    Row("scaling", f"At {times} times the largest size: the interval holds the truth", f"runs 3 %, workers 5 %; {name}",
        predicts(*truth, times), least=0.85, more=5)
    for name, truth in (("Amdahl's law", AMDAHL), ("crosstalk", CROSSTALK)) for times in (4, 10)
]

ROWS = [*COMPARE, *TREND, *SCALING]


# ---- the table ----


def seed_of(row: Row) -> int:
    return zlib.crc32(f"{row.verb}: {row.question} ({row.effects})".encode())


def measure(rows: list[Row], count: int) -> Iterator[tuple[Row, float, bool]]:
    for row in rows:
        rng, number = np.random.default_rng(seed_of(row)), count * row.more
        began = time.monotonic()
        seen = sum(row.ask(rng) for _ in range(number)) / number
        held = row.holds(seen, number)
        print(f"{'ok  ' if held else 'FAIL'} {row.verb}: {row.question} ({row.effects}): {row.stated}, seen {seen:.1%} "
              f"(seed {seed_of(row)}, {number} times, {time.monotonic() - began:.0f} s)", flush=True)
        yield row, seen, held


HEAD = """# How sure

An interval is a claim: the truth lies in it 95 times of 100. Whether that is so is found by simulation, because there the
truth is known. This page is written by `tools/calibrate.py --write` (`make calibrate`).

A simulated run has 20 to 160 files of different cost, some 240 chunks, and 8 workers, each of which takes the next chunk when
it has finished one. Cost varies by

| effect | standard deviation | in the table |
|---|---|---|
| chunks: each has noise | 8 % | chunks |
| workers: each is faster or slower during a run | 5 % | all |
| the machine drifts, and forgets in 20 to 60 s | 3 % | all |
| runs: each is faster or slower as a whole | 3 % | all |

Seeds do not change. By chance alone a share of 5 % is seen as 2 to 8 % in 200 simulations, and as 1 to 9 % in 100.

| verb | question | effects | simulations | stated | seen |
|---|---|---|---|---|---|
"""

TAIL = """
What the intervals follow from is said on the pages [Comparing runs](comparing.md), [Trend](trend.md) and
[Scaling](scaling.md). What the simulation does not have, such as a storage that breaks down under load, no interval covers.
"""


def line_of(row: Row, seen: float, count: int) -> str:
    return f"| {row.verb} | {row.question} | {row.effects} | {count * row.more:,} | {row.stated} | {100 * seen:.1f} % |\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=COUNT, help=f"simulations of each row ({COUNT})")
    parser.add_argument("--short", action="store_true", help="a fifth of them")
    parser.add_argument("--only", default="", help="rows whose verb or question has this text")
    parser.add_argument("--write", action="store_true", help="write docs/how-sure.md")
    options = parser.parse_args()
    count = options.count // 5 if options.short else options.count
    found = list(measure([row for row in ROWS if options.only in f"{row.verb}: {row.question}"], count))
    if options.write:
        PAGE.write_text(HEAD + "".join(line_of(row, seen, count) for row, seen, _ in found) + TAIL, encoding="utf-8")
    return 0 if all(held for _, _, held in found) else 1


if __name__ == "__main__":
    sys.exit(main())
