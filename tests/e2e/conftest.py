"""Real parts for the end-to-end tests: ROOT files, a Dask cluster."""

from __future__ import annotations

import gc
import time

import awkward as ak
import numpy as np
import pytest
import uproot


def write_nanoaod(path, events, seed, branches=200):
    """A small NanoAOD-like file: jagged jets and muons, and some flat branches."""
    rng = np.random.default_rng(seed)

    def jagged(mean):
        counts = rng.poisson(mean, events)
        return lambda: ak.unflatten(rng.exponential(40, counts.sum()).astype("f4"), counts)

    jet, muon = jagged(4), jagged(1.5)
    data = {
            "run": np.ones(events, "u4"),
            "luminosityBlock": np.ones(events, "u4"),
            "event": np.arange(events, dtype="u8"),
            "Jet": ak.zip({name: jet() for name in ("pt", "eta", "phi", "mass")}),
            "Muon": ak.zip({name: muon() for name in ("pt", "eta", "phi", "mass", "charge")}),
            **{f"Flag_{i}": rng.random(events).astype("f4") for i in range(branches)},
        }
    with uproot.recreate(path) as file:
        # a TTree: plain assignment would write an RNTuple
        file.mktree("Events", {name: array.type if isinstance(array, ak.Array) else array.dtype
                               for name, array in data.items()})
        file["Events"].extend(data)
    return str(path)


def idle_share(seconds=0.5):
    """How much of all cores nobody uses."""
    def read():
        with open("/proc/stat") as file:
            return [int(word) for word in file.readline().split()[1:9]]

    before = read()
    time.sleep(seconds)
    ticks = [after - earlier for earlier, after in zip(before, read())]
    return ticks[3] / max(1, sum(ticks))


def need_free_cores():
    """Some runs are what they are to be only if nobody else takes the cores."""
    until = time.monotonic() + 10
    while idle_share() < 0.6:
        if time.monotonic() > until:
            pytest.skip("other programs keep the cores of this machine busy")


# Files that take minutes with few tests: begun last, they would keep one process busy while the others are done.
LONG = ("test_walk.py", "test_clocks.py")


# What `make test` leaves to `make test-slow`: files that take half a minute or more in all, except for what stands below,
# and single tests of ten seconds or more.
SLOW_FILES = {
    "test_walk.py", "test_clocks.py", "test_notebook.py", "test_kept_notebooks.py", "test_tutorials.py", "test_report_browser.py",
    "test_board_browser.py", "test_charts.py", "test_live_line.py", "test_findings.py", "test_wedged_scheduler.py",
    "test_several_runs.py", "test_what_if.py", "test_storage.py", "test_cpu_time.py", "test_one_value.py", "test_many_runs.py",
}
SLOW_TESTS = {
    "test_output_and_objects_are_the_users", "test_1500_branches", "test_monitoring", "test_a_pool_that_is_killed",
    "test_an_end_that_nobody_confirms_leaves_nothing_for_long", "test_what_was_done_before_the_user_stopped_it",
    "test_a_client_that_is_killed_loses_two_seconds_at_most",
}
# Each view in a browser once.
CORE = {"test_a_real_run", "test_sort_search_and_back"}


def is_slow(item):
    name = getattr(item, "originalname", item.name)
    return name in SLOW_TESTS or (item.path.name in SLOW_FILES and name not in CORE)


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: item.path.name not in LONG)
    for item in items:
        if is_slow(item):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def fileset(tmp_path_factory):
    """Three datasets of two files each, {dataset: {"files": {file: tree}}}."""
    folder = tmp_path_factory.mktemp("nanoaod")
    made = {}
    for k, dataset in enumerate(("ttbar", "wjets", "data")):
        files = {
            write_nanoaod(folder / f"{dataset}_{i}.root", 1000 + 100 * i, seed=10 * k + i, branches=40): "Events"
            for i in range(2)
        }
        made[dataset] = {"files": files}
    return made


def task_count(dask_scheduler):
    return len(dask_scheduler.tasks)


def clear(client):
    """Until there is no task any more; those that somebody still keeps, a traceback say, are called off."""
    from distributed import Future

    gc.collect()
    until = time.monotonic() + 10
    before, now = None, client.run_on_scheduler(task_count)
    while now and time.monotonic() < until:
        if now == before:
            client.cancel([Future(key, client) for key in list(client.futures)], force=True)
        time.sleep(0.05)
        before, now = now, client.run_on_scheduler(task_count)


@pytest.fixture(scope="session")
def idle_client():
    """A function that gives a client of the cluster that all tests share, once what others did there is over:
    Dask counts a task to the span of an older one that has its name and is still there."""
    import distributed

    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster, distributed.Client(cluster) as made:
        def give():
            clear(made)
            return made

        yield give


@pytest.fixture
def client(idle_client):
    return idle_client()


@pytest.fixture(scope="module")
def no_trace_of_other_tests(idle_client):
    """Runs that failed on purpose elsewhere may have had a record on the wire when they ended."""

    def forget(dask_scheduler):
        topics = dask_scheduler._broker._topics
        for name in [name for name in topics if "roastcoffea" in name]:
            del topics[name]

    idle_client().run_on_scheduler(forget)
