"""Runs where a facility looks: on the server of Dask's scheduler, in Prometheus, in files of node_exporter."""

from __future__ import annotations

import json
import re
import threading
from types import SimpleNamespace

import dask
import distributed
import pytest
from coffea import processor
from dask_parts import eventually
from facility_parts import Analysis, get, lint, need, prometheus, runner, write_files

from roastcoffea import MetricsCollector, track_metrics
from roastcoffea.backends.dask import exposed as _exposed

NAME = 'top "<b>quark</b>"\n'


@pytest.fixture(scope="module")
def fileset(tmp_path_factory):
    return write_files(tmp_path_factory.mktemp("files"), "ttbar", "<i>wjets</i>")


@pytest.fixture(scope="module")
def failing(tmp_path_factory):
    return write_files(tmp_path_factory.mktemp("files"), "bad")


def small_cluster(**options):
    """In this process, so that a test can look at it."""
    return distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address="127.0.0.1:0", **options)


@pytest.fixture(scope="module")
def cluster():
    with small_cluster() as made:
        yield made


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster, set_as_default=False) as made:
        yield made
    forget(cluster)


def forget(cluster):
    """As if five minutes were over."""
    for run in list(_exposed._runs):
        cluster.loop.add_callback(_exposed._drop, run)
    eventually(lambda: not _exposed._runs)


def address(cluster, path=""):
    return f"http://127.0.0.1:{cluster.scheduler.http_server.port}{path}"


def dask_run(client, fileset):
    return runner(processor.DaskExecutor(client=client, status=False, retries=0))(fileset, Analysis())


def lines(text, start):
    return [line for line in text.splitlines() if line.startswith(start)]


def chunks_shown(cluster, path="/roast/metrics"):
    return sum(float(line.rpartition(" ")[2]) for line in lines(get(address(cluster, path))[2], "roast_chunks_total{"))


# ---- on Dask's own server ----


def test_a_run_on_dasks_own_server(cluster, client, fileset, monkeypatch):
    before = list(cluster.scheduler.http_application.default_router.rules)
    assert get(address(cluster, "/roast"))[0] == 404
    with MetricsCollector(client, dashboard=True, measurement_name=NAME) as mc:
        dask_run(client, fileset)
        eventually(lambda: chunks_shown(cluster) == 4)
        status, headers, page = get(address(cluster, "/roast"))
        ours, theirs = get(address(cluster, "/roast/metrics")), get(address(cluster, "/metrics"))
        monkeypatch.setattr(_exposed, "KEPT_SECONDS", 3600.0)
    assert status == 200 and "default-src 'none'" in headers["Content-Security-Policy"]
    assert "'unsafe-inline'" not in headers["Content-Security-Policy"].partition("style-src")[0]
    assert "&lt;b&gt;quark" in page and "<b>quark" not in page and "<i>wjets" not in page and "4 chunks" in page
    for text in (ours[2], theirs[2]):
        done = [line for line in lines(text, "roast_chunks_total{") if 'dataset="ttbar"' in line and 'outcome="done"' in line]
        assert len(done) == 1 and float(done[0].rpartition(" ")[2]) == 2
        assert 'roast_events_total{' in text and 'roast_cluster_workers{' in text
        assert len(lines(text, "# TYPE roast_chunks_total counter")) == 1
        assert "secret-" not in text and "worker=" not in "".join(lines(text, "roast_"))
    assert "dask_scheduler_workers" in theirs[2] and "dask_scheduler" not in ours[2]
    assert "secret-" not in page and "nobody else is to see" not in page
    assert ours[1]["Content-Type"].startswith("text/plain; version=0.0.4")
    assert mc.notes == [] and mc.metrics["num_chunks"] == 4
    # It has ended, and is shown a while longer, without the workers.
    text = get(address(cluster, "/roast/metrics"))[2]
    assert [line[-1] for line in lines(text, "roast_run_open{")] == ["0"] and chunks_shown(cluster) == 4
    assert "roast_cluster_workers" not in text and "has ended" in get(address(cluster, "/roast"))[2]
    # Then it goes, and nothing of ours is left.
    forget(cluster)
    eventually(lambda: get(address(cluster, "/roast"))[0] == 404)
    assert "roast_" not in get(address(cluster, "/metrics"))[2]
    assert cluster.scheduler.http_application.default_router.rules == before
    assert _exposed.EXTENSION not in cluster.scheduler.extensions


