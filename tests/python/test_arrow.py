"""The tables of a run through the Arrow C stream interface: with pyarrow, polars, pandas, and by hand."""

from __future__ import annotations

import ctypes
import errno
import gc
import os
import threading

import pytest
from leaks import assert_nothing_is_kept
from run_samples import expected_rows, full_chunk, full_run

from roastcoffea import _core
from roastcoffea._core import ChunkLog, Run

TABLES = ("chunks", "sections", "samples", "reads")
TEXTS = {"chunks": {"dataset", "file", "uuid", "filename", "worker", "storage", "batch_job", "task_key", "error", "treename", "host"},
         "sections": {"name", "kind"}, "samples": {"worker"}, "reads": {"branch"}}


def with_nones(rows, columns):
    return [{column: row.get(column) for column in columns} for row in rows]


# ---- pyarrow ----

@pytest.fixture(scope="module")
def pa():
    return pytest.importorskip("pyarrow", minversion="15")


@pytest.mark.parametrize("name", TABLES)
def test_values_in_pyarrow(pa, name):
    run = full_run(12)
    table = getattr(run, name)
    arrow = pa.table(table)
    arrow.validate(full=True)
    expected = with_nones(expected_rows(run)[name], table.columns)
    if name == "samples":
        arrow = arrow.set_column(1, "timestamp", arrow["timestamp"].cast(pa.int64()))
    assert arrow.to_pylist() == expected


@pytest.mark.parametrize("name", TABLES)
def test_schema(pa, name):
    table = getattr(full_run(), name)
    schema = pa.schema(table)
    assert schema.names == list(table.columns)
    assert schema == pa.table(table).schema
    text = pa.dictionary(pa.int32(), pa.string())
    assert {field.name for field in schema if field.type == text} == TEXTS[name]
    others = {field.name: field.type for field in schema if field.type != text}
    if name == "samples":
        assert others.pop("timestamp") == pa.timestamp("ns", tz="UTC")
    assert set(others.values()) == {pa.int64(), pa.float64()}
    assert all(field.nullable for field in schema)


def test_integers_with_holes_stay_integers(pa):
    column = pa.table(Run(chunks=[{"bytes_read": 2**63 - 1}, {}]).chunks)["bytes_read"]
    assert column.to_pylist() == [2**63 - 1, None]
    assert column.null_count == 1


def test_batches(pa):
    table = full_run().chunks
    reader = pa.RecordBatchReader.from_stream(table)
    batches = list(reader)
    assert [batch.num_rows for batch in batches] == [10]
    assert list(reader) == []
    assert reader.schema.names == list(table.columns)


def test_no_copy(pa):
    np = pytest.importorskip("numpy")
    table = Run(chunks=[full_chunk(i) for i in range(100)]).chunks
    arrow = pa.table(table)
    for name, arrow_of in (("duration", lambda column: column), ("num_events", lambda column: column),
                           ("dataset.code", lambda column: column.indices)):
        chunk = arrow_of(arrow[name.partition(".")[0]].chunk(0))
        mine = table.column(name)
        assert chunk.buffers()[1].address == mine.__array_interface__["data"][0]
        assert np.array_equal(chunk.to_numpy(), mine)


def test_arrow_outlives_everything_else(pa):
    run = full_run()
    table = run.chunks
    expected = table.column("dataset").tolist(), table.column("chunk_id").tolist()
    arrow = pa.table(table)
    del run, table
    gc.collect()
    texts, numbers = arrow["dataset"].chunk(0), arrow["chunk_id"].chunk(0)
    del arrow
    gc.collect()
    words = texts.dictionary
    noise = [pa.table(full_run(40).chunks) for _ in range(5)]  # may take memory that was freed too early
    assert (texts.to_pylist(), numbers.to_pylist()) == expected
    assert texts.slice(4, 1).to_pylist() == [expected[0][4]]
    del texts, numbers
    gc.collect()
    assert words.to_pylist() == ["tt̄ → 2ℓ2ν", "data"]
    assert len(noise) == 5


