"""CPU time that processes and their machines used in a run: counters at the end, less those at the beginning."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from roastcoffea._core import machine_cpu

__all__ = ["Counters"]

# Processes of ours that are no workers.
_OTHERS = ("client", "scheduler")


class Counters:
    """What `read_counters` found in each process of the run, by its name: the address of a worker, "client" or
    "scheduler"."""

    def __init__(self) -> None:
        self._begun: dict[str, Mapping[str, Any]] = {}
        self._ended: dict[str, Mapping[str, Any]] = {}
        self._names: set[str] = set()

    def begin(self, counters: Mapping[str, Any]) -> None:
        """{name: counters}; None: they are not known."""
        self._keep(self._begun, counters)

    def end(self, counters: Mapping[str, Any]) -> None:
        self._keep(self._ended, counters)

    def expect(self, names: Iterable[str]) -> None:
        """Processes that were there, whether they answered or not."""
        self._names.update(names)

    def _keep(self, kept: dict[str, Mapping[str, Any]], counters: Mapping[str, Any]) -> None:
        self._names.update(counters)
        for name, found in counters.items():
            if found is not None:
                kept[name] = {**found, "process": tuple(found["process"])}

    def unknown(self) -> list[str]:
        """Processes that were not asked at both ends."""
        both = self._begun.keys() & self._ended.keys()
        same = {name for name in both if self._begun[name]["process"] == self._ended[name]["process"]}
        return sorted(self._names - same)

    def figures(self) -> dict[tuple[str, str, str], float]:
        """In the form of `Collected.counters`."""
        unknown = self.unknown()
        workers = {name for name in self._names if name not in _OTHERS}
        found = {} if workers.intersection(unknown) or not workers else {
            ("worker", "process-cpu", "seconds"): sum(self._used(workers).values())
        }
        return {**found, **self._machines(workers, unknown)}

    def _used(self, names: Iterable[str]) -> dict[Any, float]:
        """CPU seconds by process. Several workers may share one, not all of them from beginning to end."""
        first: dict[Any, float] = {}
        last: dict[Any, float] = {}
        for name in names:
            process = self._begun[name]["process"]
            begun, ended = self._begun[name]["cpu"], self._ended[name]["cpu"]
            first[process] = min(begun, first.get(process, begun))
            last[process] = max(ended, last.get(process, ended))
        return {process: last[process] - first[process] for process in first}

    def _machines(self, workers: set[str], unknown: list[str]) -> dict[tuple[str, str, str], float]:
        """Of the machines with workers. Nothing, if one of our processes is not known: its CPU time would be taken for
        that of others."""
        boots = {name: found.get("boot") for name, found in self._begun.items()}
        machines = {boots.get(name) for name in workers}
        if not machines or None in machines or any(boots.get(name) in {None, *machines} for name in unknown):
            return {}
        own = self._used(name for name in self._begun if boots[name] in machines)
        busy, total, cores = 0.0, 0.0, 0
        for boot in machines:
            there = [name for name in self._begun if boots[name] == boot]
            begun = [machine_cpu(self._begun[name]["stat"]) for name in there]
            ended = [machine_cpu(self._ended[name]["stat"]) for name in there]
            busy += max(one[0] for one in ended) - min(one[0] for one in begun)
            total += max(one[1] for one in ended) - min(one[1] for one in begun)
            cores += max(self._begun[name]["cores"] for name in there)
        return {
            ("machine", "own-cpu", "seconds"): sum(own.values()),
            ("machine", "busy", "seconds"): busy,
            ("machine", "core", "seconds"): total,
            ("machine", "cores", "count"): cores,
        }
