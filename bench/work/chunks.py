"""Records of chunks as a NanoAOD analysis on a cluster leaves them.

They come from decorated processors in processes of their own, as on a cluster, so on our side each has its
own identity. What depends on a cluster or on real work (names, sizes, durations) is put in afterwards, as a
user could. Each side gets the keys that its own decorator gives.
"""

from __future__ import annotations

import functools
import multiprocessing
import pickle
import random
from typing import Any

from coffea.processor import ProcessorABC

from bench.work import OURS
from roastcoffea import track_metrics, track_time

KEY = "__roastcoffea_metrics__"
WORKERS = 64
CHUNKS_A_FILE = 10
EVENTS = 100_000
SECTIONS = ("selection", "corrections", "fill_histograms")
TREE_BRANCHES = 1500
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


def metadata(index: int) -> dict[str, Any]:
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


def branch_names(count: int) -> list[str]:
    if count == 2:
        return ["Jet_pt", "Muon_pt"]
    fields = ("pt", "eta", "phi", "mass", "charge", "btagDeepFlavB", "jetId", "dxy", "dz", "genPartIdx")
    groups = ("Jet", "Muon", "Electron", "Tau", "FatJet", "Photon", "GenPart", "MET", "Trig", "PV")
    return [f"{group}_{field}" for field in fields for group in groups][:count]


def shared(index: int, branches: int) -> dict[str, Any]:
    """What both decorators tell of a chunk."""
    draw = random.Random(index)
    memory = draw.randint(100_000, 400_000)
    return {
        "t_start": 1.79e9 + index / WORKERS + draw.random(),
        "duration": draw.uniform(0.4, 4),
        "num_events": EVENTS,
        "mem_before_mb": memory * PAGE / 1e6,
        "mem_after_mb": (memory + draw.randint(-2000, 20_000)) * PAGE / 1e6,
        "bytes_read": draw.randint(1_000_000, 40_000_000),
        "accessed_branches": branch_names(branches),
        "accessed_bytes": draw.randint(900_000, 30_000_000),
        "accessed_uncompressed_bytes": draw.randint(2_700_000, 90_000_000),
    }


def section_times(index: int, duration: float) -> list[tuple[str, float, float]]:
    """Name, start and seconds of each."""
    draw = random.Random(-index)
    start, sections = draw.uniform(2e-6, 90e-6), []
    for name in SECTIONS:
        length = duration / 4 + draw.uniform(-9e-3, 9e-3)
        sections.append((name, start, length))
        start += length + draw.uniform(1e-6, 60e-6)
    return sections


def only_theirs(index: int, given: dict[str, Any]) -> dict[str, Any]:
    """The rest of what 0.1.2 tells of a chunk of a real file. A Dask worker unpickles a processor for each
    task, so what is known of the file comes with every chunk."""
    end = given["t_start"] + given["duration"]
    return {
        "t_end": end,
        "timestamp": end,
        "mem_delta_mb": given["mem_after_mb"] - given["mem_before_mb"],
        "num_branches_accessed": len(given["accessed_branches"]),
        "branches_read_percent": 100 * len(given["accessed_branches"]) / TREE_BRANCHES,
        "bytes_read_percent": given["accessed_bytes"] / 60e6,
        "timing": {name: length for name, _, length in section_times(index, given["duration"])},
        "file_metadata": {
            "filename": metadata(index)["filename"],
            "compression_ratio": 0.2 + index % 1000 / 3000,
            "total_branches": TREE_BRANCHES,
            "total_tree_bytes": 2_000_000_000 + index // CHUNKS_A_FILE,
        },
    }


def only_ours(index: int, worker: int, given: dict[str, Any]) -> dict[str, Any]:
    """What our decorator tells beyond that, in a Dask worker."""
    draw = random.Random(index + (1 << 40))
    memory = round(given["mem_before_mb"] * 1e6 / PAGE)
    return {
        "worker": f"tcp://10.0.{worker}.7:{35000 + worker}",
        "host": f"node{worker:03}",
        "pid": 20_000 + worker,
        "thread": draw.randint(20_000, 30_000),
        "task_key": f"TTbarProcessor-{draw.getrandbits(128):032x}",
        "before_process_s": round(draw.uniform(0.02, 0.9), 6),  # as the decorator gives it
        "sections": [{"section_name": name, "time_delta": length, "start": start, "depth": 0, "count": 1}
                     for name, start, length in section_times(index, given["duration"])],
        "mem_peak_mb": (memory + draw.randint(20_000, 80_000)) * PAGE / 1e6,
        "cpu_user_s": round(given["duration"] - draw.uniform(0.01, 0.3), 6),  # as the decorator gives it
        "cpu_system_s": round(draw.uniform(1e-3, 0.1), 6),
        "runqueue_wait_s": round(draw.uniform(1e-5, 5e-3), 6),
        "minor_faults": draw.randint(500, 40_000),
        "voluntary_switches": draw.randint(10, 400),
        "involuntary_switches": draw.randint(0, 200),
        "read_requests": draw.randint(4, 60),
        "metadata_bytes": draw.randint(100_000, 900_000),
        "os_read_bytes": draw.randint(1_000_000, 40_000_000),
        "os_read_calls": draw.randint(20, 300),
        "storage_read_bytes": draw.randint(0, 9000) * PAGE,
    }


def reads(index: int, branches: list[str]) -> dict[str, Any]:
    """What our decorator tells of the reads of each branch."""
    draw = random.Random(index + (1 << 41))
    sizes = {name: draw.randint(20_000, 900_000) for name in branches}
    return {name: {"seconds": draw.uniform(2e-4, 2e-2), "bytes": size, "uncompressed_bytes": 3 * size, "count": 1}
            for name, size in sizes.items()}


def _outputs_of_worker(work: tuple[int, range, int, bool]) -> list[bytes]:
    """Runs in a process of its own: this worker's outputs, pickled."""
    worker, indices, branches, with_reads = work
    processor, outputs = TTbarProcessor(), []
    for index in indices:
        output = processor.process(Events(metadata(index)))
        chunk = output[KEY][0]
        given = shared(index, branches)
        given |= only_ours(index, worker, given) if OURS else only_theirs(index, given)
        if OURS and with_reads:
            given["reads"] = reads(index, given["accessed_branches"])
        for key, value in given.items():
            chunk[key] = value
        outputs.append(pickle.dumps(output, pickle.HIGHEST_PROTOCOL))
    return outputs


@functools.lru_cache(maxsize=1)
def make_outputs(count: int, branches: int, with_reads: bool = False) -> list[Output]:
    """One output a chunk, in the order of the chunks: neighbours come from different workers."""
    work = [(worker, range(worker, count, WORKERS), branches, with_reads) for worker in range(WORKERS)]
    # From a server that has processed nothing yet, so that each worker counts its chunks from one.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    with context.Pool(2, maxtasksperchild=1) as pool:
        by_worker = pool.map(_outputs_of_worker, work, chunksize=1)
    packed = [by_worker[index % WORKERS][index // WORKERS] for index in range(count)]
    return [pickle.loads(one) for one in packed]


def added(outputs: list[Output]) -> Output:
    """What accumulate() does to the lists: the first sum is a new object, the rest is added in place."""
    log = outputs[0][KEY]
    if len(outputs) > 1:
        log = log + outputs[1][KEY]
    for output in outputs[2:]:
        log += output[KEY]
    return {KEY: log}