def test_a_reader_that_is_never_read(pa):
    reader = pa.RecordBatchReader.from_stream(full_run().chunks)
    assert reader.schema.names[0] == "t_start"
    del reader
    gc.collect()


def test_a_capsule_can_be_used_once(pa):
    capsule = full_run().chunks.__arrow_c_stream__()
    reader = pa.RecordBatchReader._import_from_c_capsule(capsule)
    with pytest.raises(ValueError, match="released"):
        pa.RecordBatchReader._import_from_c_capsule(capsule)
    del capsule
    gc.collect()
    assert reader.read_all().num_rows == 10


def test_requested_schema(pa):
    table = full_run().reads
    schema = pa.schema(table)
    again = table.__arrow_c_stream__(schema.__arrow_c_schema__())
    assert pa.RecordBatchReader._import_from_c_capsule(again).schema == schema
    assert table.__arrow_c_stream__(requested_schema=None) is not None
    wider = pa.schema([(name, pa.string()) for name in table.columns])  # not ours: the consumer casts
    ours = table.__arrow_c_stream__(requested_schema=wider.__arrow_c_schema__())
    assert pa.RecordBatchReader._import_from_c_capsule(ours).schema == schema
    with pytest.raises(ValueError, match="1 columns, but the table of reads has 6"):
        table.__arrow_c_stream__(pa.schema([("a", pa.int64())]).__arrow_c_schema__())
    with pytest.raises(ValueError, match="no schema of a table"):
        table.__arrow_c_stream__(pa.int64().__arrow_c_schema__())
    used = schema.__arrow_c_schema__()
    pa.Schema._import_from_c_capsule(used)
    with pytest.raises(ValueError, match="no schema of a table"):
        table.__arrow_c_stream__(used)
    for wrong in (3, "x", again):
        with pytest.raises(TypeError, match="None or a capsule 'arrow_schema'"):
            table.__arrow_c_stream__(wrong)


def test_cast_on_the_way(pa):
    table = Run(chunks=[full_chunk()]).reads
    target = pa.schema([(name, pa.string() if name == "branch" else pa.float64())
                        for name in table.columns])
    arrow = pa.table(table).cast(target)
    assert arrow["branch"].to_pylist() == ["Jet_pt", "Élan"]


@pytest.mark.parametrize("name", TABLES)
def test_empty_in_pyarrow(pa, name):
    table = getattr(Run(), name)
    arrow = pa.table(table)
    arrow.validate(full=True)
    assert (arrow.num_rows, arrow.column_names) == (0, list(table.columns))


def test_nothing_known_in_pyarrow(pa):
    table = Run(chunks=[{}] * 9).chunks
    arrow = pa.table(table)
    arrow.validate(full=True)
    assert arrow["dataset"].to_pylist() == [None] * 9
    assert arrow["duration"].to_pylist() == [None] * 9
    assert arrow["chunk_id"].to_pylist() == list(range(9))


def test_many_threads(pa):
    table = full_run(200).chunks
    expected = table.column("task_key").tolist()
    seen = []

    def read():
        for _ in range(20):
            seen.append(pa.table(table)["task_key"].to_pylist() == expected)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [True] * 80


# ---- polars and pandas ----

@pytest.fixture(scope="module")
def pl():
    return pytest.importorskip("polars", minversion="1")


@pytest.mark.parametrize("name", TABLES)
def test_values_in_polars(pl, name):
    run = full_run(12)
    table = getattr(run, name)
    frame = pl.DataFrame(table)
    expected = with_nones(expected_rows(run)[name], table.columns)
    if name == "samples":
        assert frame.schema["timestamp"] == pl.Datetime("ns", "UTC")
        frame = frame.with_columns(pl.col("timestamp").cast(pl.Int64))
    assert frame.to_dicts() == expected
    assert set(frame.select(pl.col(pl.Categorical)).columns) == TEXTS[name]


