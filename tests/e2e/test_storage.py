"""Files of servers on loopback, with a known latency: what was waited for, and which door is slow."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import distributed
import pytest
from coffea import processor
from coffea.nanoevents import BaseSchema
from files import nano_columns, write_ttree
from storage_servers import started, xrootd

from roastcoffea import MetricsCollector, _core, track_metrics

pytestmark = pytest.mark.alone

READ = ("Flag_0", "Flag_1", "Flag_2", "Flag_3", "Flag_4")
FILES, STEP = 4, 300


class Reads(processor.ProcessorABC):
    """Columns one after the other, each of which waits for an answer."""

    @track_metrics
    def process(self, events):
        return {"sum": sum(float(events[name].to_numpy().sum()) for name in READ)}

    def postprocess(self, accumulator):
        return accumulator


@pytest.fixture(scope="module")
def folder():
    """A server that runs as somebody else must be able to read it."""
    made = Path(tempfile.mkdtemp(prefix="roast-storage-"))
    made.chmod(0o755)
    for i in range(FILES):
        write_ttree(made / f"{i}.root", nano_columns(2 * STEP, seed=i), step=STEP)
    yield made
    shutil.rmtree(made)


def measure(fileset, executor=None, client=None):
    executor = executor or processor.IterativeExecutor(status=False)
    runner = processor.Runner(executor=executor, schema=BaseSchema, chunksize=STEP, savemetrics=True)
    with MetricsCollector(client) as mc:
        runner(fileset, processor_instance=Reads(), treename="Events")
    return mc


def check_waiting(mc, door, storage):
    """Against the waits that the server wrote down."""
    chunks = mc.chunk_metrics
    assert len(chunks) == 2 * FILES and {chunk["storage"] for chunk in chunks} == {storage}
    truth = door.blocked(chunks)
    row, total = mc.metrics["per_storage"][storage], mc.budget()
    assert truth > 1 and row["waiting_seconds"] == pytest.approx(truth, rel=0.1)
    assert total["read"]["waiting"] == pytest.approx(row["waiting_seconds"], rel=1e-3)
    assert sum(total["read"].values()) == pytest.approx(total["parts"]["read"], rel=1e-6)
    assert row["read_seconds"] == pytest.approx(total["parts"]["read"], rel=1e-6)
    by = mc.budget(by="storage")
    assert set(by) == {storage, None} and by[storage]["parts"]["read"] == pytest.approx(total["parts"]["read"])
    assert row["num_chunks"] == 2 * FILES and row["num_files"] == FILES
    assert row["bytes_read"] == sum(chunk["bytes_read"] for chunk in chunks) > 0
    assert row["waiting_percent"] == pytest.approx(
        100 * row["waiting_seconds"] / sum(chunk["duration"] for chunk in chunks))
    # Opening waits as well, and the iterative executor's chunks tell it.
    assert all(chunk["before_process_s"] > 0 for chunk in chunks)
    assert row["mean_before_process"] == pytest.approx(
        sum(chunk["before_process_s"] for chunk in chunks) / len(chunks))
    # Other threads of this process fetch the data: their CPU time is seen, and is not that of the chunk's thread.
    own = sum(chunk["cpu_user_s"] + chunk["cpu_system_s"] for chunk in chunks)
    assert sum(chunk["cpu_process_s"] for chunk in chunks) > own
    (table,) = [one for one in _core.Summary(mc.metrics, mc.run).tables if one["id"] == "storages"]
    assert [line[0] for line in table["rows"]] == [storage]
    assert table["rows"][0][5] == _core.format_value(row["waiting_seconds"], "s")


def test_waiting_for_http(folder, tmp_path):
    with started("http", folder, 0.1, tmp_path / "waits") as door:
        storage = f"http://127.0.0.1:{door.port}"
        mc = measure({"d": [f"{storage}/{i}.root" for i in range(FILES)]})
        check_waiting(mc, door, storage)


def test_waiting_for_xrootd(folder, tmp_path):
    pytest.importorskip("fsspec_xrootd", reason="fsspec-xrootd is not installed")
    if shutil.which("xrootd") is None:
        pytest.skip("there is no server of XRootD: tools/setup.py servers installs one")
    home = Path(tempfile.mkdtemp(prefix="roast-xrootd-"))
    try:
        with xrootd(folder, home) as port, started("proxy", port, 0.1, tmp_path / "waits") as door:
            storage = f"root://127.0.0.1:{door.port}"
            mc = measure({"d": [f"{storage}//{i}.root" for i in range(FILES)]})
            check_waiting(mc, door, storage)
    finally:
        shutil.rmtree(home)


def test_a_door_with_ten_times_the_latency(folder, tmp_path):
    with (
        started("http", folder, 0.02, tmp_path / "quick") as quick,
        started("http", folder, 0.2, tmp_path / "slow") as slow,
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        doors = [f"http://127.0.0.1:{door.port}" for door in (quick, slow)]
        fileset = {"d": [f"{door}/{i}.root" for i in range(FILES) for door in doors]}
        mc = measure(fileset, processor.DaskExecutor(client=client, status=False), client)
    found = {finding["kind"]: finding for finding in mc.diagnose()}
    assert doors[1] in found["straggler_storage"]["title"]
    assert not {"straggler_worker", "straggler_host", "straggler_file"} & set(found)
    # No more can be saved than was waited for, before process() and in it.
    of_slow = [chunk for chunk in mc.chunk_metrics if chunk["storage"] == doors[1]]
    assert 0 < found["straggler_storage"]["saving_core_seconds"] < sum(
        chunk["before_process_s"] + chunk["duration"] for chunk in of_slow)
    rows = mc.metrics["per_storage"]
    assert list(rows) == doors[::-1]  # who waits longest is the first
    assert rows[doors[1]]["waiting_seconds"] > 5 * rows[doors[0]]["waiting_seconds"]
    assert rows[doors[0]]["bytes_read"] == rows[doors[1]]["bytes_read"]
