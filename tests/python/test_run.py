"""Run: what goes in, what comes out, and its tables as numpy arrays that share the engine's memory."""

from __future__ import annotations

import gc
import io
import math
import os
import subprocess
import sys
import weakref

import pytest
from leaks import assert_nothing_is_kept
from run_samples import crc32c, expected_rows, full_chunk, full_run, mixed_log, sample_series
from samples import make_log

from roastcoffea import _core
from roastcoffea._core import ChunkLog, Column, Run, Table, WorkerSeries

np = pytest.importorskip("numpy")

TABLES = ("chunks", "sections", "samples", "reads")


def as_python(value):
    """A cell of an array as a mapping would have it."""
    if isinstance(value, float) and math.isnan(value):
        return None
    return value


def cells(table, name):
    return [as_python(value) for value in table.column(name).tolist()]


# ---- the tables ----

@pytest.mark.parametrize("name", TABLES)
def test_values_are_those_of_the_mappings(name):
    run = full_run(12)
    table, expected = getattr(run, name), expected_rows(run)[name]
    assert isinstance(table, Table)
    assert len(table) == len(expected) > 3
    assert {key for row in expected for key in row} == set(table.columns)
    for column in table.columns:
        assert cells(table, column) == [row.get(column) for row in expected], column


def test_every_key_of_a_chunk_that_is_one_value_is_a_column():
    log = ChunkLog([full_chunk()])
    plain = [key for key, value in log[0].items() if not isinstance(value, (list, dict))]
    assert list(Run(chunks=log).chunks.columns) == plain
    assert {"duration", "t_start", "num_events", "dataset", "file", "cpu_user_s", "error"} <= set(plain)


def test_chunks_that_were_really_measured():
    log = make_log(20)
    table = Run(chunks=log).chunks
    for column in table.columns:
        assert cells(table, column) == [chunk.get(column) for chunk in log], column
    assert table.column("num_events").sum() == sum(chunk["num_events"] for chunk in log)


def test_sections_that_were_really_measured():
    log = make_log(5)
    table = Run(chunks=log).sections
    timed = table.column("kind") == "time"
    for name in ("time_delta", "start", "depth", "count"):
        assert list(table.column(name)[timed]) == [
            section[name] for chunk in log for section in chunk["sections"]]
    inner = table.column("name") == "inner"
    parents = table.column("parent")[inner].astype(int)
    assert set(table.column("name")[parents]) == {"selection"}
    assert list(table.column("chunk")[parents]) == list(table.column("chunk")[inner]) == [0, 1, 2, 3, 4]


def test_types():
    table = Run(chunks=[full_chunk(1), full_chunk(2)]).chunks
    assert table.column("num_events").dtype == np.int64
    assert table.column("duration").dtype == np.float64
    assert table.column("dataset.code").dtype == np.int32
    assert table.column("dataset").dtype == object
    holes = Run(chunks=[full_chunk(), {}]).chunks
    assert holes.column("num_events").dtype == np.float64  # numpy knows no absent integers
    assert np.isnan(holes.column("num_events")).tolist() == [False, True]
    assert full_run().samples.column("timestamp").dtype == np.int64
    assert full_run().samples.column("memory").dtype == np.int64
    assert full_run().samples.column("cpu").dtype == np.float64


def test_large_integers_are_exact():
    table = Run(chunks=[{"bytes_read": 2**63 - 1}, {"bytes_read": 2**53 + 1}]).chunks
    assert table.column("bytes_read").tolist() == [2**63 - 1, 2**53 + 1]


def test_texts():
    run = Run(chunks=[{"dataset": "b"}, {"dataset": ""}, {}, {"dataset": "Größe 😀"}, {"dataset": "b"}])
    table = run.chunks
    assert table.column("dataset").tolist() == ["b", "", None, "Größe 😀", "b"]
    assert table.column("dataset.code").tolist() == [0, 1, -1, 2, 0]
    assert table.categories("dataset") == ["b", "", "Größe 😀"]
    assert table.categories("dataset.code") == table.categories("dataset")
    assert table.categories("error") == []
    assert table.column("dataset") is table.column("dataset")  # made once
    assert not table.column("dataset").flags.writeable


