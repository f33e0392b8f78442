"""Secrets in addresses, exceptions, settings and the environment: the user's code sees them, and nothing that is kept or
shown has one of them."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sqlite3
import subprocess
import sys
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import distributed
import pyarrow
import pytest
from coffea import processor
from coffea.nanoevents import NanoAODSchema
from conftest import write_nanoaod
from dask_parts import eventually

import roastcoffea
from roastcoffea import MetricsCollector, open_run, track_metrics, track_time
from roastcoffea.backends.dask import exposed as _exposed

ROAST = os.environ.get("ROAST_PROGRAM") or str(Path(sys.executable).with_name("roast"))
# Each secret has a number of its own, so that a failure tells which one it was.
SECRET = re.compile(rb"SECRET(\d\d)", re.IGNORECASE)

ADDRESSES = {
    "0.root": "http://SECRET01:SECRET02@{door}/0.root",
    "1.root": "http://{door}/1.root?X-Amz-Algorithm=A&X-Amz-Credential=SECRET03%2Fus&X-Amz-Signature=SECRET04",
    "2.root": "http://{door}/2.root?authz=Bearer%20SECRET05&xrdcl.requuid=plain",
    "3.root": "http://{door}/3.root?access_token=SECRET06",
    "4.root": "http://{door}/4.root?sv=2024&sig=SECRET07%3D",
    "5.root": "http://{door}/5.root?SECRET08",
    "6.root": "http://{door}/eyJhbGciOiJIUzI1NiJ9.SECRET09.c2lnbmF0dXJl/6.root",
    "7.root": "http://SECRET10@{door}/7.root",
}
GONE = "http://SECRET42:SECRET43@{door}/gone.root?token=SECRET44"
HARMLESS = "2.root?xrdcl.requuid=plain"
# In the message of an exception that process() raises.
MESSAGE = "\n".join((
    "cannot open root://SECRET11:SECRET12@host//store/f.root?authz=SECRET13 (in 'https://h/x?token=SECRET14')",
    "simplecache::https://SECRET15@host/f.root?X-Amz-Security-Token=SECRET16",
    "sent Authorization: Bearer SECRET17, then Basic SECRET18QWxhZA==",
    "{'password': 'SECRET19', 'n': 1} and {\"api_key\": \"SECRET20\"}",
    "password=SECRET21 --token SECRET22",
    "ghp_SECRET23abcdefghijkl, glpat-SECRET24abcdefghijkl, AKIASECRET25ABCDEFGH",
    "-----BEGIN PRIVATE KEY-----\nSECRET26\n-----END PRIVATE KEY-----",
    "Cookie: session=SECRET27",
))
CONFIG = {
    "db_password": "SECRET28",
    "nested": [{"Token": "SECRET29"}, {"credentials": {"user": "SECRET30", "number": "SECRET31"}}],
    "inputs": ["https://SECRET32@host/a", "plain"],
    "max_tokens": 5,
}
ENVIRONMENT = {
    "ROAST_SITE": "https://SECRET33:x@site.org",
    "APPTAINER_CONTAINER": "docker://u:SECRET34@registry.org/image:tag",
}
PROVENANCE = {"auth_token": "SECRET35", "repository": "https://SECRET36@git.org/analysis"}
ALL = {f"{i:02d}" for i in range(1, 47)}


class Odd:
    """Cannot be saved, and says so."""

    def __str__(self):
        raise ValueError("no answer from https://SECRET37@host/")


class Analysis(processor.ProcessorABC):
    def __init__(self, fails=False):
        self.fails = fails

    @track_metrics
    def process(self, events):
        name = events.metadata["filename"]
        chunk = getattr(self, "_roastcoffea_current_chunk", {})
        chunk["source"] = name
        chunk["auth_token"] = "SECRET38"
        chunk["settings"] = {"password": "SECRET39", "from": "https://SECRET40@host/", "n": 1}
        with track_time(self, "read https://SECRET41@host/"):
            events.event.to_numpy()
        if self.fails:
            raise RuntimeError(MESSAGE)
        return {"names": {name}, "source": {chunk.get("source", name)}, "events": len(events)}

    def postprocess(self, accumulator):
        return accumulator


# ---- a server of files ----

class Files(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_HEAD(self):
        self.answer(body=False)

    def do_GET(self):
        self.answer(body=True)

    def answer(self, body):
        path = self.server.folder / Path(urlsplit(self.path).path).name
        data = path.read_bytes() if path.exists() else b""
        size, status, more = len(data), 200 if path.exists() else 404, []
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if wanted and path.exists():
            first, last = int(wanted[1]), min(int(wanted[2] or size), size - 1)
            data, status, more = data[first : last + 1], 206, [("Content-Range", f"bytes {first}-{last}/{size}")]
        self.send_response(status)
        for header in (("Accept-Ranges", "bytes"), ("Content-Length", str(len(data))), *more):
            self.send_header(*header)
        self.end_headers()
        if body:
            self.wfile.write(data)

    def log_message(self, *args):
        pass


@pytest.fixture(scope="module")
def door(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    for i, name in enumerate(ADDRESSES):
        write_nanoaod(folder / name, 300, seed=i, branches=3)
    with ThreadingHTTPServer(("127.0.0.1", 0), Files) as server:
        server.daemon_threads, server.folder = True, folder
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def fileset_of(door, *more, dataset="data"):
    return {dataset: {"files": {address.format(door=door): "Events" for address in (*ADDRESSES.values(), *more)}}}


# ---- what is kept and shown ----

def files_in(folder, copy=None):
    """Everything on the disk; of a database also what its compressed parts hold. A run that goes on is copied first, by
    another process: a file that this one closes loses the locks of SQLite."""
    found = {}
    if copy is not None:
        subprocess.run(["cp", "-r", folder, copy], check=True)
        folder = copy
    for path in (path for path in Path(folder).rglob("*") if path.is_file()):
        found[str(path)] = path.read_bytes()
        if path.suffix == ".sqlite":
            found |= {f"{path}: {name}": data for name, data in parts_of(path)}
    return found


def parts_of(path):
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
        for (table,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            for i, row in enumerate(database.execute(f"SELECT * FROM {table}").fetchall()):
                for j, cell in enumerate(row):
                    yield f"{table} {i} {j}", unpacked(cell) if isinstance(cell, bytes) else str(cell).encode()
    database.close()


def unpacked(data):
    """What is behind the header of a compressed part."""
    at = data.find(b"\x28\xb5\x2f\xfd")
    if at < 0:
        return data
    with pyarrow.CompressedInputStream(pyarrow.BufferReader(data[at:]), "zstd") as stream:
        return stream.read()


def printed(*command):
    done = subprocess.run(command, capture_output=True, timeout=120, check=False)
    assert done.returncode in (0, 1), done.stderr.decode()
    return done.stdout + done.stderr


QUERIES = ("chunks", "sections", "reads", "attempts", "files", "notes", "meta", "metrics")
EXPORTS = (["--json"], ["--csv"], ["--csv", "--table", "sections"], ["--openmetrics", "--all", "--samples"], ["--trace"])


def shown_of(run):
    """What the program prints of a measurement."""
    shown = {"show": printed(ROAST, "show", run, "--full"), "diagnose": printed(ROAST, "diagnose", run),
             "show --json": printed(ROAST, "show", run, "--json"), "ls": printed(ROAST, "ls", Path(run).parent, "--json")}
    shown |= {f"export {options}": printed(ROAST, "export", run, *options) for options in EXPORTS}
    tables = json.loads(printed(ROAST, "sql", run, "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')", "--json"))
    names = [row["name"] for row in tables] or QUERIES
    return shown | {f"sql {name}": printed(ROAST, "sql", run, f'SELECT * FROM "{name}"', "--json") for name in names}


def pages_of(folder, name):
    """What the board answers."""
    with contextlib.closing(roastcoffea.board(folder, port=0)) as link:
        base, _, token = link.url.partition("?token=")
        found = {}
        for path in ("", f"run/{name}", f"ask/{name}", "api/runs", f"api/run/{name}", f"api/tables/{name}",
                     f"api/sql/{name}?q=SELECT+*+FROM+chunks", f"api/sql/{name}?q=SELECT+*+FROM+attempts"):
            request = urllib.request.Request(base + path, headers={"Authorization": f"token {token}"})
            with urllib.request.urlopen(request, timeout=60) as answer:
                found[path] = answer.read()
    return {f"board {path}": page for path, page in found.items()}


def seen_in(artefacts):
    """{what: the numbers of the secrets in it}"""
    found = {what: sorted({one.decode() for one in SECRET.findall(data)}) for what, data in artefacts.items()}
    return {what: numbers for what, numbers in found.items() if numbers}


def live_artefacts(cluster, mc, text):
    """Of a run that goes on."""
    page = f"http://127.0.0.1:{cluster.scheduler.http_server.port}/roast"
    found = {f"live {what}": data for what, data in files_in(mc.measurement_path, text.with_name("copy")).items()}
    for path in ("", "/metrics"):
        with urllib.request.urlopen(page + path, timeout=20) as answer:
            found[f"live page {path}"] = answer.read()
    found |= {f"live {what}": data for what, data in shown_of(mc.measurement_path).items() if "sql" not in what}
    return found | {"live text file": text.read_bytes()}


def end_artefacts(mc, text):
    path = mc.measurement_path
    printed_by_us = json.dumps([mc.notes, mc.metrics["error"], mc.metrics["skipped_files"], mc.attempts, mc.diagnose(),
                                mc.run.meta, [dict(chunk) for chunk in mc.chunk_metrics]], default=str)
    report = mc.save_report(path.parent / "report.html")
    return {
        **files_in(path), **shown_of(path), **pages_of(path.parent, path.name),
        "in memory": printed_by_us.encode(), "packed records": mc.chunk_metrics.to_bytes(),
        "report": report.read_bytes(), "text file": text.read_bytes(), "notebook": mc._repr_html_().encode(),
    }


# ---- the tests ----

@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0"
    ) as made:
        yield made
    for run in list(_exposed._runs):
        _exposed._drop(run)


def runner_of(client, **options):
    executor = processor.DaskExecutor(client=client, status=False, retries=0)
    return processor.Runner(executor=executor, schema=NanoAODSchema, chunksize=600, **options)


def test_nothing_that_is_kept_has_a_secret(cluster, door, tmp_path, monkeypatch, recwarn):
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    text = tmp_path / "run.prom"
    with distributed.Client(cluster, set_as_default=False) as client:
        with MetricsCollector(
            client, output_dir=tmp_path / "runs", measurement_name="it", config={**CONFIG, "odd": Odd()}, dashboard=True,
            provenance=PROVENANCE, textfile=text, worker_tracking_interval=0.1,
        ) as mc:
            fileset = fileset_of(door, GONE)
            out = runner_of(client, skipbadfiles=(Exception,))(fileset, processor_instance=Analysis())
            with pytest.raises(Exception, match="SECRET12"):  # the user's own is as it was
                runner_of(client)(fileset_of(door, dataset="late"), processor_instance=Analysis(fails=True))
            eventually(lambda: open_run(mc.measurement_path).run.meta.get("failed_tries"))
            eventually(lambda: len(open_run(mc.measurement_path).chunk_metrics) > len(ADDRESSES))
            artefacts = live_artefacts(cluster, mc, text)
        addresses = {address.format(door=door) for address in ADDRESSES.values()}
        assert out["names"] == out["source"] == addresses and out["events"] == 300 * len(addresses)
        artefacts |= end_artefacts(mc, text)
        artefacts["warnings"] = "\n".join(str(one.message) for one in recwarn).encode()
        found = seen_in(artefacts)
        assert not found, json.dumps(found, indent=1)
        check_what_stays(mc, door)
        check_failed_work(mc, client, door)


def check_what_stays(mc, door):
    """Which file it was, and all that is no secret."""
    names = {chunk["file"] for chunk in mc.chunk_metrics}
    assert {f"http://{door}/{i}.root" for i in (0, 1, 3, 4, 5, 7)} <= names and f"http://{door}/{HARMLESS}" in names
    assert len(names) == len(ADDRESSES) and set(mc.budget(by="file")) - {None} == names
    assert all(chunk["file_metadata"]["filename"] == chunk["file"] for chunk in mc.chunk_metrics)
    (skipped,) = mc.metrics["skipped_files"]
    assert skipped["file"] == f"http://{door}/gone.root" and "gone.root" in skipped["reason"]
    raised = [chunk for chunk in mc.chunk_metrics if chunk.get("error")]
    assert raised and all("//host//store/f.root" in chunk["error"] and "'n': 1" in chunk["error"] for chunk in raised)
    assert mc.chunk_metrics[0]["settings"] == {"password": "***", "from": "https://host/", "n": 1}
    assert mc.chunk_metrics[0]["auth_token"] == "***" and mc.chunk_metrics[0]["source"].startswith("http://127")
    assert "read https://host/" in mc.chunk_metrics[0]["timing"]
    saved = open_run(mc.measurement_path)
    assert saved.config["inputs"] == ["https://host/a", "plain"] and saved.config["max_tokens"] == 5
    assert saved.config["db_password"] == saved.config["nested"][1]["credentials"] == "***"
    assert saved.meta["site"] == "https://site.org" and saved.meta["container"] == "docker://registry.org/image:tag"
    assert saved.meta["repository"] == "https://git.org/analysis"
    assert any("odd" in note and "https://host/" in note for note in mc.notes)


def check_failed_work(mc, client, door):
    """What failed can be run again: in memory it has the addresses that the user gave."""
    failed, addresses = mc.failed_fileset(), {address.format(door=door) for address in ADDRESSES.values()}
    late = [item for item in failed if item.dataset == "late"]
    assert {item.filename for item in failed} - addresses == {GONE.format(door=door)}
    names = {item.filename for item in late}  # Dask has cancelled the others
    assert names and names <= addresses
    assert runner_of(client)(late, processor_instance=Analysis())["names"] == names


def test_failed_work_of_secret_addresses_is_found(door):
    """Records have other names of the files than the pieces of work."""
    runner = processor.Runner(
        executor=processor.IterativeExecutor(status=False), schema=NanoAODSchema, chunksize=100)
    items = list(runner.preprocess(fileset_of(door)))
    with MetricsCollector(runner.executor) as mc, pytest.raises(Exception, match="by design"):
        runner(list(items), processor_instance=FailsAt(items[4].filename, items[4].entrystart))
    failed = mc.failed_fileset()
    assert mc.run.ending["pieces"] == len(items) == 3 * len(ADDRESSES) and mc.run.ending["pieces_done"] == 4
    assert [(item.filename, item.entrystart) for item in failed] == [(items[4].filename, items[4].entrystart)]
    assert runner(failed, processor_instance=Analysis())["events"] == 100
    assert mc.outcome == "failed" and b"SECRET" not in json.dumps(mc.metrics["error"]).encode()


class FailsAt(processor.ProcessorABC):
    def __init__(self, *place):
        self.place = place

    @track_metrics
    def process(self, events):
        if (events.metadata["filename"], events.metadata["entrystart"]) == self.place:
            raise RuntimeError("by design")
        return {"events": len(events)}

    def postprocess(self, accumulator):
        return accumulator


def test_the_command_of_roast_run(tmp_path):
    printed(ROAST, "run", "--output", tmp_path, "--name", "it", "--", sys.executable, "-c", "pass", "--password", "SECRET45",
            "--input=https://u:SECRET46@host/f.root", "plain")
    artefacts = {**files_in(tmp_path / "it"), **shown_of(tmp_path / "it")}
    assert not seen_in(artefacts) and b"--password *** --input=https://host/f.root plain" in artefacts["show --json"]


def test_every_secret_is_planted():
    assert {one.decode() for one in SECRET.findall(Path(__file__).read_bytes())} == ALL
