"""ChunkLog: a list in every way that a reduction or a user could ask for."""

from __future__ import annotations

import copy
import gc
import json
import operator
import pickle
import pickletools
from collections.abc import Mapping, MutableMapping

import pytest
from samples import Events, Processor, make_log

from roastcoffea import track_metrics
from roastcoffea._core import ChunkLog, ChunkRecord


def durations(log):
    return [chunk["duration"] for chunk in log]


@pytest.fixture
def log():
    return make_log(5)


def test_is_a_list_of_mappings(log):
    assert isinstance(log, list)
    assert len(log) == 5
    for chunk in log:
        assert isinstance(chunk, ChunkRecord)
        assert isinstance(chunk, Mapping)
        assert isinstance(chunk, MutableMapping)
        assert not isinstance(chunk, dict)
    assert [chunk["chunk_id"] for chunk in log] == [0, 1, 2, 3, 4]


def test_items_are_the_same_objects_each_time(log):
    assert log[0] is log[0]
    assert list(log)[2] is log[2]
    assert log[-1] is log[4]


def test_index_errors(log):
    with pytest.raises(IndexError):
        log[5]
    with pytest.raises(IndexError):
        log[-6]
    with pytest.raises(TypeError):
        log["duration"]


def test_a_chunk_as_dict_and_json(log):
    chunk = log[0]
    as_dict = dict(chunk)
    assert as_dict == chunk.as_dict()
    assert list(chunk) == list(as_dict) == list(chunk.keys())
    assert list(chunk.values()) == list(as_dict.values())
    assert list(chunk.items()) == list(as_dict.items())
    assert len(chunk) == len(as_dict)
    assert json.loads(json.dumps(chunk.as_dict()))["dataset"] == "ttbar"
    assert chunk == as_dict
    assert as_dict == chunk
    assert chunk.get("dataset") == "ttbar"
    assert chunk.get("nothing") is None
    assert chunk.get("nothing", 7) == 7
    assert "dataset" in chunk
    assert "nothing" not in chunk
    assert "error" not in chunk
    with pytest.raises(KeyError, match="nothing"):
        chunk["nothing"]
    with pytest.raises(KeyError):
        chunk[3]
    assert repr(chunk).startswith("ChunkRecord({'t_start'")
    with pytest.raises(TypeError):
        hash(chunk)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickle(log, protocol):
    back = pickle.loads(pickle.dumps(log, protocol))
    assert type(back) is ChunkLog
    assert back == log
    assert [dict(a) for a in back] == [dict(b) for b in log]


def test_pickle_is_short(log):
    """The class by its public name and the packed log; nothing else."""
    packed = pickle.dumps(log, pickle.HIGHEST_PROTOCOL)
    opcodes = [(code.name, argument) for code, argument, _ in pickletools.genops(packed)]
    names = [name for name, _ in opcodes]
    assert ("SHORT_BINUNICODE", "roastcoffea") in opcodes
    assert ("SHORT_BINUNICODE", "ChunkLog") in opcodes
    assert names.count("REDUCE") == 1
    assert [argument for _, argument in opcodes if isinstance(argument, bytes)] == [log.to_bytes()]
    assert len(packed) < len(log.to_bytes()) + 60


def test_all_ways_to_reduce_are_one(log):
    once = (ChunkLog, (log.to_bytes(),))
    assert log.__reduce__() == once and log.__reduce_ex__(5) == once


def test_calls_that_make_no_log():
    with pytest.raises(TypeError, match="no keyword arguments"):
        ChunkLog(chunks=[])
    with pytest.raises(TypeError, match="at most 1"):
        ChunkLog([], [])
    with pytest.raises(TypeError, match="not iterable"):
        ChunkLog(1)


def test_from_the_packed_form(log):
    data = log.to_bytes()
    for back in (ChunkLog(data), ChunkLog.from_bytes(data), ChunkLog.from_bytes(bytearray(data))):
        assert type(back) is ChunkLog
        assert back == log
    log.__init__(make_log(2).to_bytes())
    assert len(log) == 2
    for damaged in (b"", data[:-1], data + b"x"):
        with pytest.raises(ValueError, match="chunk log"):
            ChunkLog(damaged)
        with pytest.raises(ValueError, match="chunk log"):
            log.__init__(damaged)
        assert len(log) == 2
    with pytest.raises(TypeError):
        ChunkLog(data, data)


def test_a_pickled_chunk_is_as_long_as_it_is_alone():
    def chunk(number):
        name = f"file-{number}.root"
        sizes = {f"branch_{i}": i for i in range(50)}
        return {"duration": 1.0, "file": name, "dataset": name, "accessed_branches": ["branch_1"],
                "file_metadata": {"filename": name, "total_branches": 50, "branch_bytes": sizes}}

    alone, among = ChunkLog([chunk(7)]), ChunkLog([chunk(i) for i in range(2000)])
    packed = pickle.dumps(among[7])
    assert abs(len(packed) - len(pickle.dumps(alone[0]))) < 10
    assert dict(pickle.loads(packed)) == dict(alone[0])
    assert len(pickle.dumps(among[100:110])) < 11 * len(packed)


