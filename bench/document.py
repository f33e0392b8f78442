"""`python -m bench.document [FILE]`: writes docs/performance.md, docs/images/growth.svg and the table of costs in
README.md from the figures that `make bench` left in build/bench.json. No figure there is typed by hand."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench import table
from bench.targets import Against

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "performance.md"
PICTURE = ROOT / "docs" / "images" / "growth.svg"
README = ROOT / "README.md"

Told = dict[str, Any]

INTRODUCTION = """\
# Performance

The cost of measuring, compared with roastcoffea 0.1.2 and with the floor: the cost of the clock, the kernel, memcpy or
pickle alone, measured in the same run. `make bench` makes an environment with both packages (the same files of Python,
Coffea and Dask), runs the same work with both in turns, and ends with 1 if a target is missed.
`python -m bench.document` makes this page from its figures.
"""

READING = """\
## How to read the tables

- **ours** is the minimum of all rounds, as other work on the machine can only add to a cost; the median is in
  brackets. Floor and 0.1.2 are the minima of their rounds, which took turns with ours.
- **times** is the ratio of 0.1.2 to ours, with the quartiles of the ratio round by round.
- **target** is a limit of its own, one relative to the floor, or a ratio to 0.1.2. Some rows have none.
- The workloads are described in `bench/README.md`, and all targets are in `bench/targets.py`.
"""

GROWTH = """\
## Growth

A chunk among a million may cost half as much again as one among ten thousand, and no step may hold more than 400 bytes
per chunk. The figures include the fixed cost of a process, so small runs look expensive.