def test_a_run_that_has_ended_goes_by_itself(cluster, client, fileset, monkeypatch):
    monkeypatch.setattr(_exposed, "KEPT_SECONDS", 0.05)
    with MetricsCollector(client, dashboard="workers", measurement_name="short"):
        text = get(address(cluster, "/metrics"))[2]
    # Each worker, because that was asked for.
    for one in cluster.scheduler.workers:
        assert len(lines(text, f'roast_cluster_worker_threads{{run="short",worker="{one}"}}')) == 1
        assert len(lines(text, f'roast_cluster_worker_memory_bytes{{run="short",worker="{one}"}}')) == 1
    eventually(lambda: not _exposed._runs)
    assert "roast_" not in get(address(cluster, "/metrics"))[2]
    assert _exposed.KEPT_SECONDS == 0.05


def test_five_minutes():
    assert _exposed.KEPT_SECONDS == 300


def test_failed_chunks_and_two_of_one_name(cluster, client, failing):
    """The second has another name; one that begins when the first has ended has its name again."""
    with MetricsCollector(client, dashboard=True, measurement_name="same"):
        with MetricsCollector(client, dashboard=True, measurement_name="same"):
            with pytest.raises(Exception, match="nobody else"):
                dask_run(client, failing)
            eventually(lambda: chunks_shown(cluster) > 0)
            eventually(lambda: "have failed, the last with: " in get(address(cluster, "/roast/parts"))[2]
                       or "has failed, the last with: " in get(address(cluster, "/roast/parts"))[2])
            status, headers, parts = get(address(cluster, "/roast/parts"))
            page = get(address(cluster, "/roast"))
            assert status == 200 and "Refresh" not in page[1]
            assert set(json.loads(parts)) == {"top", "run0", "run1"} and "nobody else" not in parts + page[2]
            assert "the last with: ValueError" in parts and "WorkItem" not in parts  # not Coffea's Exception around it
            text = get(address(cluster, "/roast/metrics"))[2]
    assert {line.split('"')[1] for line in lines(text, "roast_run_open{")} == {"same", "same (2)"}
    assert any('dataset="bad",outcome="failed"' in line and not line.endswith(" 0") for line in text.splitlines())
    assert all('outcome="done"} 0' in line for line in lines(text, "roast_chunks_total{") if "done" in line)
    with MetricsCollector(client, dashboard=True, measurement_name="same"):
        text = get(address(cluster, "/roast/metrics"))[2]
    assert sorted(line.split('"')[1] + line[-2:] for line in lines(text, "roast_run_open{")) == ["same (2) 0", "same 1"]


@pytest.mark.parametrize(("told", "users"), [
    ("Exception: Failed processing file: WorkItem(a='b'). The error was: ValueError('no. The error was: x.').",
     "ValueError: no. The error was: x."),
    ("Exception: Failed processing file: WorkItem(", "Exception: Failed processing file: WorkItem("),
    ("Exception: of the user", "Exception: of the user"), ("KilledWorker", "KilledWorker"), (None, None),
])
def test_the_users_exception_inside_of_coffeas(told, users):
    from roastcoffea.backends.dask.task_watch import _users

    assert _users(told) == users


@pytest.mark.parametrize(("told", "shown"), [
    ("ValueError: hunter2", "ValueError"), ("KeyError", "KeyError"), ("KilledWorker", "KilledWorker"),
    ("its worker left", "its worker left"), ("hunter2", None), ("my.hunter2", None),
])
def test_the_text_of_an_exception_stays_on_the_scheduler(told, shown):
    """Also of an exception whose repr() is a word of its own."""
    from roastcoffea.backends.dask.page import _failed

    html = _failed(SimpleNamespace(failures=lambda: (1, [(told, "task")])))
    assert "hunter2" not in html and (f"with: {shown}" in html if shown else "with:" not in html)


