"""Odd runs: odd names, tries that fail, nothing to do, memory that is gone again, threads."""

from __future__ import annotations

import contextlib
import mmap
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import uproot
from coffea import processor
from coffea.nanoevents import NanoAODSchema
from files import nano_columns, write_ttree

from roastcoffea import MetricsCollector, track_metrics, track_time

KEY = "__roastcoffea_metrics__"


class Counts(processor.ProcessorABC):
    @track_metrics
    def process(self, events):
        with track_time(self, "counting"):
            return {"events": len(events), "datasets": {events.metadata["dataset"]}}

    def postprocess(self, accumulator):
        return accumulator


class CountsOnly(Counts):
    """Its records can travel beside the output only."""

    @track_metrics
    def process(self, events):
        return len(events)


class FailsFirst(Counts):
    """The first try of the first chunk of each file fails, the next one does not."""

    def __init__(self, folder):
        self.folder = str(folder)

    @track_metrics
    def process(self, events):
        if events.metadata["entrystart"] == 0:
            name = f"{self.folder}/{events.metadata['fileuuid']}"
            with contextlib.suppress(FileExistsError):
                os.close(os.open(name, os.O_CREAT | os.O_EXCL))
                raise OSError("the disk was asleep")
        return {"events": len(events)}


class AlwaysFails(Counts):
    @track_metrics
    def process(self, events):
        raise OSError("no disk")


class Allocates(Counts):
    """Touches so much memory, and gives it back."""

    size = 100_000_000

    @track_metrics
    def process(self, events):
        block = mmap.mmap(-1, self.size)
        for page in range(0, self.size, mmap.PAGESIZE):
            block[page] = 1
        time.sleep(0.25)
        block.close()
        return {"events": len(events)}


class Meets(Counts):
    """Chunks that are in process() at the same time, all of them in one instance."""

    def __init__(self, parties):
        self.barrier = threading.Barrier(parties)
        self.instances = set()

    @track_metrics
    def process(self, events):
        place = f"{events.metadata['filename']}:{events.metadata['entrystart']}"
        self.instances.add(id(self))
        self._roastcoffea_current_chunk["place"] = place
        with track_time(self, place):
            self.barrier.wait(timeout=60)
            with track_time(self, f"in {place}"):
                time.sleep(0.01)
            self.barrier.wait(timeout=60)
        return {"events": len(events)}


@track_metrics
def count(events):
    """A processor that is a function."""
    return {"events": len(events)}


def make_runner(executor, **options):
    options = {"chunksize": 400} | options
    return processor.Runner(executor=executor, schema=NanoAODSchema, **options)


def iterative(**options):
    return processor.IterativeExecutor(status=False, **options)


def on_dask(client, **options):
    return processor.DaskExecutor(client=client, status=False, **options)


@contextlib.contextmanager
def cluster(**options):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(dashboard_address=None, **options) as made:
        with distributed.Client(made) as client:
            yield client


def place_of(chunk):
    return chunk["file"], chunk["entry_start"]


def check_each_once(mc, entries=6300):
    chunks = list(mc.chunk_metrics)
    assert sum(chunk["num_events"] for chunk in chunks) == entries
    assert len({place_of(chunk) for chunk in chunks}) == len(chunks)
    metrics = mc.get_metrics()
    assert metrics["num_chunks"] == metrics["num_successful_chunks"] == len(chunks)
    assert metrics["num_failed_chunks"] == 0
    assert metrics["total_events"] == metrics["total_events_from_chunks"] == entries
    # Dask may count a task in another span if one of the same name is still held by a test before
    assert [note for note in mc.notes if not note.startswith("span ")] == []
    return chunks


# ---- names ----

LONG = "набор данных ℓ→νν̄ 🎉 " + "ж" * 2048  # in UTF-8 more than 4096 bytes
LONG_ASCII = "a dataset / with_a.long:name " * 142