def test_broken_text_is_what_the_mapping_shows():
    packed = ChunkLog([{"dataset": "abcdefgh"}, {"dataset": "fine"}]).to_bytes()
    broken = packed.replace(b"abcdefgh", b"a\xffc\xe2\x89fg\xf0")
    with pytest.raises(ValueError, match="checksum"):
        ChunkLog.from_bytes(broken)
    log = ChunkLog.from_bytes(broken[:-4] + crc32c(broken[:-4]).to_bytes(4, "little"))
    table = Run(chunks=log).chunks
    assert table.column("dataset").tolist() == [chunk["dataset"] for chunk in log] == [
        b"a\xffc\xe2\x89fg\xf0".decode("utf-8", "replace"), "fine"]


def test_unknown_columns():
    table = full_run().chunks
    with pytest.raises(KeyError, match=r"table of chunks has no column 'durations'; is it 'duration'\?"):
        table.column("durations")
    with pytest.raises(KeyError, match="has no column 'xyzzyxyzzy'"):
        table.column("xyzzyxyzzy")
    with pytest.raises(KeyError, match="has no column ''"):
        table.column("")
    with pytest.raises(KeyError, match="'duration' of the table of chunks holds numbers"):
        table.column("duration.code")
    with pytest.raises(KeyError, match="holds numbers: it has no categories"):
        table.categories("duration")
    with pytest.raises(KeyError, match="has no column 'timing'"):
        table.column("timing")
    with pytest.raises(TypeError, match="name of a column is a str, not int"):
        table.column(3)
    with pytest.raises(UnicodeEncodeError):
        table.column("\ud800")


def test_a_run_without_anything():
    run = Run()
    for name in TABLES:
        table = getattr(run, name)
        assert len(table) == 0
        assert repr(table).startswith(f"<Table {name}: 0 rows, ")
        for column in table.columns:
            assert table.column(column).shape == (0,)
    assert (run.report, run.t_start, run.t_end, run.processor_name, run.meta, run.spans, run.series) == (
        {}, None, None, None, {}, {}, None)
    assert run.chunk_log == []
    assert all(not value for value in run.metrics().values())


