"""A tree reduction as Coffea does it: 20 outputs are unpickled, added up, and the sum is pickled.

It is measured twice: with the `+` and `+=` that Coffea's accumulate() comes down to, which is what the log
costs, and through accumulate() itself, beside what that costs with an empty list in the log's place.

The outputs come from decorated processors in processes of their own, as on a cluster, so each has its
own identity. Only what depends on a cluster or on real work (names, sizes, durations) is put in afterwards,
as a user could. Everything that goes into a merge is pickled, moved and unpickled; the result is moved to the
client in the end.
"""

from __future__ import annotations

import functools
import multiprocessing
import pickle
import random
from collections.abc import Callable, Iterator
from operator import itemgetter
from time import perf_counter
from typing import Any

from coffea.processor import ProcessorABC, accumulate

from bench.harness import Harness, Row, figure
from roastcoffea import track_metrics, track_time

KEY = "__roastcoffea_metrics__"
CHUNKS = 20_000
FAN_IN = 20
WORKERS = 64
CHUNKS_A_FILE = 10
EVENTS = 100_000
SECTIONS = ("selection", "corrections", "fill_histograms")
PAGE = 4096

Output = dict[str, Any]


class Events(list[int]):
    def __init__(self, metadata: dict[str, Any]) -> None:
        super().__init__()
        self.metadata = metadata


class TTbarProcessor(ProcessorABC):
    _roastcoffea_collect_metrics = True

    @track_metrics
    def process(self, events: Events) -> Output:
        for name in SECTIONS:
            with track_time(self, name):
                pass
        return {}

    def postprocess(self, accumulator: Output) -> Output:
        return accumulator


def _metadata(index: int) -> dict[str, Any]:
    file, part = divmod(index, CHUNKS_A_FILE)
    names = random.Random(file)
    return {
        "dataset": "TTbar_semileptonic_2018" if file % 2 == 0 else "WJets_2018",
        "filename": "root://eospublic.cern.ch//eos/opendata/cms/nanoaod/TTbar/"
                    f"{names.getrandbits(32):08X}-7C5B-E811-9D1A.root",
        "treename": "Events",
        "entrystart": part * EVENTS,
        "entrystop": (part + 1) * EVENTS,
        "fileuuid": f"{names.getrandbits(32):08x}-5c0b-11e8-9717-{names.getrandbits(48):012x}",
    }


def _numbers(index: int, worker: int) -> dict[str, Any]:
    """What a real chunk on a cluster would have had."""
    draw = random.Random(index)
    duration = draw.uniform(0.4, 4)
    memory = draw.randint(100_000, 400_000)
    start, sections = draw.uniform(2e-6, 90e-6), []
    for name in SECTIONS:
        length = duration / 4 + draw.uniform(-9e-3, 9e-3)
        sections.append({"section_name": name, "time_delta": length, "start": start, "depth": 0, "count": 1})
        start += length + draw.uniform(1e-6, 60e-6)
    return {
        "worker": f"tcp://10.0.{worker}.7:{35000 + worker}",
        "host": f"node{worker:03}",
        "pid": 20_000 + worker,
        "thread": draw.randint(20_000, 30_000),
        "task_key": f"TTbarProcessor-{draw.getrandbits(128):032x}",
        "t_start": 1.79e9 + index / 64 + draw.random(),
        "duration": duration,
        "num_events": EVENTS,
        "before_process_s": round(draw.uniform(0.02, 0.9), 6),  # as the decorator gives it
        "sections": sections,
        "mem_before_mb": memory * PAGE / 1e6,
        "mem_after_mb": (memory + draw.randint(-2000, 20_000)) * PAGE / 1e6,
        "mem_peak_mb": (memory + draw.randint(20_000, 80_000)) * PAGE / 1e6,
        "cpu_user_s": round(duration - draw.uniform(0.01, 0.3), 6),  # as the decorator gives it
        "cpu_system_s": round(draw.uniform(1e-3, 0.1), 6),
        "runqueue_wait_s": round(draw.uniform(1e-5, 5e-3), 6),
        "minor_faults": draw.randint(500, 40_000),
        "voluntary_switches": draw.randint(10, 400),
        "involuntary_switches": draw.randint(0, 200),
        "bytes_read": draw.randint(1_000_000, 40_000_000),
        "read_requests": draw.randint(4, 60),
        "metadata_bytes": draw.randint(100_000, 900_000),
        "os_read_bytes": draw.randint(1_000_000, 40_000_000),
        "os_read_calls": draw.randint(20, 300),
        "storage_read_bytes": draw.randint(0, 9000) * PAGE,
        "accessed_branches": ["Jet_pt", "Muon_pt"],
        "accessed_bytes": draw.randint(900_000, 30_000_000),
        "accessed_uncompressed_bytes": draw.randint(2_700_000, 90_000_000),
    }


def _outputs_of_worker(work: tuple[int, range]) -> list[bytes]:
    """Runs in a process of its own: this worker's outputs, pickled."""
    worker, indices = work
    processor, outputs = TTbarProcessor(), []
    for index in indices:
        output = processor.process(Events(_metadata(index)))
        chunk = output[KEY][0]
        for key, value in _numbers(index, worker).items():
            chunk[key] = value
        outputs.append(pickle.dumps(output, pickle.HIGHEST_PROTOCOL))
    return outputs