def test_polars_can_work_with_it(pl):
    frame = pl.from_arrow(full_run(40).chunks)
    if isinstance(frame, pl.Series):  # what newer versions make of any stream that is not pyarrow's
        frame = frame.struct.unnest()
    by_dataset = dict(frame.filter(pl.col("dataset").is_not_null()).group_by("dataset").agg(
        pl.col("num_events").sum()).iter_rows())
    assert by_dataset == {"tt̄ → 2ℓ2ν": sum(1000 + i for i in range(0, 40, 4)),
                          "data": sum(range(1, 40, 4))}
    gc.collect()
    assert frame["task_key"].cast(pl.String).null_count() == 30


@pytest.mark.parametrize("name", TABLES)
def test_empty_in_polars(pl, name):
    table = getattr(Run(), name)
    frame = pl.DataFrame(table)
    assert (frame.height, frame.columns) == (0, list(table.columns))


def test_nothing_known_in_polars(pl):
    frame = pl.DataFrame(Run(chunks=[{}] * 9).chunks)
    assert frame["dataset"].to_list() == [None] * 9
    assert frame["dataset"].cast(pl.String).to_list() == [None] * 9
    assert frame["bytes_read"].to_list() == [None] * 9


def test_pandas(pa):
    pytest.importorskip("pandas")
    run = full_run(12)
    frame = pa.table(run.chunks).to_pandas()
    assert frame["num_events"].sum() == sum(chunk["num_events"] or 0 for chunk in run.chunk_log)
    assert frame["dataset"].isna().tolist() == [chunk["dataset"] is None for chunk in run.chunk_log]
    assert frame.groupby("dataset", observed=True).size().to_dict() == {"tt̄ → 2ℓ2ν": 3, "data": 3}


# ---- by hand: a consumer that does everything the interface allows ----

class Schema(ctypes.Structure):
    pass


Schema._fields_ = [
    ("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_char_p),
    ("flags", ctypes.c_int64), ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(Schema))), ("dictionary", ctypes.POINTER(Schema)),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(Schema))), ("private_data", ctypes.c_void_p)]


class Array(ctypes.Structure):
    pass


Array._fields_ = [
    ("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64), ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)), ("children", ctypes.POINTER(ctypes.POINTER(Array))),
    ("dictionary", ctypes.POINTER(Array)), ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(Array))),
    ("private_data", ctypes.c_void_p)]


class Stream(ctypes.Structure):
    pass


Stream._fields_ = [
    ("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Stream), ctypes.POINTER(Schema))),
    ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Stream), ctypes.POINTER(Array))),
    ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.POINTER(Stream))),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(Stream))), ("private_data", ctypes.c_void_p)]


def moved(struct):
    """The contents in a struct of their own; the old one counts as released."""
    copy = type(struct).from_buffer_copy(struct)
    struct.release = type(struct.release)()
    return copy


def release(struct):
    assert struct.release
    struct.release(ctypes.byref(struct))
    assert not struct.release


def stream_of(table):
    """The stream out of its capsule, which is gone."""
    capsule = table.__arrow_c_stream__()
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return moved(Stream.from_address(get(capsule, b"arrow_array_stream")))


def schema_of(stream):
    schema = Schema()
    assert stream.get_schema(ctypes.byref(stream), ctypes.byref(schema)) == 0
    return schema


def next_of(stream):
    array = Array()
    assert stream.get_next(ctypes.byref(stream), ctypes.byref(array)) == 0
    return array


def numbers(array, kind=ctypes.c_int64):
    return list((kind * array.length).from_address(array.buffers[1]))


def texts(array):
    """Of a column of texts without holes."""
    words = array.dictionary.contents
    offsets = (ctypes.c_int32 * (words.length + 1)).from_address(words.buffers[1])
    data = ctypes.string_at(words.buffers[2], offsets[words.length])
    every = [data[start:stop].decode() for start, stop in zip(offsets, offsets[1:])]
    return [every[code] for code in numbers(array, ctypes.c_int32)]


