"""The reader that stands on a mapping while process() runs, and what is kept of files: on stand-ins."""

from __future__ import annotations

import copy
import itertools
import pickle
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from leaks import assert_nothing_is_kept
from samples import Events, forks

from roastcoffea import track_metrics
from roastcoffea.worker import file_sizes
from roastcoffea._core import ColumnReader, _fail_allocations, faults

KEY = "__roastcoffea_metrics__"
numbers = itertools.count()


@pytest.fixture
def no_faults():
    before = faults()["count"]
    yield
    assert faults()["count"] == before, faults()


class Model:
    """An object as uproot reads it from a file."""

    def __init__(self, **members):
        self.members = members

    def member(self, name):
        return self.members[name]


class Column(Model):
    def __init__(self, name, bytes=0, uncompressed=0, inside=()):
        super().__init__(fName=name, fZipBytes=bytes, fTotBytes=uncompressed, fBranches=list(inside))
        self.name = name


class Tree(Model):
    def __init__(self, *columns, bytes=1000, uncompressed=3000):
        super().__init__(fZipBytes=bytes, fTotBytes=uncompressed, fEntries=10, fBranches=list(columns))


class Mapping:
    """The mapping between a file's columns and the events, as far as it is looked at."""

    _virtual = True

    def __init__(self, tree=None):
        self._access_log = []
        self._cache = {"Mapping:uuid/Events": tree}
        self.source = SimpleNamespace(num_requested_bytes=100, num_requests=1)

    def key_root(self):
        return "Mapping:"

    def read(self, name, size=10, **options):
        self._access_log.append(SimpleNamespace(branch=name))
        return self.extract_column(Column(name.split("/")[-1]), size, **options)

    def extract_column(self, handle, size, *, result=None, error=None):
        self.source.num_requested_bytes += size
        if error is not None:
            raise error
        return result if result is not None else SimpleNamespace(nbytes=3 * size)


def events_on(mapping, **metadata):
    events = Events(**{"filename": f"file-{next(numbers)}.root", **metadata})
    events.attrs = {
        "@events_factory": SimpleNamespace(
            _mapping=mapping, access_log=getattr(mapping, "_access_log", None),
            _partition_key="uuid/Events/0-3",
            file_handle=SimpleNamespace(source=getattr(mapping, "source", None)),
        )
    }
    return events


class Plain:
    _roastcoffea_collect_metrics = True

    def __init__(self, body):
        self.body = body

    @track_metrics
    def process(self, events):
        self.body()
        return {}


def process(body, events):
    (chunk,) = Plain(body).process(events)[KEY]
    return chunk


def reads_of(body, mapping):
    return process(body, events_on(mapping))["reads"]


# ---- transparent ----


def test_it_stands_there_only_while_process_runs():
    mapping = Mapping()

    def body():
        assert type(vars(mapping)["extract_column"]) is ColumnReader
        assert mapping.extract_column.__name__ == "extract_column"
        assert mapping.extract_column.__self__ is mapping
        assert "extract_column" not in vars(Mapping()), "the class is left alone"
        mapping.read("pt", 7)
        mapping.read("pt", 5)
        mapping.read("eta", 0)

    chunk = process(body, events_on(mapping))
    assert "extract_column" not in vars(mapping)
    assert chunk["accessed_branches"] == ["pt", "eta"]
    reads = chunk["reads"]
    assert all(read.pop("seconds") >= 0 for read in reads.values())
    assert reads == {
        "pt": {"bytes": 12, "uncompressed_bytes": 36, "count": 2},
        "eta": {"bytes": 0, "uncompressed_bytes": 0, "count": 1},
    }
    assert chunk["metadata_bytes"] == 100
    assert chunk["bytes_read"] == 112