def deep(folder, part):
    """A folder whose path is nearly as long as a path can be."""
    while len(os.fsencode(folder)) < 3600:
        folder /= part
    folder.mkdir(parents=True)
    return folder


@pytest.fixture(scope="module")
def odd_files(tmp_path_factory):
    """{dataset: file} with long and foreign names of both."""
    folder = tmp_path_factory.mktemp("odd")
    paths = {LONG: folder / "μμ 事例 – ½ 🎈.root", "short": deep(folder, "é" * 100) / "ü.root"}
    return {
        name: write_ttree(path, nano_columns(500, seed=3, flat=5)) for name, path in paths.items()
    }


def work_items(files):
    """Coffea's own preparation takes ASCII only (it hashes the names so), its work items take any name."""
    items = []
    for name, path in files.items():
        with uproot.open(path) as file:
            uuid = file.file.uuid.bytes
        items += [
            processor.executor.WorkItem(
                dataset=name, filename=path, treename="Events", entrystart=start,
                entrystop=start + 250, fileuuid=uuid, usermeta={},
            )
            for start in (0, 250)
        ]
    return items


def check_names(mc, files):
    assert {(c["dataset"], c["file"]) for c in check_each_once(mc, 1000)} == set(files.items())
    metrics = mc.get_metrics()
    assert {name: row["total_events"] for name, row in metrics["per_dataset"].items()} == dict.fromkeys(
        files, 500
    )
    assert set(metrics["file_read_metrics"]) == set(metrics["file_metadata"]) == set(files.values())
    assert {place[0] for place in metrics["chunk_info"]} == set(files.values())
    mc.print_summary()


@pytest.mark.parametrize("kind", [Counts, CountsOnly])
@pytest.mark.parametrize("where", ["iterative", "futures", "dask"])
def test_foreign_names(where, kind, request, odd_files):
    assert len(LONG.encode()) > 4096
    assert len(odd_files["short"].encode()) > 3600
    executor = {
        "iterative": iterative,
        "futures": lambda: processor.FuturesExecutor(workers=2, status=False),
        "dask": lambda: on_dask(request.getfixturevalue("client")),
    }[where]()
    with MetricsCollector(executor) as mc:
        output = make_runner(executor)(work_items(odd_files), kind())
    assert output == (1000 if kind is CountsOnly else {"events": 1000, "datasets": set(odd_files)})
    check_names(mc, odd_files)


def test_long_names(client, tmp_path):
    assert len(LONG_ASCII) > 4096
    paths = {LONG_ASCII: tmp_path / "one file, 100%25 +.root", "short": deep(tmp_path, "x" * 250) / "a.root"}
    files = {
        name: write_ttree(path, nano_columns(500, seed=3, flat=5)) for name, path in paths.items()
    }
    fileset = {name: {"files": {path: "Events"}} for name, path in files.items()}
    with MetricsCollector(client) as mc:
        output = make_runner(on_dask(client), chunksize=250)(fileset, Counts())
    assert output == {"events": 1000, "datasets": {LONG_ASCII, "short"}}
    check_names(mc, files)


# ---- tries that fail ----