def test_a_run_that_is_made_again_under_its_name(cluster, client):
    """The first one is shown still when the second one begins, and takes no page with it."""
    for _ in range(2):
        with MetricsCollector(client, dashboard=True, measurement_name="zjets") as mc:
            status, _, page = get(address(cluster, "/roast"))
            assert status == 200 and "zjets" in page and not mc.notes
            assert lines(get(address(cluster, "/roast/metrics"))[2], 'roast_run_open{run="zjets"}')[0].endswith(" 1")


def test_who_has_not_asked_is_not_shown(cluster, client):
    with MetricsCollector(client, dashboard=True, measurement_name="shown"):
        with MetricsCollector(client, measurement_name="mine alone"):
            assert "mine alone" not in get(address(cluster, "/roast"))[2] + get(address(cluster, "/metrics"))[2]


def test_a_page_that_fails_does_not_break_dasks(cluster, client, monkeypatch):
    with MetricsCollector(client, dashboard=True) as mc:
        monkeypatch.setattr(_exposed, "prometheus_live", None)
        status, _, text = get(address(cluster, "/metrics"))
        assert status == 200 and "dask_scheduler_workers" in text and "roast_" not in text
        monkeypatch.setattr(_exposed.LiveRun, "cluster", None)
        assert get(address(cluster, "/roast"))[0] == 503
        _exposed._runs[0].take(b"no records")
    assert len([note for note in mc.notes if "Dask's server" in note or "Prometheus" in note]) == 3


def test_a_facility_shows_all(fileset):
    """By configuration; below a path of its own; also after a run."""
    with dask.config.set({"distributed.scheduler.preload": ["roastcoffea.preload"]}), \
            small_cluster(scheduler_kwargs={"http_prefix": "user/me"}) as made, \
            distributed.Client(made, set_as_default=False) as client:
        assert get(address(made, "/user/me/roast"))[0] == 200 and get(address(made, "/roast"))[0] == 404
        with MetricsCollector(client):
            dask_run(client, fileset)
            eventually(lambda: chunks_shown(made, "/user/me/roast/metrics") == 4)
        assert re.search(r'roast_run_open{run="\d{4}-\d\d-\d\d_[\d-]+"} 0', get(address(made, "/user/me/roast/metrics"))[2])
        forget(made)
        assert "No run is measured" in get(address(made, "/user/me/roast"))[2]


def test_a_scheduler_without_a_dashboard(fileset):
    """Dask's server is there all the same, and so is our page."""
    with distributed.LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None) as made, \
            distributed.Client(made, set_as_default=False) as client:
        with MetricsCollector(client, dashboard=True, measurement_name="plain") as mc:
            dask_run(client, fileset)
            eventually(lambda: chunks_shown(made) == 4)
            assert get(address(made, "/status"))[0] == 404
            status, _, page = get(address(made, "/roast"))
        assert status == 200 and "4 chunks" in page and mc.notes == []
        forget(made)


def test_a_scheduler_that_has_closed_is_forgotten(cluster, client):
    with small_cluster() as other, distributed.Client(other, set_as_default=False) as theirs:
        with MetricsCollector(theirs, dashboard=True, measurement_name="gone"):
            # All schedulers of a process have one registry, and each has a page of its own.
            assert 'run="gone"' in get(address(cluster, "/metrics"))[2] and get(address(cluster, "/roast"))[0] == 404
    assert 'run="gone"' not in get(address(cluster, "/metrics"))[2]
    with MetricsCollector(client, dashboard=True, measurement_name="here"):
        assert [run.label for run in _exposed._runs] == ["here"]


def test_a_scheduler_without_this_package(cluster, client, monkeypatch):
    import builtins

    real = builtins.__import__

    def lacking(name, *args):
        if name.startswith("roastcoffea") and threading.current_thread() is not threading.main_thread():
            raise ModuleNotFoundError("No module named 'roastcoffea'")
        return real(name, *args)

    monkeypatch.setattr(builtins, "__import__", lacking)
    with MetricsCollector(client, dashboard=True, track_workers=False) as mc:
        assert get(address(cluster, "/roast"))[0] == 404
    assert any("the run is not shown on Dask's server: ModuleNotFoundError" in note for note in mc.notes)