def test_arguments_result_and_exception_pass(no_faults):
    mapping = Mapping()
    result, error = object(), KeyError("theirs")

    def body():
        assert mapping.read("a", 1, result=result) is result
        with pytest.raises(KeyError) as caught:
            mapping.read("b", 2, error=error)
        assert caught.value is error
        with pytest.raises(TypeError, match="unexpected keyword argument 'wrong'"):
            mapping.read("c", 3, wrong=1)
        with pytest.raises(TypeError, match="required positional argument"):
            mapping.extract_column()

    reads = reads_of(body, mapping)
    assert reads["a"]["bytes"] == 1
    assert reads["a"]["uncompressed_bytes"] is None
    assert reads["b"]["bytes"] == 2


def test_it_is_taken_off_when_process_raises():
    mapping = Mapping()
    events = events_on(mapping)

    class Raises:
        _roastcoffea_collect_metrics = True

        @track_metrics
        def process(self, events):
            mapping.read("pt", 4)
            raise RuntimeError("theirs")

    raises = Raises()
    with pytest.raises(RuntimeError, match="theirs"):
        raises.process(events)
    assert "extract_column" not in vars(mapping)
    assert raises._chunk_metrics[0]["reads"]["pt"]["bytes"] == 4


def test_what_the_mapping_had_of_its_own_comes_back():
    mapping = Mapping()

    def own(handle, size):
        mapping.source.num_requested_bytes += 2 * size

    mapping.extract_column = own
    assert reads_of(lambda: mapping.read("pt", 4), mapping)["pt"]["bytes"] == 8
    assert mapping.extract_column is own


def test_what_somebody_puts_there_meanwhile_stays():
    mapping = Mapping()
    kept = []

    def body():
        reader = mapping.extract_column
        kept.append(reader)
        mapping.extract_column = lambda *args, **options: reader(*args, **options)
        mapping.read("pt", 4)

    assert reads_of(body, mapping)["pt"]["bytes"] == 4
    assert type(mapping.extract_column) is not ColumnReader
    mapping.read("pt", 4)
    # a reader that is off passes calls through
    assert kept[0](Column("eta"), 5).nbytes == 15


def test_process_inside_process_on_the_same_events():
    mapping = Mapping()
    events = events_on(mapping)

    def outer():
        mapping.read("a", 1)
        assert KEY not in Plain(lambda: mapping.read("b", 2)).process(events)
        assert type(mapping.extract_column) is ColumnReader
        mapping.read("c", 4)

    chunk = process(outer, events)
    assert list(chunk["reads"]) == list(chunk["accessed_branches"]) == ["a", "b", "c"]
    assert chunk["reads"]["b"]["bytes"] == 2
    assert "extract_column" not in vars(mapping)


def test_a_method_that_calls_itself_is_one_read():
    class Twice(Mapping):
        def extract_column(self, handle, size):
            if size > 1:
                self.extract_column(handle, size - 1)
            self.source.num_requested_bytes += 1

    mapping = Twice()
    assert reads_of(lambda: mapping.read("pt", 5), mapping)["pt"] == {
        "seconds": pytest.approx(0, abs=1), "bytes": 5, "uncompressed_bytes": None, "count": 1
    }


# ---- CPU time ----

class Unpacks(Mapping):
    """On the CPU for a while, which it measures itself."""

    cpu = 0.0

    def extract_column(self, handle, size, *, inside=None):
        start = time.thread_time()
        while time.thread_time() < start + 0.02:
            pass
        if inside is not None:
            inside()
        self.cpu += time.thread_time() - start


def test_cpu_time_of_reads():
    mapping, around = Unpacks(), []

    def body():
        for number in range(3):
            start = time.thread_time()
            mapping.read(f"branch_{number}")
            around.append(time.thread_time() - start)
            mapping.source.num_requested_bytes = sum(range(20_000))  # not in a read

    chunk = process(body, events_on(mapping))
    assert mapping.cpu - 1e-6 <= chunk["read_cpu_s"] <= sum(around) + 1e-6
    assert chunk["read_cpu_s"] <= chunk["cpu_user_s"] + chunk["cpu_system_s"] + 1e-4


def test_cpu_time_of_a_read_inside_a_read_counts_once():
    mapping, around = Unpacks(), []

    def body():
        start = time.thread_time()
        mapping.read("outer", inside=lambda: mapping.read("inner"))
        around.append(time.thread_time() - start)

    assert process(body, events_on(mapping))["read_cpu_s"] <= around[0] + 1e-6


