"""What the tests of a facility have in common: a small analysis, answers of servers, and Prometheus itself."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from contextlib import contextmanager

import numpy as np
import pytest
import uproot
from coffea import processor
from coffea.nanoevents import BaseSchema
from storage_servers import LONGEST

from roastcoffea import track_metrics

EVENTS = 100


class Analysis(processor.ProcessorABC):
    """Some datasets fail."""

    @track_metrics
    def process(self, events):
        if events.metadata["dataset"].startswith("bad"):
            raise ValueError("a text that nobody else is to see")
        return {"events": len(events), "sum": int(np.sum(events.x))}

    def postprocess(self, accumulator):
        return accumulator


def write_files(folder, *datasets):
    """A fileset with one file of 100 events for each dataset."""
    made = {}
    for place, dataset in enumerate(datasets):
        path = folder / f"secret-{place}.root"
        with uproot.recreate(path) as file:
            file.mktree("Events", {"x": "i4"})
            file["Events"].extend({"x": np.arange(EVENTS, dtype="i4")})
        made[dataset] = {"files": {str(path): "Events"}}
    return made


def runner(executor):
    return processor.Runner(executor=executor, schema=BaseSchema, chunksize=50, metadata_cache={}, skipbadfiles=False)


def get(url):
    """Status, headers and text."""
    try:
        with urllib.request.urlopen(url, timeout=20) as answer:
            return answer.status, answer.headers, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read().decode()


def need(program):
    if shutil.which(program) is None:
        pytest.skip(f"there is no {program}: tools/setup.py servers installs it")


def lint(text):
    """What promtool has to say about a text; it is silent if all is well."""
    found = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, timeout=60)
    return found.stdout + found.stderr + ("" if found.returncode == 0 else f"exit {found.returncode}")


@contextmanager
def prometheus(home, port, path):
    """A server that scrapes an address of this machine; gives a function that asks it."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        own = free.getsockname()[1]
    config = home / "prometheus.yml"
    config.write_text(json.dumps({  # which is YAML as well
        "global": {"scrape_interval": "1s", "scrape_timeout": "1s"},
        "scrape_configs": [{"job_name": "dask", "metrics_path": path,
                            "static_configs": [{"targets": [f"127.0.0.1:{port}"]}]}],
    }))
    command = ["timeout", str(LONGEST), "prometheus", f"--config.file={config}", f"--storage.tsdb.path={home / 'data'}",
               f"--web.listen-address=127.0.0.1:{own}", "--log.level=error"]

    def ask(query):
        status, _, text = get(f"http://127.0.0.1:{own}/api/v1/query?{urllib.parse.urlencode({'query': query})}")
        assert status == 200, text
        return json.loads(text)["data"]["result"]

    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as server:
        try:
            until = time.monotonic() + 60
            while True:
                assert server.poll() is None and time.monotonic() < until, "prometheus does not start"
                try:
                    if get(f"http://127.0.0.1:{own}/-/ready")[0] == 200:
                        break
                except OSError:
                    pass
                time.sleep(0.1)
            yield ask
        finally:
            server.terminate()