```{image} images/growth.svg
:alt: Cost and memory per chunk by the number of chunks
```
"""

# What each subject is, in the order of the page.
SUBJECTS = {
    "sections": ("Sections", "`with track_time(self, \"x\"): pass` and the other trackers, in an open chunk."),
    "decorator": ("The decorator", "`@track_metrics` over the bare call, for events without a file; on, it takes "
                  "every reading of the kernel."),
    "nanoevents": ("A chunk of NanoEvents", "A file of 1,500 branches, opened as Coffea opens it."),
    "wire": ("On the wire", "The records of one chunk, as they leave a worker."),
    "reduction": ("Reduction", "A tree of merges of 20 outputs each, pickled and unpickled at every level."),
    "tick": ("The sampler on the scheduler", "The cost per worker and tick, with a heartbeat of each worker before "
             "every tick, or at Dask's pace: every 2 s among 100 workers, every 51 s among 10,000. *On the scheduler* is "
             "the CPU time of the loop of a real scheduler, with Dask's own worker objects at Dask's pace."),
    "metrics": ("Metrics", "All formulas over a million chunks."),
    "readings": ("Readings of the kernel", "And the thread that samples the memory while a chunk computes."),
    "run": ("A big run", "500 workers over ten minutes with 20,000 chunks: computing its metrics, saving, loading, "
            "showing."),
    "show": ("`roast show`", "The whole program, on a measurement of a million chunks."),
    "diagnose": ("Findings", "A run of a million chunks on 2,000 workers."),
    "compare": ("Comparing runs", "`roast compare`, the whole program."),
    "runs": ("Many runs", "`roast ls` and `roast trend` of ten thousand measurements, the whole programs."),
    "facility": ("For a facility", "On the scheduler of Dask: a chunk record that arrives, and the answers of its server, with "
                 "20 datasets; and a file for node_exporter."),
    "board": ("Board", "The board, asked over HTTP, in a process of its own."),
    "what_if": ("What if", "A run of a million chunks played again; and predictions beside the truth: runs of one analysis of "
                "real files on a cluster of this machine, each predicted from another one. *Floor* is the true time "
                "there."),
    "exit": ("Leaving the collector", "On a cluster of processes, from the end of the body to that of the context; and "
             "the share of the CPU time in Dask's spans that had not arrived by then."),
    "import": ("Import", "In fresh processes."),
    "overhead": ("Around a real analysis", "The same short run with the collector and without it, in turns: four chunks of "
                 "two files of 1,500 branches. *A run* is the time inside the context; entering and leaving it are "
                 "separate rows. The differences are those of an analysis of eight times as many chunks, which enters "
                 "the context once; the interval of all pairs is their uncertainty. On Dask, "
                 "malloc is told to keep its memory and Dask's own profiler is off, with the collector and without it: "
                 "as they are set by default, both make a run depend on those before it."),
    "growth": ("Growth, row by row", ""),
}

# What is known of why a row falls short, where it does: shown only then. What was not profiled says so.
CAUSES = {
    "decorator/on, all readings": "The kernel's readings alone take most of it (see its floor); 0.1.2 takes the memory "
                                  "only.",
    "overhead/Dask, difference in CPU time at least": "Each of these chunks is the first of its file in its worker, so "
        "that the sizes of all branches are looked up, and its record, with all their names, is sent by itself.",
    "reduction/time a chunk, by Coffea's accumulate": "The same bytes in any object of a C type take the floors of pickle and "
        "unpickle, and the row of an empty list: together about what the limit allows.",
    "reduction/moved a chunk, 100 branches": "Most of these bytes are the names of the branches, which the output of each chunk has once.",
    "readings/sampler thread, cores busy": "A thread that wakes up as often and reads one small file, its floor, is above "
                                           "the limit on this machine.",
    "growth/reduction, memory a chunk": "The log, its packed bytes and pickle's own copy of them are there at the same time.",
    **dict.fromkeys(("tick/10,000 workers", "growth/tick, a worker"), "The floor, a Python loop over the same attributes, "
                    "takes as long and grows as much: Dask's objects of 10,000 workers do not fit into the caches."),
    **dict.fromkeys((f"tick/{size} workers, on the scheduler" for size in ("100", "1,000", "10,000")), "Fourteen series "
                    "beside nine of 0.1.2. Most of it is reading the attributes of Dask's objects, see the floor of a tick."),
    "sections/track_time": "Profiled: the clock, twice, and what Python's `with` does for any context manager are most "
                           "of it.",
}


# ---- the tables ----


def markdown(head: tuple[str, ...], lines: list[tuple[str, ...]]) -> str:
    rows = [head, tuple("---" for _ in head), *lines]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows) + "\n"


def _name(row: Told) -> str:
    return row["row"].partition("/")[2]


def _ours(row: Told) -> str:
    least, median = (table.amount(row["ours"][name], row["unit"]) for name in ("min", "median"))
    return least if least == median else f"{least} ({median})"


def _floor(row: Told) -> str:
    return "-" if row["floor"] is None else table.amount(row["floor"]["min"], row["unit"])


def _theirs(row: Told) -> str:
    return "-" if row["theirs"] is None else table.amount(row["theirs"]["min"], row["unit"])


def _times(row: Told) -> str:
    if row["times"] is None:
        return "-"
    quartiles = row["times_quartiles"]
    between = f" ({table.times(quartiles[0])} to {table.times(quartiles[1])})" if quartiles else ""
    return table.times(row["times"]) + between


def _target(row: Told) -> str:
    wanted = []
    if row["limit"] is not None:
        against = Against(row["against"])
        if against is Against.FLOOR_TIMES:
            wanted.append(f"≤ {row['limit']:g} x floor")
        else:
            more = " more" if against is Against.FLOOR_PLUS else ""
            wanted.append(f"≤ {table.amount(row['limit'], row['unit'])}{more}")
    if row["times_at_least"] is not None and row["times"] is not None:
        wanted.append(f"≥ {row['times_at_least']:g} x")
    return ", ".join(wanted) or "-"


def missed(row: Told) -> bool:
    return row["ok"] is False or row["times_ok"] is False


def undecided(row: Told) -> bool:
    """An interval with the limit within it: that it is not missed does not say that it is kept."""
    return row["limit"] is not None and "neither show nor refute" in row["floor_is"]


def _verdict(row: Told) -> str:
    if missed(row):
        return "**missed**"
    if undecided(row):
        return "not shown"
    return "" if row["ok"] is None and row["times_ok"] is None else "reached"


def subject_table(rows: list[Told]) -> str:
    return markdown(("what", "ours (median)", "floor", "0.1.2", "times (quartiles)", "target", ""), [
        (_name(row), _ours(row), _floor(row), _theirs(row), _times(row), _target(row), _verdict(row))
        for row in rows])


def words_of(rows: list[Told]) -> Iterator[str]:
    """What floors and 0.1.2 are, where it is not plain: once for all rows that share it. Of a row without a floor
    they are words about the row itself."""
    with_floor, without = [row for row in rows if row["floor"]], [row for row in rows if not row["floor"]]
    for field, words, of_them in (
        ("floor_is", "Floor of ", with_floor), ("floor_is", "", without), ("theirs_is", "0.1.2 of ", rows),
    ):
        for text in dict.fromkeys(row[field] for row in of_them if row[field]):
            names = [_name(row) for row in of_them if row[field] == text]
            yield f"- {words}*{'*, *'.join(names)}*: {text}."


def growth_table(points: list[Told]) -> str:
    sizes = sorted({point["n"] for point in points if point["of"] == "chunk"})
    lines = []
    for subject in dict.fromkeys(point["subject"] for point in points if point["of"] == "chunk"):
        mine = {point["n"]: point for point in points if point["subject"] == subject}
        lines.append((subject, *(f"{table.amount(mine[n]['seconds'], 's')}, {table.amount(mine[n]['bytes'], 'bytes')}"
                                 for n in sizes)))
    text = markdown(("a chunk of", *(f"{n:,}" for n in sizes)), lines)
    workers = [point for point in points if point["of"] == "worker"]
    if workers:
        text += "\n" + markdown(("a worker sample among", *(f"{point['n']:,}" for point in workers)), [
            ("tick, at Dask's pace", *(table.amount(point["seconds"], "s") for point in workers))])
    looks = [point for point in points if point["of"] == "look"]
    lines = []
    for subject in dict.fromkeys(point["subject"] for point in looks):
        costs = (f"{table.amount(point['seconds'], 's')} among {point['n']:,}"
                 for point in looks if point["subject"] == subject)
        lines.append((subject, *costs))
    if lines:
        text += "\n" + markdown(("a look", "in a short run", "in a long one"), lines)
    return text


# ---- the page ----


def _short(rows: list[Told]) -> str:
    compared = [row for row in rows if row["times_at_least"] is not None and row["times"] is not None]
    return markdown(("what", "ours", "0.1.2", "times", "at least", ""), [
        (row["row"].replace("/", ": ", 1), table.amount(row["ours"]["min"], row["unit"]), _theirs(row),
         table.times(row["times"]), f"{row['times_at_least']:g} x", _verdict(row)) for row in compared])


def _fell_short(told: Told) -> str:
    lines = [f"- *{row['row']}*: {_ours(row)}, {_times(row)}; target {_target(row)}. {CAUSES.get(row['row'], '')}".rstrip()
             for row in told["rows"] if missed(row)]
    lines += [f"- *{row['row']}* could not be decided: {row['floor_is']}." for row in told["rows"] if undecided(row)]
    lines += [f"- *{key}* was not measured." for key in told["not_measured"]]
    lines += [f"- {subject} could not be measured to its end: {reason}" for subject, reason in told["reasons"].items()]
    if not told["compared"]:
        lines.append(f"- Nothing was compared with 0.1.2: {told['not_compared_because']}")
    if not lines:
        return "Every target was reached in this run.\n"
    return "\n".join(line.replace(", -;", ";") for line in lines) + "\n"


def _state(told: Told) -> str:
    # Without ours, which is that of the documentation.
    versions = {name: number for name, number in told["machine"]["versions"].items() if name != "roastcoffea"}
    text = table.machine({**told["machine"], "versions": versions})
    rounds = f"{told['rounds']} rounds" + (": too few to rely on (`--quick`)" if told["quick"] else "")
    end = " ".join(f"{one:.2f}" for one in told["machine"]["load_average_at_end"])
    again = f"\nmeasured again afterwards: {', '.join(told['again'])}" if told.get("again") else ""
    return f"```text\n{text}\n{rounds}; load at the end {end}{again}\n```\n"


def together(runs: list[Told]) -> Told:
    """One page of several runs: a subject is that of the last run that has it, with its floors and with 0.1.2."""
    told, *later = runs
    for run in later:
        again = list(dict.fromkeys(row["row"].partition("/")[0] for row in run["rows"]))
        told = {
            **told, "again": list(dict.fromkeys([*told.get("again", ()), *again])), "growth": run["growth"] or told["growth"],
            "rows": [row for row in told["rows"] if row["row"].partition("/")[0] not in again] + run["rows"],
            "not_measured": [key for key in told["not_measured"] if key.partition("/")[0] not in again]
            + run["not_measured"],
            "reasons": {**{name: why for name, why in told["reasons"].items() if name not in again}, **run["reasons"]},
        }
    return told


def page(told: Told) -> str:
    parts = [INTRODUCTION, _state(told)]
    short = _short(told["rows"])
    parts += ["## Against 0.1.2\n", short, "## What fell short\n", _fell_short(told), READING]
    if told["growth"]:
        parts += [GROWTH, growth_table(told["growth"])]
    for subject, (title, words) in SUBJECTS.items():
        rows = [row for row in told["rows"] if row["row"].partition("/")[0] == subject]
        if rows:
            parts += [f"## {title}\n", words + "\n" if words else "", subject_table(rows), "\n".join(words_of(rows))]
    return "\n".join(part.rstrip("\n") + "\n" for part in parts if part.strip())


# ---- the costs in README.md ----

# Words, and the rows of the page that have the figures. Two rows are the ends of an interval.
COSTS = (
    ("a section (`track_time`)", "sections/track_time"),
    ("a chunk of NanoAOD with 1,500 branches (`@track_metrics`)", "nanoevents/a chunk"),
    ("entering and leaving the `with` block, on Dask", "overhead/Dask, into the context and out of it"),
    ("difference in time of a run on Dask, 95 % interval",
     "overhead/Dask, difference at least", "overhead/Dask, difference at most"),
)


def _cells(text: str, row: str) -> list[str]:
    """A row of a page: name, ours, floor, 0.1.2; dashes if it is not there."""
    subject, _, name = row.partition("/")
    section = text.partition(f"\n## {SUBJECTS[subject][0]}\n")[2].partition("\n## ")[0]
    lines = ([cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines())
    return next((cells for cells in lines if cells[0] == name), ["-"] * 4)


def costs(text: str) -> str:
    """The table of README.md, made from the page."""
    lines = []
    for words, *rows in COSTS:
        found = [_cells(text, row) for row in rows]
        lines.append((words, " to ".join(cells[1] for cells in found), found[0][3]))
    return markdown(("what", "least (median)", "roastcoffea 0.1.2"), lines)


def with_costs(readme: str, text: str) -> str:
    """README.md with the table of a page."""
    return re.sub(r"(?<=## What it costs\n\n)(?:\|.*\n)*", lambda _: costs(text), readme)


# ---- the picture ----


def draw(points: list[Told], path: Path) -> None:
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "growth", "font.size": 9, "svg.fonttype": "none"})
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    chunks = [point for point in points if point["of"] == "chunk"]
    for axis, field, factor, title in ((axes[0], "seconds", 1e6, "µs a chunk"), (axes[1], "bytes", 1, "bytes a chunk")):
        for subject in dict.fromkeys(point["subject"] for point in chunks):
            mine = [point for point in chunks if point["subject"] == subject]
            axis.plot([point["n"] for point in mine], [factor * point[field] for point in mine], "o-", label=subject,
                      markersize=4)
        axis.set(xscale="log", yscale="log", xlabel="chunks", title=title)
        axis.grid(alpha=0.3)
    axes[1].axhline(400, color="grey", linestyle="--", linewidth=1)
    axes[0].legend(fontsize=8, ncols=2)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None, "Creator": None})
    pyplot.close(figure)
    path.write_text("\n".join(line.rstrip() for line in path.read_text().splitlines()) + "\n")


def main(arguments: list[str]) -> int:
    sources = [Path(name) for name in arguments] or [ROOT / "build" / "bench.json"]
    for source in sources:
        if not source.is_file():
            print(f"{source} is missing: run `make bench` first", file=sys.stderr)
            return 1
    told = together([json.loads(source.read_text()) for source in sources])
    if told["growth"]:
        draw(told["growth"], PICTURE)
    text = page(told)
    PAGE.write_text(text)
    README.write_text(with_costs(README.read_text(), text))
    print(PAGE)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
