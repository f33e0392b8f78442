"""Outputs of every kind, on every executor: the result is that of a run without us, and all chunks have a record."""

from __future__ import annotations

import dataclasses
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest
import uproot
from coffea import processor
from coffea.nanoevents import BaseSchema
from output_parts import CASES, UNMERGEABLE, EveryOrder, Returns, plain
from parsl_parts import kernel

from roastcoffea import MetricsCollector

MERGEABLE = [case for case in CASES if case[0] not in UNMERGEABLE]
FEW = ("dict", "Counter", "dict_accumulator", "defaultdict_accumulator of int", "set", "int", "hist", "merges itself")
ON_TOP = [(kind, place) for kind, place in MERGEABLE if place != "in a dict"]


@pytest.fixture(scope="module")
def items(tmp_path_factory):
    """Three pieces of work, with 3, 4 and 5 events."""
    files = {}
    for events in (3, 4, 5):
        path = tmp_path_factory.mktemp("outputs") / f"{events}.root"
        with uproot.recreate(path) as file:
            file.mktree("Events", {"x": np.dtype("f4")})
            file["Events"].extend({"x": np.arange(events, dtype="f4")})
        files[str(path)] = "Events"
    return list(runner(processor.IterativeExecutor(status=False)).preprocess({"data": {"files": files}}))


def runner(executor):
    return processor.Runner(executor, schema=BaseSchema)


def run_each(executor, items, cases):
    """{case: the result}; a dataset of a chunk is its case."""
    found = {}
    for case in cases:
        pieces = [dataclasses.replace(item, dataset=str(case)) for item in items]
        try:
            found[case] = plain(runner(executor)(pieces, Returns(*case)))
        except (AttributeError, TypeError) as error:
            found[case] = type(error), str(error)
    return found


@pytest.fixture(scope="module")
def without_us(items):
    return run_each(processor.IterativeExecutor(status=False), items, CASES)


def check(executor, items, cases, without_us, target=None):
    with MetricsCollector(target or executor, worker_tracking_interval=1000) as mc:
        found = run_each(executor, items, cases)
    assert found == {case: without_us[case] for case in cases}
    chunks = Counter(chunk["dataset"] for chunk in mc.chunk_metrics)
    assert chunks == {str(case): 3 for case in cases}
    assert all(list(chunk["timing"]) == ["all"] for chunk in mc.chunk_metrics)
    assert mc.metrics["num_successful_chunks"] == 3 * len(cases)
    assert not [note for note in mc.notes if not note.startswith("span ")]


def test_iterative(items, without_us):
    check(processor.IterativeExecutor(status=False, retries=0), items, MERGEABLE, without_us)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_order(case, items, monkeypatch):
    """Also where Coffea itself cannot merge them: the exception is the same."""
    results = []
    for _ in range(2):
        monkeypatch.setattr(EveryOrder, "found", [])
        if not results:
            found = run_each(EveryOrder(status=False, retries=0), items, [case])
        else:
            with MetricsCollector(EveryOrder(status=False), worker_tracking_interval=1000) as mc:
                found = run_each(EveryOrder(status=False, retries=0), items, [case])
        results.append((found, [plain(one["out"]) for one in EveryOrder.found[:-1]]))
    assert results[0] == results[1]
    if case[0] not in UNMERGEABLE:
        assert len(results[0][1]) == 17
    assert len(mc.chunk_metrics) == 3


@pytest.mark.parametrize("merging", [False, (1, 2, 2)])
@pytest.mark.parametrize("kind", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_futures(kind, merging, items, without_us):
    with kind(2) as pool:
        executor = processor.FuturesExecutor(pool=pool, merging=merging, status=False, retries=0)
        check(executor, items, ON_TOP, without_us)


def test_dask(client, items, without_us):
    check(processor.DaskExecutor(client=client, treereduction=2, status=False, retries=0), items, ON_TOP, without_us)


def test_parsl(tmp_path, items, without_us):
    """Records have no other way than beside the output."""
    executor = processor.ParslExecutor(status=False, retries=0)
    with kernel(tmp_path):
        check(executor, items, [(kind, "on top") for kind in FEW], without_us)
