"""The dashboard for Grafana asks for metrics that exist."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from report_samples import usual

from roastcoffea import MetricsCollector
from roastcoffea._core import ChunkLog, Tally, prometheus_live

DASHBOARD = Path(__file__).parents[2] / "examples" / "grafana.json"
GAUGES = ("run_open", "run_start_time", "workers", "threads", "tasks", "memory", "memory_limit")


def queries(part: Any) -> Iterator[str]:
    """Every text that Grafana sends to Prometheus."""
    for key, value in part.items() if isinstance(part, dict) else enumerate(part):
        if key in ("expr", "definition") or (key == "query" and isinstance(value, str) and "(" in value):
            yield value
        elif isinstance(value, dict | list):
            yield from queries(value)


@pytest.fixture(scope="module")
def exposed() -> set[str]:
    """The names of all samples of a run, while it goes on and when it has ended."""
    tally = Tally()
    tally.add(ChunkLog([{"dataset": "a", "num_events": 1, "bytes_read": 1, "duration": 1.0}]))
    with MetricsCollector() as mc:  # which has a budget
        pass
    text = prometheus_live([{"run": "r", "tally": tally, **dict.fromkeys(GAUGES, 1)}])
    text += usual().run.prometheus("r") + mc.run.prometheus("r")
    return {re.split(r"[ {]", line)[0] for line in text.splitlines() if not line.startswith("#")}


def test_every_query_names_a_metric_that_exists(exposed):
    dashboard = json.loads(DASHBOARD.read_text())
    found = list(queries(dashboard))
    assert len(found) > 15
    for query in found:
        bare = re.sub(r'"[^"]*"', "", query)
        names = set(re.findall(r"[a-z_]+(?=\{)", bare)) | set(re.findall(r"\broast_\w+", bare))
        assert names and names <= exposed, query
        assert query.count("(") == query.count(")") and query.count("{") == query.count("}")


def test_panels_stand_apart():
    panels = json.loads(DASHBOARD.read_text())["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    cells = [(panel["gridPos"]["x"] + x, panel["gridPos"]["y"] + y) for panel in panels
             for x in range(panel["gridPos"]["w"]) for y in range(panel["gridPos"]["h"])]
    assert len(cells) == len(set(cells)) and max(x for x, _ in cells) < 24


def test_the_clusters_of_a_facility_are_added_up():
    """Runs of one cluster say the same of it; two schedulers have two clusters."""
    for query in queries(json.loads(DASHBOARD.read_text())):
        if "roast_cluster_" in query:
            assert query.startswith("sum(max by (instance) (roast_cluster_"), query
