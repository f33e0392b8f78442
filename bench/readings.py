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
    milliseconds = 1e-6 * measured["sampler_interval_ns"]
    # It samples while chunks compute: so the limit is for busy cores. A core that has to be woken from its
    # sleep makes any thread dearer.
    for name, state, words in (("sampler thread, cores busy", "busy", "every core computes"),
                               ("sampler thread, cores idle", "idle", "no core has anything else to do")):
        yield Row(f"readings/{name}", "share", figure(measured[f"sampler_share_{state}"]),
                  figure(measured[f"floor_sampler_share_{state}"]),
                  f"a thread that sleeps {milliseconds:g} ms and does one pread, while {words}")
    floor = _cost(measured["floor_pread_statm"]) if "floor_pread_statm" in measured else None
    for name in ("read_statm", "read_peak", "read_usage", "read_sched", "read_delay", "read_io", "read_all"):
        if measured[name] is not None:
            yield Row(f"readings/{name}", "s", _cost(measured[name]), floor, "one pread of statm, in C")