@functools.cache
def make_outputs() -> list[Output]:
    """One output a chunk, in the order of the chunks: neighbours come from different workers."""
    work = [(worker, range(worker, CHUNKS, WORKERS)) for worker in range(WORKERS)]
    # From a server that has processed nothing yet, so that each worker counts its chunks from one.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    with context.Pool(2, maxtasksperchild=1) as pool:
        by_worker = pool.map(_outputs_of_worker, work, chunksize=1)
    packed = [by_worker[index % WORKERS][index // WORKERS] for index in range(CHUNKS)]
    return [pickle.loads(one) for one in packed]


def added(outputs: list[Output]) -> Output:
    """What accumulate() does to the logs: the first sum is a new object, the rest is added in place."""
    log = outputs[0][KEY]
    if len(outputs) > 1:
        log = log + outputs[1][KEY]
    for output in outputs[2:]:
        log += output[KEY]
    return {KEY: log}


class Tree:
    """One reduction: seconds of each part, and the sizes of what was moved."""

    def __init__(self, outputs: list[Output], add: Callable[[list[Output]], Output]) -> None:
        self.pickle = self.unpickle = self.add = 0.0
        self.moved: list[int] = []
        items = outputs
        while len(items) > 1:
            packed = self._pickled(items)
            items = [self._sum(packed[i:i + FAN_IN], add) for i in range(0, len(packed), FAN_IN)]
        self.result = items[0]

    def _pickled(self, items: list[Output]) -> list[bytes]:
        start = perf_counter()
        packed = [pickle.dumps(item, pickle.HIGHEST_PROTOCOL) for item in items]
        self.pickle += perf_counter() - start
        self.moved += map(len, packed)
        return packed

    def _sum(self, packed: list[bytes], add: Callable[[list[Output]], Output]) -> Output:
        t0 = perf_counter()
        items = [pickle.loads(one) for one in packed]
        t1 = perf_counter()
        result = add(items)
        t2 = perf_counter()
        self.unpickle += t1 - t0
        self.add += t2 - t1
        return result

    @property
    def seconds(self) -> float:
        return self.pickle + self.unpickle + self.add


class Floor:
    """The least that moving as much can cost: seconds to copy bytes of the same sizes, to pickle and
    unpickle them, and to do so with an object of a C type around them in a dict, as a log is."""

    def __init__(self, sizes: list[int]) -> None:
        self.payloads = [bytes(size) for size in sizes]
        self.objects = [{KEY: itemgetter(payload)} for payload in self.payloads]

    def copy(self) -> float:
        start = perf_counter()
        for payload in self.payloads:
            bytearray(payload)
        return perf_counter() - start

    def bytes_through_pickle(self) -> float:
        start = perf_counter()
        for payload in self.payloads:
            pickle.loads(pickle.dumps(payload, pickle.HIGHEST_PROTOCOL))
        return perf_counter() - start

    def pickle_objects(self) -> float:
        start = perf_counter()
        self.packed = [pickle.dumps(one, pickle.HIGHEST_PROTOCOL) for one in self.objects]
        return perf_counter() - start

    def unpickle_objects(self) -> float:
        start = perf_counter()
        for one in self.packed:
            pickle.loads(one)
        return perf_counter() - start


def _program_rows(harness: Harness) -> Iterator[Row]:
    """The same in C, without Python objects."""
    tree = harness.program("bench_chunklog")["tree"]
    floor = figure(1e-9 * tree["memcpy_floor_ns"])
    yield Row("reduction/time a chunk, engine alone", "s", figure(1e-9 * tree["total_ns"]), floor,
              "memcpy, in C")
    yield Row("reduction/moved a chunk, engine alone", "bytes", figure(tree["bytes"]))


def _time_rows(harness: Harness, outputs: list[Output], sizes: list[int]) -> Iterator[Row]:
    n = len(outputs)
    floor = Floor(sizes)
    floor.pickle_objects()
    empty: list[Output] = [{KEY: []} for _ in outputs]
    trees: list[Tree] = []

    def ours() -> float:
        trees.append(Tree(outputs, added))
        return trees[-1].seconds / n

    costs = harness.interleave({
        "copy": lambda: floor.copy() / n,
        "bytes": lambda: floor.bytes_through_pickle() / n,
        "pickle": lambda: floor.pickle_objects() / n,
        "unpickle": lambda: floor.unpickle_objects() / n,
        "ours": ours,
        "Coffea": lambda: Tree(outputs, accumulate).seconds / n,
        "empty": lambda: Tree(empty, accumulate).seconds / n,
    })
    kept = len(trees[-1].result[KEY])
    if kept != n:
        raise AssertionError(f"{kept} chunks of {n} came out")
    parts = {part: figure(getattr(tree, part) / n for tree in trees[1:])  # the first one was a warm-up
             for part in ("pickle", "unpickle", "add")}
    around = "the same bytes in an object of a C type in a dict"
    yield Row("reduction/time a chunk", "s", costs["ours"], costs["bytes"],
              "pickle and unpickle bytes of the same sizes")
    yield Row("reduction/of it pickle", "s", parts["pickle"], costs["pickle"], around)
    yield Row("reduction/of it unpickle", "s", parts["unpickle"], costs["unpickle"], around)
    yield Row("reduction/of it add", "s", parts["add"], costs["copy"], "memcpy of the same bytes")
    yield Row("reduction/time a chunk, by Coffea's accumulate", "s", costs["Coffea"], costs["empty"],
              "the same with an empty list in the log's place")


def rows(harness: Harness) -> Iterator[Row]:
    harness.progress("reduction: making the outputs ...")
    outputs = make_outputs()
    tree = Tree(outputs, added)
    harness.progress("reduction: merging ...")
    yield from _time_rows(harness, outputs, tree.moved)
    result = len(pickle.dumps(tree.result, pickle.HIGHEST_PROTOCOL))
    yield Row("reduction/moved a chunk", "bytes", figure((sum(tree.moved) + result) / len(outputs)))
    yield Row("reduction/of it the result, to the client", "bytes", figure(result / len(outputs)))
    yield from _program_rows(harness)