def test_cpu_time_of_other_threads_is_not_that_of_the_chunk():
    mapping = Unpacks()

    def body():
        thread = threading.Thread(target=mapping.read, args=("pt",))
        thread.start()
        thread.join()

    chunk = process(body, events_on(mapping))
    assert chunk["reads"]["pt"]["count"] == 1
    assert chunk["read_cpu_s"] == 0


def test_without_reads_there_is_no_cpu_time_of_them():
    assert process(lambda: None, Events())["read_cpu_s"] is None


# ---- mappings that do not take part ----


class Slotted:
    __slots__ = ("_access_log",)

    def extract_column(self, handle):
        return None


class Refuses(Mapping):
    def __setattr__(self, name, value):
        if name == "extract_column":
            raise AttributeError(name)
        super().__setattr__(name, value)


@pytest.mark.parametrize(
    "mapping", [Slotted(), Refuses(), SimpleNamespace(), SimpleNamespace(extract_column=3), 7],
    ids=["slots", "refuses", "no method", "not callable", "number"],
)
def test_a_mapping_that_cannot_be_watched(mapping, no_faults):
    assert reads_of(lambda: None, mapping) is None


def test_events_without_a_factory():
    chunk = process(lambda: None, Events())
    assert chunk["reads"] is None
    assert chunk["accessed_branches"] is None
    assert chunk["metadata_bytes"] is None


def test_bytes_that_nobody_counts():
    mapping = Mapping()
    events = events_on(mapping)
    events.attrs["@events_factory"].file_handle = None
    chunk = process(lambda: mapping.read("pt"), events)
    assert chunk["reads"]["pt"]["bytes"] is None
    assert chunk["reads"]["pt"]["count"] == 1
    assert chunk["bytes_read"] is None


def test_a_source_that_raises():
    class Source:
        @property
        def num_requested_bytes(self):
            raise OSError("closed")

    mapping = Mapping()
    events = events_on(mapping)
    events.attrs["@events_factory"].file_handle = SimpleNamespace(source=Source())
    mapping.extract_column = lambda handle, size: None
    assert process(lambda: mapping.read("pt"), events)["reads"]["pt"]["bytes"] is None


def test_a_column_that_the_file_does_not_have():
    mapping = Mapping()
    mapping.extract_column = lambda handle, size: "nothing"

    def body():
        mapping._access_log.append(SimpleNamespace(branch="missing"))
        assert mapping.extract_column(None, 3) == "nothing"

    assert reads_of(body, mapping) == {}


def test_names_come_from_the_access_log_or_the_column():
    mapping = Mapping()

    def body():
        mapping.read("outer/inner/pt", 1)
        mapping._access_log.append(SimpleNamespace(branch="mine"))
        mapping._access_log.append(SimpleNamespace(branch="of another thread"))
        mapping.extract_column(Column("mine"), 2)
        mapping.extract_column(Column("unlogged"), 4)
        mapping.extract_column(SimpleNamespace(column="of a table"), 8)

    reads = reads_of(body, mapping)
    assert {name: read["bytes"] for name, read in reads.items()} == {
        "outer/inner/pt": 1, "mine": 2, "unlogged": 4, "of a table": 8
    }


def test_preloaded_columns_have_no_bytes_here():
    mapping = Mapping(Tree(Column("pt"), Column("eta")))
    mapping.preloaded_arrays = {"pt": object()}
    chunk = process(lambda: (mapping.read("pt", 0), mapping.read("eta", 3)), events_on(mapping))
    assert chunk["reads"]["pt"]["bytes"] is None
    assert chunk["reads"]["pt"]["count"] == 1
    assert chunk["reads"]["eta"]["bytes"] == 3
    # what preloading took cannot be told from the tree's metadata here
    assert chunk["metadata_bytes"] is None
    mapping.preloaded_arrays = None
    assert process(lambda: None, events_on(mapping))["metadata_bytes"] == 103