def test_many_chunks():
    log = ChunkLog([{"duration": 0.5, "num_events": 10, "dataset": f"d{i % 5}", "task_key": f"key-{i}"}
                    for i in range(1000)])
    while len(log) < 100_000:
        log += log
    table = Run(chunks=log).chunks
    assert len(table) == len(log) == 128_000
    assert table.column("num_events").sum() == 10 * len(log)
    assert np.bincount(table.column("dataset.code")).tolist() == [len(log) // 5] * 5
    assert len(table.categories("task_key")) == 1000
    assert (table.column("chunk_id") == np.arange(len(log))).all()
    assert table.column("dataset")[-1] == "d4"


# ---- the memory ----

def address(array):
    return array.__array_interface__["data"][0]


def test_arrays_share_the_engines_memory():
    table = full_run().chunks
    for name in ("duration", "num_events", "dataset.code"):  # with holes, too
        one, two = table.column(name), table.column(name)
        assert one is not two
        assert address(one) == address(two)
        assert np.shares_memory(one, two)
        assert isinstance(one.base.obj, Column)
    # a second name of the same thing is the same memory
    assert address(table.column("duration")) == address(table.column("processing_time"))


def test_arrays_are_read_only():
    array = full_run().chunks.column("duration")
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1
    with pytest.raises(ValueError, match="WRITEABLE"):
        array.setflags(write=True)
    view = memoryview(array.base.obj)
    assert (view.readonly, view.format, view.itemsize, view.shape, view.strides) == (
        True, "d", 8, (10,), (8,))
    assert len(array.base.obj) == 10
    assert view.tolist() == pytest.approx(array.tolist(), nan_ok=True)
    with pytest.raises(TypeError, match="read-only"):
        view[0] = 1.0
    with pytest.raises(TypeError, match="read-write"):
        io.BytesIO(b"x" * 80).readinto(array.base.obj)


def test_a_view_outlives_everything_else():
    run = full_run()
    expected = {name: run.chunks.column(name).tolist() for name in ("duration", "num_events", "chunk_id")}
    table = run.chunks
    del run
    gc.collect()
    views = {name: table.column(name) for name in expected}
    part = table.column("chunk_id")[3:6]
    del table
    gc.collect()
    noise = [full_run(40).chunks for _ in range(5)]  # something else that may take freed memory
    for name, values in expected.items():
        assert [repr(value) for value in views[name].tolist()] == [repr(value) for value in values]
    assert part.tolist() == [3, 4, 5]
    assert len(noise) == 5


def test_later_changes_do_not_enter():
    log = mixed_log(8)
    run = Run(chunks=log)
    log += mixed_log(3)
    log.append({"duration": 1.0})
    log[0]["dataset"] = "other"
    del log[2:5]
    assert len(run.chunks) == 8
    public = run.chunk_log
    assert public is run.chunk_log
    assert len(public) == 8
    public[0]["dataset"] = "other"
    public.clear()
    del log, public
    gc.collect()
    assert len(Run(chunks=run.chunk_log).chunks) == 0
    assert run.sections.column("chunk").tolist() == [0] * 6 + [4] * 6
    assert run.chunks.column("dataset")[0] == "tt̄ → 2ℓ2ν"


def test_changes_before_do_enter():
    log = mixed_log(4)
    log[0]["dataset"] = "other"
    assert Run(chunks=log).chunks.column("dataset").tolist() == ["other", "data", None, None]
    log.insert(0, {"dataset": "first"})
    assert Run(chunks=log).chunks.column("dataset").tolist() == ["first", "other", "data", None, None]


def test_tables_are_made_once():
    run = full_run()
    for name in TABLES:
        assert getattr(run, name) is getattr(run, name)
    assert run.chunks.nbytes > 10 * 30 * 8


def test_a_run_in_a_circle_is_collected():
    class Probe:
        pass

    probe = Probe()
    seen = weakref.ref(probe)
    run = full_run()
    run.chunk_log[0]["me"] = [run, probe]
    del run, probe
    gc.collect()
    assert seen() is None


# ---- what else a run is ----

def test_attributes():
    run = full_run()
    assert run.report == {"entries": 4000, "bytesread": 50_000_000, "processtime": 40.5, "chunks": 10,
                          "columns": ["Jet_pt-data"]}
    assert (run.t_start, run.t_end, run.processor_name) == (100.0, 110.5, "Processor")
    assert run.meta == {"executor": "DaskExecutor", "wörd": "ünïcode"}
    assert run.spans == {("execute", "Processor", "thread-cpu", "seconds"): 12.5,
                         ("gather-dep", "network", "seconds"): 0.25}
    assert [dict(chunk) for chunk in run.chunk_log] == [dict(chunk) for chunk in mixed_log()]
    assert isinstance(run.series, WorkerSeries)
    assert repr(run) == "<Run: 10 chunks, 2 workers, 4 samples>"
    assert repr(run.reads).startswith("<Table reads: 6 rows, 6 columns>\n")


def test_notes_and_replayed_chunks():
    run = Run(notes=["no spans", "Größe 😀", "no spans"], replayed=7)
    assert run.notes == ["no spans", "Größe 😀"]
    assert run.replayed == 7
    with pytest.raises(TypeError, match="notes: a str is expected, not int"):
        Run(notes=[3])


def test_host():
    described = _core.describe_host()
    assert described["host"] == os.uname().nodename
    assert described["kernel"] == f"{os.uname().sysname} {os.uname().release}"
    assert int(described["cores"]) == os.cpu_count()
    assert int(described["memory_bytes"]) == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGESIZE")


def test_custom_metrics_stand_instead_of_the_report():
    run = Run(report={"entries": 1, "processtime": 2.0},
              custom_metrics={"a": {"entries": 10, "performance_counters": {"num_requested_bytes": 5}}})
    assert run.report == {"entries": 10, "bytesread": 5, "processtime": 2.0}


def test_metrics_of_a_run():
    metrics = full_run().metrics()
    assert metrics["wall_time"] == 10.5
    assert metrics["sections"]["by hand"]["total_duration"] == 2.0
    assert metrics["per_dataset"] == _core.chunk_metrics(mixed_log())["per_dataset"]
    assert metrics["file_read_metrics"] == _core.file_metrics(mixed_log(), full_run().report)["file_read_metrics"]


def test_one_table_of_the_metrics():
    run = full_run()
    whole = run.metrics()
    for table in ("file_metadata", "file_read_metrics", "worker_health"):
        assert run.metrics_table(table) == whole[table] != {}
    for table in ("file_read_metrics", "worker_health"):
        name = next(reversed(whole[table]))
        assert run.metrics_table(table, [name, "none"]) == {name: whole[table][name]}
        assert run.metrics_table(table, ()) == {}
    with pytest.raises(ValueError, match="no such table: sections"):
        run.metrics_table("sections")
    for wrong in (("worker_health", 3), ("worker_health", [[]]), (3,)):
        with pytest.raises(TypeError):
            run.metrics_table(*wrong)


def test_the_series_is_the_one_that_was_given_as_it_was_then():
    series = sample_series()
    data = series.to_bytes()
    run = Run(series=series)
    series.join("tcp://late:1")
    assert run.series.to_bytes() == data != series.to_bytes()


def test_tracking_data_instead_of_a_series():
    series = sample_series()
    data = series.as_tracking_data()
    run = Run(series=data, t_start=0, t_end=1)
    assert run.series.as_tracking_data() == data
    assert expected_rows(run)["samples"] == expected_rows(Run(series=series))["samples"]
    assert cells(run.samples, "memory") == cells(Run(series=series).samples, "memory")
    assert run.metrics() == Run(series=series, t_start=0, t_end=1).metrics()


@pytest.mark.parametrize(("arguments", "error", "message"), [
    ({"chunks": 3}, TypeError, "not iterable"),
    ({"chunks": [3]}, TypeError, "a chunk is a mapping"),
    ({"chunks": [{"duration": "x"}]}, TypeError, "real number"),
    ({"series": 3}, TypeError, "tracking_data: a mapping is expected"),
    ({"report": 3}, TypeError, "coffea_report: a mapping is expected"),
    ({"spans": 3}, TypeError, "span_metrics: a mapping is expected"),
    ({"t_start": "x", "t_end": 1}, TypeError, "t_start: a number is expected"),
    ({"processor_name": 3}, TypeError, "processor_name: a str is expected"),
    ({"section_metrics": [3]}, TypeError, "section_metrics"),
    ({"custom_metrics": 3}, TypeError, "custom_metrics: a mapping"),
    ({"meta": 3}, TypeError, "meta: a mapping is expected"),
    ({"meta": {"a": 3}}, TypeError, "meta: a str is expected, not int"),
    ({"meta": {3: "a"}}, TypeError, "meta: a str is expected, not int"),
    ({"nonsense": 3}, TypeError, "nonsense"),
])
def test_wrong_arguments(arguments, error, message):
    with pytest.raises(error, match=message):
        Run(**arguments)


def test_only_a_run_makes_tables():
    with pytest.raises(TypeError):
        Run(mixed_log())
    for made_by_run in (Table, Column):
        with pytest.raises(TypeError, match="cannot create"):
            made_by_run()


# ---- without numpy ----

def in_fresh_python(code):
    result = subprocess.run([sys.executable, "-c", code], env=os.environ, capture_output=True, text=True,
                            check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_numpy_is_imported_by_column_alone():
    assert in_fresh_python("""
import sys
from roastcoffea._core import Run
table = Run(chunks=[{"duration": 1.5}]).chunks
table.columns, len(table), table.categories("dataset"), table.__arrow_c_stream__()
before = "numpy" in sys.modules
table.column("duration")
print(before, "numpy" in sys.modules)
""") == "False True\n"


def test_without_numpy():
    assert in_fresh_python("""
import sys
sys.modules["numpy"] = None
from roastcoffea._core import Run
chunks = [{"duration": 1.5, "dataset": "a", "num_events": 3}, {"duration": 2.5, "num_events": 4}]
table = Run(chunks=chunks).chunks
duration = table.column("duration")
print(type(duration).__name__, duration.tolist(), duration.readonly, table.column("num_events").tolist())
print(table.column("dataset"), table.column("dataset.code").tolist())
""") == "memoryview [1.5, 2.5] True [3, 4]\n('a', None) [0, -1]\n"


# ---- memory that leaks, or runs short ----

def exercise():
    run = full_run(8)
    for name in TABLES:
        table = getattr(run, name)
        for column in table.columns:
            table.column(column)
        repr(table), table.nbytes, len(table)
        table.__arrow_c_stream__(), table.__arrow_c_schema__()
    table = run.chunks
    table.column("dataset.code"), table.categories("dataset"), memoryview(table.column("duration").base.obj)
    _ = (run.report, run.t_start, run.t_end, run.processor_name, run.meta, run.chunk_log, run.series,
         run.notes, run.replayed, _core.describe_host(), run.spans, run.metrics(), repr(run),
         run.metrics_table("file_read_metrics", ["a"]), run.metrics_table("worker_health"))
    for refused in (lambda: table.column("x"), lambda: table.column("duration.code"),
                    lambda: table.categories("duration"), lambda: table.column(3), lambda: Run(chunks=[3]),
                    lambda: Run(chunks=mixed_log(), meta={"a": 1}), lambda: Run(series=3)):
        try:
            refused()
        except (TypeError, KeyError):
            pass
        else:
            raise AssertionError("was taken")


@pytest.mark.skipif("asan" in os.environ.get("LD_PRELOAD", ""), reason="the sanitizers keep what is freed")
def test_nothing_leaks():
    assert_nothing_is_kept(exercise, 100, megabytes=5)


def test_every_failing_allocation():
    """Memory that runs short anywhere is a MemoryError, and the next try works."""
    log, series = mixed_log(6), sample_series()
    run = full_run(6)
    calls = [
        lambda: Run(chunks=log, series=series, meta={"a": "b"}, spans={("execute", "P", "a", "s"): 1.0}),
        lambda: Run(chunks=log).chunks.column("num_events"),
        lambda: Run(chunks=log).sections,
        lambda: Run(chunks=log).reads,
        lambda: Run(series=series).samples.column("memory"),
        lambda: run.chunks.__arrow_c_stream__(),
        lambda: run.chunks.__arrow_c_schema__(),
        lambda: Run(chunks=log, series=series).metrics(),
        lambda: Run(chunks=log, series=series, t_start=0, t_end=1).diagnose(),
        lambda: Run(notes=["a", "b"]),
        lambda: _core.describe_host(),
    ]
    for call in calls:
        call()
        failures = 0
        for after in range(10_000):
            _core._fail_allocations(after)
            try:
                call()
            except MemoryError:
                failures += 1
            else:
                break
            finally:
                _core._fail_allocations(None)
        assert 0 < failures < 10_000