def test_pickle_of_one_chunk(log):
    back = pickle.loads(pickle.dumps(log[3]))
    assert type(back) is ChunkRecord
    assert back == log[3]


def test_copies_are_independent(log):
    for duplicate in (copy.copy(log), copy.deepcopy(log), log.copy(), log[:]):
        assert type(duplicate) is ChunkLog
        assert duplicate == log
        duplicate += make_log(2)
        assert len(duplicate) == 7
        assert len(log) == 5
    first = copy.copy(log)
    log += make_log(1)
    assert (len(first), len(log)) == (5, 6)


def test_addition(log):
    other = make_log(3, dataset="qcd")
    both = log + other
    assert type(both) is ChunkLog
    assert len(both) == 8
    assert (len(log), len(other)) == (5, 3)
    assert durations(both) == durations(log) + durations(other)
    assert [chunk["dataset"] for chunk in both] == ["ttbar"] * 5 + ["qcd"] * 3
    same = log
    same += other
    assert same is log
    assert log == both
    assert operator.concat(other, other) == other + other


def test_addition_with_itself(log):
    before = durations(log)
    log += log
    assert durations(log) == before * 2
    assert durations(log + log) == before * 4


def test_addition_with_plain_lists(log):
    plain = [{"duration": 1.0}]
    assert len(plain + log) == 6
    assert type(plain + log) is list
    assert (plain + log)[1] is log[0]
    assert len(log + plain) == 6
    assert (log + plain)[5]["duration"] == 1.0
    alias = plain
    plain += log
    assert alias is plain
    assert len(plain) == 6
    assert len(sum([[log[0]], log], [])) == 6
    log += [{"duration": 2.0, "num_events": 3}]
    assert log[-1]["duration"] == 2.0
    back = pickle.loads(pickle.dumps(log))
    assert type(back) is ChunkLog
    assert back[-1]["duration"] == 2.0
    assert back[-1]["num_events"] == 3


@pytest.mark.parametrize("other", [(1,), "ab", {1: 2}, None, 3])
def test_addition_with_something_else(log, other):
    with pytest.raises(TypeError):
        log + other
    with pytest.raises(TypeError):
        other + log


@pytest.mark.parametrize(
    "part", [slice(1, 3), slice(None, None, -1), slice(4, 0, -2), slice(9, 12), slice(-2, None)]
)
def test_slices(log, part):
    assert durations(log[part]) == durations(log)[part]
    assert type(log[part]) is ChunkLog
    assert durations(pickle.loads(pickle.dumps(log[part]))) == durations(log)[part]


def test_methods_of_a_list(log):
    items = list(log)
    assert log.index(items[2]) == 2
    assert log.count(items[2]) == 1
    assert items[2] in log
    assert {"duration": -1} not in log
    assert list(reversed(log)) == items[::-1]
    assert len(log * 2) == 10
    assert log.pop() == items[4]
    log.insert(0, items[4])
    assert log[0] is items[4]
    log.remove(items[1])
    assert items[1] not in log
    log.sort(key=lambda chunk: chunk["t_start"], reverse=True)
    assert durations(log) == [c["duration"] for c in [items[4], items[3], items[2], items[0]]]
    log.reverse()
    log[0] = {"duration": 9.0}
    del log[1]
    log.append({"duration": 8.0})
    log.extend([{"duration": 7.0}])
    assert [c["duration"] for c in log][-2:] == [8.0, 7.0]
    assert log[0]["duration"] == 9.0
    assert durations(pickle.loads(pickle.dumps(log))) == durations(log)
    log.clear()
    assert log == []
    assert len(log) == 0


def test_comparison(log):
    assert log == pickle.loads(pickle.dumps(log))
    assert not log != copy.copy(log)
    assert log != make_log(5)
    assert log != []
    assert ChunkLog() == []
    assert [] == ChunkLog()
    assert log == list(log)
    assert log != 3


def test_values_that_a_user_adds_stay(log):
    for chunk in log:
        chunk["rate"] = chunk["num_events"] / max(chunk["duration"], 1e-9)
    assert log[2]["rate"] == log[2]["num_events"] / log[2]["duration"]
    back = pickle.loads(pickle.dumps(log))
    assert [c["rate"] for c in back] == [c["rate"] for c in log]
    assert [c["duration"] for c in back] == pytest.approx([c["duration"] for c in log])
    assert "rate" in dict(log[0])
    del log[0]["rate"]
    assert "rate" not in log[0]
    with pytest.raises(TypeError, match="measured"):
        del log[0]["duration"]
    assert back.merge_unique(log) == (0, 5)


def test_items_outlive_their_log():
    chunk = make_log(3)[1]
    gc.collect()
    assert chunk["dataset"] == "ttbar"