def test_prometheus_scrapes_it(cluster, client, fileset, tmp_path):
    need("prometheus")
    with MetricsCollector(client, dashboard=True, measurement_name="scraped") as mc:
        dask_run(client, fileset)
        eventually(lambda: chunks_shown(cluster) == 4)
        assert lint(get(address(cluster, "/roast/metrics"))[2]) == ""
        with prometheus(tmp_path, cluster.scheduler.http_server.port, "/metrics") as ask:
            query = 'sum by (dataset) (roast_chunks_total{run="scraped",outcome="done"})'
            eventually(lambda: len(ask(query)) == 2, 90)
            assert {one["metric"]["dataset"]: one["value"][1] for one in ask(query)} == {"ttbar": "2", "<i>wjets</i>": "2"}
            assert ask('dask_scheduler_workers{state="idle"}')  # Dask's own are there as before
            assert ask('up{job="dask"}')[0]["value"][1] == "1"
    assert mc.notes == []


# ---- in a file ----


class Looking(processor.ProcessorABC):
    """Sees the file while the run goes on."""

    seen: list[str] = []

    def __init__(self, path):
        self.path = path

    @track_metrics
    def process(self, events):
        Looking.seen.append(self.path.read_text())
        return {"events": len(events)}

    def postprocess(self, accumulator):
        return accumulator


def test_a_file_for_node_exporter(fileset, tmp_path):
    need("promtool")
    path, executor = tmp_path / "run.prom", processor.IterativeExecutor(status=False, retries=0)
    with MetricsCollector(executor, textfile=path, worker_tracking_interval=0.01, measurement_name=NAME) as mc:
        runner(executor)(fileset, Looking(path))
        eventually(lambda: "roast_events_total" in path.read_text())
        during = path.read_text()
    after = path.read_text()
    assert all("roast_run_open{" in text and "} 1\n" in text for text in Looking.seen) and len(Looking.seen) == 4
    assert 'run="top \\"<b>quark</b>\\"\\n"' in during and "roast_wall_time_seconds" not in during
    assert 'roast_budget_core_seconds{' in after and 'part="read"' in after
    assert "roast_wall_time_seconds{" in after and lines(after, "roast_run_open{")[0].endswith("} 0")
    assert any('dataset="ttbar",outcome="done"} 2' in line for line in after.splitlines())
    assert bool(mc.diagnose()) == ("roast_finding_saving_core_seconds{" in after)
    assert "secret-" not in after and "file=" not in after and "worker=" not in after
    assert lint(during) == "" and lint(after) == ""
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.prom"]  # and nothing beside it
    assert mc.notes == []
    mc.set_coffea_report({**mc.coffea_report, "entries": 12345})
    assert lines(path.read_text(), "roast_total_events{")[0].endswith(" 12345")


def test_a_file_that_cannot_be_written(fileset, tmp_path):
    executor = processor.IterativeExecutor(status=False, retries=0)
    with pytest.raises(ValueError, match=r"\.prom"):
        MetricsCollector(executor, textfile=tmp_path / "run.txt")
    with pytest.raises(ValueError, match='True, False or "workers" is expected, not \'worker\''):
        MetricsCollector(executor, dashboard="worker")
    with pytest.raises(ValueError, match="dashboard=True: local has no server"):
        MetricsCollector(executor, dashboard=True)
    with pytest.raises(FileNotFoundError), MetricsCollector(executor, textfile=tmp_path / "absent" / "run.prom"):
        pass
    # It vanishes during the run: a note, and the run goes on.
    folder = tmp_path / "there"
    folder.mkdir()
    with MetricsCollector(executor, textfile=folder / "run.prom", worker_tracking_interval=0.01) as mc:
        (folder / "run.prom").unlink()
        folder.rmdir()
        output = runner(executor)(fileset, Analysis())
    assert output["events"] == 200 and any("the file for Prometheus" in note for note in mc.notes)
