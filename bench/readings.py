"""Readings of the kernel and the sampler thread, as the C program bench_readings measures them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bench.harness import Figure, Harness, Row, figure


def _cost(measured: dict[str, Any]) -> Figure:
    """The program tells the least and the median of its rounds."""
    return figure([1e-9 * measured["min_ns"], 1e-9 * measured["median_ns"]])


def rows(harness: Harness) -> Iterator[Row]:
    measured = harness.program("bench_readings")
    share, floor_share = measured["sampler_share_of_a_core"], measured.get("floor_sampler_share_of_a_core")
    milliseconds = 1e-6 * measured["sampler_interval_ns"]
    yield Row("readings/sampler thread", "share", figure(share),
              figure(floor_share) if floor_share is not None else None,
              f"a thread that sleeps {milliseconds:g} ms and does one pread")
    floor = _cost(measured["floor_pread_statm"]) if "floor_pread_statm" in measured else None
    for name in ("read_statm", "read_peak", "read_usage", "read_sched", "read_delay", "read_io", "read_all"):
        if measured[name] is not None:
            yield Row(f"readings/{name}", "s", _cost(measured[name]), floor, "one pread of statm, in C")