@pytest.mark.filterwarnings("ignore:Performed attempt")
@pytest.mark.parametrize("where", ["iterative", "threads", "dask"])
def test_retries(where, request, fileset, tmp_path):
    with contextlib.ExitStack() as stack:
        if where == "iterative":
            executor = iterative(retries=1)
        elif where == "threads":
            pool = stack.enter_context(ThreadPoolExecutor(2))
            executor = processor.FuturesExecutor(pool=pool, status=False, retries=1)
        else:
            executor = on_dask(request.getfixturevalue("client"), retries=1)
        with MetricsCollector(executor) as mc:
            output = make_runner(executor)(fileset, FailsFirst(tmp_path))
    assert output == {"events": 6300}
    good = [c for c in mc.chunk_metrics if c.get("error") is None]
    bad = [c for c in mc.chunk_metrics if c.get("error") is not None]
    assert sum(c["num_events"] for c in good) == 6300
    assert len({place_of(c) for c in good}) == len(good)
    files = {file for entry in fileset.values() for file in entry["files"]}
    assert sorted(map(place_of, bad)) == sorted((file, 0) for file in files)
    assert {c["error"] for c in bad} == {"OSError: the disk was asleep"}
    for c in bad:  # the try that failed came first
        (again,) = [one for one in good if place_of(one) == place_of(c)]
        assert c["t_end"] <= again["t_start"]
    metrics = mc.get_metrics()
    assert metrics["num_failed_chunks"] == len(bad) == 6
    assert metrics["num_successful_chunks"] == metrics["num_chunks"] == len(good)
    assert metrics["total_events_from_chunks"] == metrics["total_events"] == 6300
    assert sum(row["total_events"] for row in metrics["per_dataset"].values()) == 6300
    # a place has one entry: that of the try that was good
    assert metrics["chunk_info"] == {
        (*place_of(c), c["entry_stop"]): (c["t_start"], c["t_end"], c["bytes_read"]) for c in good
    }


# ---- nothing to do ----


def check_nothing(mc):
    assert list(mc.chunk_metrics) == []
    assert mc.metrics["wall_time"] == mc.t_end - mc.t_start > 0
    assert mc.metrics["peak_workers"] >= 1
    assert "total_events" not in mc.metrics
    assert mc.metrics["num_chunks"] is None
    assert mc.metrics["chunk_info"] == mc.metrics["per_dataset"] == {}
    assert mc.get_metrics()["outcome"] == mc.outcome == "failed"
    assert mc.get_metrics()["error"]["type"] in ("ValueError", "IndexError")
    mc.print_summary()


@pytest.fixture(params=["iterative", "dask"])
def executor(request):
    if request.param == "iterative":
        return iterative(retries=0)
    return on_dask(request.getfixturevalue("client"), retries=0)


@pytest.mark.filterwarnings("ignore:Skipping bad file")
def test_all_files_are_bad(executor, tmp_path):
    (tmp_path / "bad.root").write_bytes(b"no ROOT file at all")
    bad = {"ttbar": {"files": {str(tmp_path / "bad.root"): "Events"}}}
    # uproot's error for such a file is not an OSError
    runner = make_runner(executor, skipbadfiles=(OSError, ValueError))
    with pytest.raises(ValueError, match="No chunks survived"):
        with MetricsCollector(executor) as mc:
            runner(bad, Counts())
    check_nothing(mc)


def test_an_empty_fileset(executor):
    # Coffea does not foresee it: what it raises depends on the executor
    with pytest.raises((ValueError, IndexError)):
        with MetricsCollector(executor) as mc:
            make_runner(executor)({}, Counts())
    check_nothing(mc)


@pytest.mark.filterwarnings("ignore:Skipping bad file")
def test_no_chunk_returns(executor, fileset):
    # on Dask it is the reduction of nothing that fails
    with pytest.raises(Exception, match="No chunks returned results|Empty list provided"):
        with MetricsCollector(executor) as mc:
            make_runner(executor, skipbadfiles=True)(fileset, AlwaysFails())
    assert {c["error"] for c in mc.chunk_metrics} == {"OSError: no disk"}
    assert mc.metrics["num_successful_chunks"] == 0
    assert mc.metrics["num_failed_chunks"] == len({place_of(c) for c in mc.chunk_metrics}) > 6
    assert mc.metrics["chunk_duration_mean"] is None
    assert mc.metrics["per_dataset"] == {}
    mc.print_summary()


# ---- records that are held back to the end ----


def test_the_first_records_of_new_workers(fileset):
    """So few and so fast that none was sent when the run ends, and none is in the output."""
    with cluster(n_workers=2, threads_per_worker=1) as client, MetricsCollector(client) as mc:
        output = make_runner(on_dask(client), chunksize=2000)(fileset, CountsOnly())
    assert output == 6300
    check_each_once(mc)