def test_from_dicts():
    chunks = [
        {
            "t_start": 1000.5,
            "t_end": 1002.0,
            "duration": 1.5,
            "num_events": 10,
            "dataset": "ünïcode",
            "file": "a.root",
            "uuid": None,
            "entry_start": 0,
            "entry_stop": 10,
            "mem_before_mb": 100.0,
            "mem_after_mb": 101.5,
            "mem_delta_mb": 1.5,
            "bytes_read": 1234,
            "accessed_branches": ["Jet_pt", "nJet"],
            "timing": {"a": 0.5},
            "memory": {"m": -2.0},
            "bytes": {"b": 77},
            "mine": [1, {"x": 2}],
            "reads": {"Jet_pt": {"seconds": 0.25, "bytes": 10, "count": 1}},
            "file_metadata": {
                "filename": "a.root",
                "compression_ratio": 0.5,
                "total_branches": 4,
                "total_tree_bytes": 1000,
                "branch_bytes": {"Jet_pt": 100, "nJet": 10},
            },
        },
        {"duration": 2.5, "error": "ValueError: bad: very"},
    ]
    log = ChunkLog(chunks)
    first, second = log
    for key, value in chunks[0].items():
        if key not in ("reads",):
            assert first[key] == pytest.approx(value) if isinstance(value, float) else first[
                key
            ] == value, key
    assert first["reads"]["Jet_pt"] == {
        "seconds": 0.25,
        "bytes": 10,
        "uncompressed_bytes": None,
        "count": 1,
    }
    assert first["branches_read_percent"] == 50.0
    assert first["custom_metrics"] == {"mine": [1, {"x": 2}]}
    assert second["error"] == "ValueError: bad: very"
    assert second["num_events"] is None
    assert second["mem_delta_mb"] is None
    assert "file_metadata" not in second


@pytest.mark.parametrize("bad", [[3], ["text"], [[1, 2]], [None], 7])
def test_from_something_else(bad):
    with pytest.raises(TypeError):
        ChunkLog(bad)


def test_a_wrong_type_inside_a_chunk_is_a_clear_error():
    with pytest.raises((TypeError, ValueError)):
        ChunkLog([{"duration": "long"}])
    with pytest.raises((TypeError, ValueError)):
        ChunkLog([{"accessed_branches": 5}])
    with pytest.raises((TypeError, ValueError, AttributeError)):
        ChunkLog([{"reads": [1, 2]}])


def test_packed_form(log):
    data = log.to_bytes()
    assert ChunkLog.from_bytes(data) == log
    assert ChunkLog.from_bytes(bytearray(data)) == log
    assert ChunkLog.from_bytes(memoryview(data)) == log


def test_damage_is_a_value_error(log):
    data = bytearray(log.to_bytes())
    for length in range(len(data)):
        with pytest.raises(ValueError, match="chunk log"):
            ChunkLog.from_bytes(data[:length])
    for position in range(len(data)):
        damaged = bytearray(data)
        damaged[position] ^= 1
        with pytest.raises(ValueError, match="chunk log"):
            ChunkLog.from_bytes(damaged)
    with pytest.raises(TypeError):
        ChunkLog.from_bytes("text")


def test_a_damaged_pickle_is_a_value_error(log):
    data = pickle.dumps(log)
    place = data.index(b"RCLG") + 40
    with pytest.raises(ValueError, match=r"checksum|chunk log"):
        pickle.loads(data[:place] + bytes([data[place] ^ 0x55]) + data[place + 1 :])


def test_a_newer_version_says_so(log):
    data = bytearray(log.to_bytes())
    data[4] = 99
    with pytest.raises(ValueError, match="version 99.*upgrade"):
        ChunkLog.from_bytes(data)


def test_merge_unique(log):
    collected = ChunkLog()
    assert collected.merge_unique(log) == (5, 0)
    assert collected.merge_unique(pickle.loads(pickle.dumps(log))) == (0, 5)
    assert collected.merge_unique(make_log(2)) == (2, 0)
    assert len(collected) == 7


def test_tree_reduction_as_coffea_does_it():
    accumulator = pytest.importorskip("coffea.processor.accumulator")
    processor = Processor()
    outputs = [processor.process(Events(n)) for n in range(40)]
    level = [pickle.loads(pickle.dumps(output)) for output in outputs]
    while len(level) > 1:
        level = [
            pickle.loads(pickle.dumps(accumulator.accumulate(level[i : i + 4])))
            for i in range(0, len(level), 4)
        ]
    chunks = level[0]["__roastcoffea_metrics__"]
    assert type(chunks) is ChunkLog
    assert [chunk["num_events"] for chunk in chunks] == list(range(40))
    assert level[0]["n"] == sum(range(40))


def test_a_list_that_stood_in_the_output_already():
    """As process() returned the same object before."""
    output = {}

    class Same:
        _roastcoffea_collect_metrics = True

        @track_metrics
        def process(self, events):
            return output

    same = Same()
    same.process(Events(2))
    assert [chunk["num_events"] for chunk in same.process(Events(3))["__roastcoffea_metrics__"]] == [2, 3]