def full_table(n=20):
    return Run(chunks=[full_chunk(i) for i in range(n)]).chunks


def test_the_stream_ends_with_a_released_array():
    stream = stream_of(full_table())
    array = next_of(stream)
    assert (array.length, array.null_count, array.offset, array.n_buffers) == (20, 0, 0, 1)
    for _ in range(3):
        assert not next_of(stream).release
    assert stream.get_last_error(ctypes.byref(stream)) is None
    release(array)
    release(stream)


def test_a_stream_goes_before_what_came_out_of_it():
    table = full_table()
    names, files = list(table.columns), table.column("file").tolist()
    stream = stream_of(table)
    schema, array = schema_of(stream), next_of(stream)
    release(stream)
    del table
    gc.collect()
    assert [schema.children[i].contents.name.decode() for i in range(schema.n_children)] == names
    assert array.n_children == schema.n_children
    at = names.index("file")
    assert schema.children[at].contents.format == b"i"
    assert schema.children[at].contents.dictionary.contents.format == b"u"
    assert texts(array.children[at].contents) == files
    release(schema)
    release(array)


def test_children_that_are_taken_out():
    """Of arrays and schemas, released after their parent, and in any order."""
    table = full_table()
    names = list(table.columns)
    files, ids = table.column("file").tolist(), table.column("chunk_id").tolist()
    stream = stream_of(table)
    array, schema = next_of(stream), schema_of(stream)
    del table
    release(stream)
    at, other = names.index("file"), names.index("chunk_id")
    text, number = moved(array.children[at].contents), moved(array.children[other].contents)
    field = moved(schema.children[at].contents)
    release(array)
    release(schema)
    gc.collect()
    noise = [full_table(60) for _ in range(5)]
    assert texts(text) == files
    assert numbers(number) == ids
    assert (field.name, field.dictionary.contents.format) == (b"file", b"u")
    twice = moved(moved(text))
    words = moved(twice.dictionary.contents)  # even the texts alone
    release(twice)
    assert ctypes.string_at(words.buffers[2], 4) == b"root"
    release(number)
    release(field)
    release(words)
    assert len(noise) == 5


def test_release_in_another_thread():
    arrays = []
    for _ in range(50):
        stream = stream_of(full_table(5))
        arrays.append(next_of(stream))
        release(stream)
    threads = [threading.Thread(target=lambda part=arrays[i::4]: [release(array) for array in part])
               for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not any(array.release for array in arrays)


def test_memory_that_runs_short_inside_the_stream():
    stream = stream_of(full_table())
    for ask, struct in ((stream.get_schema, Schema), (stream.get_next, Array)):
        failures = 0
        while True:
            out = struct()
            _core._fail_allocations(failures)
            try:
                code = ask(ctypes.byref(stream), ctypes.byref(out))
            finally:
                _core._fail_allocations(None)
            if code == 0:
                break
            assert code == errno.ENOMEM
            assert not out.release
            assert b"no memory" in stream.get_last_error(ctypes.byref(stream))
            failures += 1
        assert failures > 9
        assert stream.get_last_error(ctypes.byref(stream)) is None
        assert out.n_children == len(full_table().columns)
        release(out)
    release(stream)


# ---- leaks ----

LOG = ChunkLog([full_chunk(i) for i in range(200)])


def exercise():
    for table in (Run(chunks=LOG).chunks, Run().samples):
        stream = stream_of(table)
        schema, array, end = schema_of(stream), next_of(stream), next_of(stream)
        child = moved(array.children[0].contents)
        release(array)
        release(child)
        release(stream)
        release(schema)
        assert not end.release
        table.__arrow_c_stream__(), table.__arrow_c_schema__()


@pytest.mark.skipif("asan" in os.environ.get("LD_PRELOAD", ""), reason="the sanitizers keep what is freed")
def test_nothing_leaks():
    assert_nothing_is_kept(exercise, 100, megabytes=5)