# ---- memory that is gone again ----


def test_the_peak_in_a_worker(client, fileset):
    small = {"ttbar": fileset["ttbar"]}
    with MetricsCollector(client) as mc:
        make_runner(on_dask(client))(small, Allocates())
    chunks = check_each_once(mc, 2100)
    for chunk in chunks:
        assert chunk["mem_peak_mb"] - chunk["mem_before_mb"] == pytest.approx(100, rel=0.05)
        assert abs(chunk["mem_delta_mb"]) < 20


# ---- threads ----


def test_eight_threads_share_one_processor(fileset):
    analysis = Meets(8)
    with ThreadPoolExecutor(8) as pool:
        executor = processor.FuturesExecutor(pool=pool, status=False, retries=0)
        with MetricsCollector(executor) as mc:
            # 24 chunks: three times all of the threads
            output = make_runner(executor, chunksize=250, processor_compression=None)(fileset, analysis)
    assert output == {"events": 6300}
    assert analysis.instances == {id(analysis)}
    chunks = check_each_once(mc)
    assert len(chunks) == 24
    assert len({c["thread"] for c in chunks}) == 8
    for chunk in chunks:
        place = f"{chunk['file']}:{chunk['entry_start']}"
        assert chunk["place"] == place
        assert set(chunk["timing"]) == {place, f"in {place}"}
        assert [(s["section_name"], s["depth"]) for s in chunk["sections"]] == [
            (place, 0), (f"in {place}", 1)
        ]
    assert len(analysis._chunk_metrics) == 24


def test_a_worker_with_threads(fileset):
    threads = 2
    with cluster(n_workers=1, threads_per_worker=threads) as client, MetricsCollector(client) as mc:
        output = make_runner(on_dask(client))(fileset, Counts())
    assert output["events"] == 6300
    chunks = check_each_once(mc)
    metrics = mc.get_metrics()
    assert len({c["worker"] for c in chunks}) == len({c["pid"] for c in chunks}) == 1
    assert len({c["thread"] for c in chunks}) == threads
    assert metrics["peak_workers"] == 1
    assert metrics["cores_per_worker"] == threads
    assert metrics["total_cores"] == pytest.approx(threads, rel=0.01)
    cpu = [value for samples in mc.tracking_data["worker_cpu"].values() for _, value in samples]
    assert metrics["cpu_utilization_max_pct"] == pytest.approx(max(cpu) / threads)  # of one core


def test_workers_in_this_process(fileset):
    with cluster(n_workers=2, threads_per_worker=2, processes=False) as client:
        analysis = Counts()
        with MetricsCollector(client) as mc:
            output = make_runner(on_dask(client))(fileset, analysis)
        assert analysis._roastcoffea_collect_metrics is False
    assert output["events"] == 6300
    chunks = check_each_once(mc)
    assert {c["pid"] for c in chunks} == {os.getpid()}
    assert {c["worker"] for c in chunks} <= set(mc.tracking_data["worker_memory"])
    assert mc.get_metrics()["total_cores"] == pytest.approx(4, rel=0.01)
    assert mc.get_metrics()["processor_cpu_time_seconds"] > 0


# ---- a function ----


@pytest.mark.parametrize("local", [False, True], ids=["of a module", "of a function"])
def test_a_function_on_dask(local, client, fileset):
    @track_metrics
    def inner(events):
        return {"events": len(events)}

    function = inner if local else count
    with MetricsCollector(client) as mc:
        output = make_runner(on_dask(client))(fileset, function)
    assert output == {"events": 6300}
    chunks = check_each_once(mc)
    assert all(c["worker"] for c in chunks)
    assert mc.get_metrics()["processor_cpu_time_seconds"] > 0
    # nothing is left switched on
    assert KEY not in function([1, 2, 3])
    assert client.submit(lambda: KEY in count([1, 2, 3])).result() is False