def test_the_access_log_may_be_emptied():
    mapping = Mapping()
    mapping._access_log.extend(SimpleNamespace(branch=f"old {i}") for i in range(5))

    def body():
        mapping._access_log.clear()
        mapping.read("pt")

    assert process(body, events_on(mapping))["accessed_branches"] == ["pt"]


def test_odd_entries_in_the_access_log():
    mapping = Mapping()

    def body():
        mapping._access_log.extend([None, 3, SimpleNamespace(branch=7)])
        mapping._access_log.append(SimpleNamespace(branch="\ud800"))
        mapping.read("pt")

    assert process(body, events_on(mapping))["accessed_branches"] == ["pt"]


# ---- threads, copies, memory ----


def test_two_threads_at_once():
    """Bytes that were requested at once belong to nobody; time and count are known."""
    inside = threading.Barrier(2)

    class Waits(Mapping):
        waits = False

        def extract_column(self, handle, size):
            if self.waits:
                inside.wait(10)
            super().extract_column(handle, size)
            if self.waits:
                inside.wait(10)

    mapping = Waits()

    def body():
        mapping.read("alone", 3)
        mapping.waits = True
        threads = [threading.Thread(target=mapping.read, args=(name, 5)) for name in ("a", "b")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        mapping.waits = False
        mapping.read("again alone", 4)

    reads = reads_of(body, mapping)
    assert {name: read["bytes"] for name, read in reads.items()} == {
        "alone": 3, "a": None, "b": None, "again alone": 4
    }
    assert all(read["count"] == 1 for read in reads.values())
    assert "extract_column" not in vars(mapping)


def test_a_thread_that_reads_again_while_another_one_still_does():
    other_is_in, all_is_read = threading.Event(), threading.Event()

    class Waits(Mapping):
        def extract_column(self, handle, size):
            name = handle.name
            if name == "slow":
                other_is_in.set()
                assert all_is_read.wait(10)
            elif name == "first":
                other.start()
                assert other_is_in.wait(10)
            elif name == "outer":
                self.read("inner", 1)  # a method that calls itself is one read
            super().extract_column(handle, size)

    mapping = Waits()
    other = threading.Thread(target=mapping.read, args=("slow", 5))

    def body():
        for name in ("first", "second", "outer", "last"):
            mapping.read(name, 5)
        all_is_read.set()
        other.join()

    reads = reads_of(body, mapping)
    assert sorted(reads) == ["first", "last", "outer", "second", "slow"]
    assert all(read["count"] == 1 for read in reads.values())


def test_two_chunks_on_one_mapping_in_two_threads():
    mapping = Mapping()
    first_is_in, second_is_in, first_is_out = (threading.Event() for _ in range(3))

    def first():
        first_is_in.set()
        second_is_in.wait(10)

    def second():
        second_is_in.set()
        first_is_out.wait(10)

    def run_second():
        first_is_in.wait(10)
        process(second, events_on(mapping))

    thread = threading.Thread(target=run_second)
    thread.start()
    process(first, events_on(mapping))
    first_is_out.set()
    thread.join()
    assert "extract_column" not in vars(mapping)


def test_a_mapping_that_is_copied_or_pickled_meanwhile():
    mapping = Mapping()
    copies = []

    def body():
        copies.append(pickle.loads(pickle.dumps(mapping)))
        copies.append(copy.deepcopy(mapping))
        mapping.read("pt", 1)

    assert reads_of(body, mapping)["pt"]["bytes"] == 1
    for other in copies:
        assert type(other.extract_column) is not ColumnReader
        assert other.extract_column.__self__ is other
        other.read("pt", 5)
        assert other.source.num_requested_bytes == 105
    assert mapping.source.num_requested_bytes == 101


def test_memory_that_runs_short():
    mapping = Mapping(Tree(Column("a", 1, 2), Column("b", 3, 4)))
    names = [f"column {i}" for i in range(100)]
    reached = 0
    for after in range(200):
        events = events_on(mapping)
        before = faults()["count"]
        results = []

        def body(after=after, results=results):
            _fail_allocations(after)
            results.extend(mapping.read(name, 2, result=name) for name in names)

        class Plain:
            _roastcoffea_collect_metrics = True

            @track_metrics
            def process(self, events, body=body):
                body()
                return {"mine": 1}

        try:
            output = Plain().process(events)
        finally:
            _fail_allocations(None)
        assert results == names
        assert output["mine"] == 1
        assert "extract_column" not in vars(mapping)
        if faults()["count"] == before:
            break
        reached += 1
    assert reached > 10
    assert output[KEY][0]["accessed_bytes"] == 0


def test_no_leak():
    mapping = Mapping(Tree(*(Column(f"c{i}", i, i) for i in range(20))))

    def read_all():
        reader = mapping.extract_column
        assert type(reader) is ColumnReader
        for i in range(20):
            mapping.read(f"c{i}", 1)

    def use():
        process(read_all, events_on(mapping, filename="one"))  # files are remembered
        mapping._access_log.clear()

    assert_nothing_is_kept(use, 200)


# ---- files ----


def test_sizes_of_branches_inside_branches():
    tree = Tree(
        Column("flat", 10, 100),
        Column("outer", 1, 2, [Column("inner", 20, 200, [Column("pt", 30, 300)]), Column("eta")]),
        Column("flat", 7, 7),  # uproot reads the first of one name
    )
    mapping = Mapping(tree)
    chunk = process(
        lambda: (mapping.read("flat"), mapping.read("outer/inner/pt")), events_on(mapping)
    )
    assert chunk["accessed_bytes"] == 40
    assert chunk["accessed_uncompressed_bytes"] == 400
    about = chunk["file_metadata"]
    assert about["total_branches"] == 6
    assert about["total_tree_bytes"] == 1000
    assert about["compression_ratio"] == pytest.approx(1 / 3)
    assert about["branch_bytes"]["outer/inner"] == 20
    assert about["branch_bytes"]["outer/inner/pt"] == 30
    # Coffea can be told to leave out the path: then it is not known which branch was meant
    chunk = process(lambda: mapping.read("pt"), events_on(mapping))
    assert chunk["accessed_bytes"] is None
    # in a flat tree there is no doubt: the file has no such column
    mapping = Mapping(Tree(Column("flat", 10, 100)))
    assert process(lambda: mapping.read("pt"), events_on(mapping))["accessed_bytes"] == 0


def test_sizes_that_are_not_there():
    odd = Column("odd")
    odd.members["fZipBytes"] = None
    odd.members["fTotBytes"] = -1
    mapping = Mapping(Tree(odd, Column("even", 4, 8), bytes="many"))
    chunk = process(lambda: mapping.read("even"), events_on(mapping))
    assert (chunk["accessed_bytes"], chunk["accessed_uncompressed_bytes"]) == (4, 8)
    assert chunk["file_metadata"]["branch_bytes"] == {"odd": None, "even": 4}
    assert chunk["file_metadata"]["total_tree_bytes"] is None
    chunk = process(lambda: mapping.read("odd"), events_on(mapping))
    assert chunk["accessed_bytes"] is chunk["accessed_uncompressed_bytes"] is None


@pytest.mark.parametrize(
    "tree", [None, 3, SimpleNamespace(), Model(), SimpleNamespace(file=None),
             SimpleNamespace(_header=1, _footer=2, _page_list_envelopes=[SimpleNamespace()])],
)
def test_what_is_no_tree(tree, no_faults):
    mapping = Mapping(tree)
    chunk = process(lambda: mapping.read("pt"), events_on(mapping))
    assert "file_metadata" not in chunk
    assert chunk["accessed_bytes"] is None
    assert chunk["accessed_branches"] == ["pt"]


def test_many_branches_and_some_inside():
    columns = [Column(f"b{i}", i, 10 * i, [Column("in", 1000 + i)] if i % 2 else []) for i in range(100)]
    mapping = Mapping(Tree(*columns))
    chunk = process(lambda: [mapping.read(f"b{i}") for i in (3, 64, 99)], events_on(mapping))
    sizes = {f"b{i}": i for i in range(100)} | {f"b{i}/in": 1000 + i for i in range(1, 100, 2)}
    assert chunk["file_metadata"]["branch_bytes"] == sizes
    assert chunk["accessed_bytes"] == 3 + 64 + 99
    assert chunk["accessed_uncompressed_bytes"] == 10 * (3 + 64 + 99)


def test_a_tree_that_contains_itself():
    loop = Column("loop")
    loop.members["fBranches"].append(loop)
    mapping = Mapping(Tree(loop))
    assert "file_metadata" not in process(lambda: None, events_on(mapping))


def test_a_file_is_looked_up_once_and_told_once():
    tree = Tree(Column("pt", 5, 6))
    first = process(lambda: None, events_on(Mapping(tree), filename="once"))
    assert first["file_metadata"]["branch_bytes"] == {"pt": 5}
    mapping = Mapping(tree)
    tree.members["fBranches"] = None  # nobody looks any more
    second = process(lambda: mapping.read("pt"), events_on(mapping, filename="once"))
    assert second["accessed_bytes"] == 5
    assert "file_metadata" not in second


@pytest.mark.parametrize("other", [{"fileuuid": "x"}, {"treename": "Runs"}, {"filename": "other"}])
def test_another_file(other):
    name = {"filename": f"same-{next(numbers)}"}
    assert "file_metadata" in process(lambda: None, events_on(Mapping(Tree()), **name))
    chunk = process(lambda: None, events_on(Mapping(Tree(Column("a"))), **{**name, **other}))
    assert chunk["file_metadata"]["total_branches"] == 1


def test_a_file_that_was_replaced():
    name = {"filename": f"replaced-{next(numbers)}"}
    process(lambda: None, events_on(Mapping(Tree(Column("a"))), **name))
    chunk = process(lambda: None, events_on(Mapping(Tree(bytes=7)), **name))
    assert chunk["file_metadata"]["total_tree_bytes"] == 7


def test_the_oldest_files_are_forgotten(monkeypatch):
    def chunk(i):
        return process(lambda: None, events_on(Mapping(tree), filename=f"many-{i}"))

    monkeypatch.setattr(file_sizes, "_MOST_FILES", 10)
    tree = Tree(Column("a", 1, 2), Column("b", 3, 4))
    for i in range(11):
        chunk(i)
    assert "file_metadata" not in chunk(1)
    assert "file_metadata" not in chunk(10)
    assert "file_metadata" in chunk(0)  # had to be looked up again
    assert "file_metadata" in chunk(1)  # and took the place of the next oldest


def test_wide_files_are_forgotten_sooner(monkeypatch):
    monkeypatch.setattr(file_sizes, "_MOST_SIZES", 2000)
    monkeypatch.setattr(file_sizes, "_files", {})

    def told(i):
        return "file_metadata" in process(
            lambda: None, events_on(Mapping(wide), filename=f"wide-{i}")
        )

    wide = Tree(*(Column(f"branch {i}", i, i) for i in range(200)))
    assert all(told(i) for i in range(15))
    assert not told(14)
    assert not told(6)
    assert told(4)


@forks
def test_a_child_process_tells_by_itself(tmp_path):
    program = tmp_path / "fork.py"
    program.write_text(
        """
import os, sys
sys.path.insert(0, sys.argv[1])
from test_reads import Column, Mapping, Tree, events_on, process
def told():
    mapping = Mapping(Tree(Column("pt", 5, 6)))
    return "file_metadata" in process(lambda: None, events_on(mapping, filename="forked"))
assert told() and not told()
if os.fork() == 0:
    os._exit(0 if told() and not told() else 1)
print("child", os.wait()[1], told())
"""
    )
    done = subprocess.run(
        [sys.executable, str(program), str(Path(__file__).parent)],
        capture_output=True, text=True, check=False,
    )
    assert done.stdout.strip() == "child 0 False", done.stderr
