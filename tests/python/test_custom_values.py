"""Values that a user stores in a chunk: kept whole or left out with a word, and read without running anything."""

from __future__ import annotations

import decimal
import enum
import math
import pickle
from datetime import datetime, timezone

import numpy
import pytest
from run_samples import crc32c
from samples import Events

from roastcoffea import open_run, track_metrics
from roastcoffea._core import ChunkLog, Run, faults
from roastcoffea.export import extras
from roastcoffea.export.measurements import save_measurement

KEY = "__roastcoffea_metrics__"
NAN = math.nan
LIMIT = 1 << 20


def same(left, right):
    return type(left) is type(right) and (left == right or left != left)


def log_with(values):
    """The log of one chunk in which process() stored these."""

    class Stores:
        _roastcoffea_collect_metrics = True

        @track_metrics
        def process(self, events):
            for name, value in values.items():
                self._roastcoffea_current_chunk[name] = value
            return {"n": 1}

    before = faults()["count"]
    output = Stores().process(Events())
    assert output["n"] == 1
    assert faults()["count"] == before
    return output[KEY]


def roads(log, folder):
    """The chunk where it was made, after it travelled, and from disk."""
    yield log[0]
    yield pickle.loads(pickle.dumps(log))[0]
    yield pickle.loads(pickle.dumps(log[0]))
    yield ChunkLog([dict(log[0])])[0]
    metrics = {"raw_chunk_metrics": log}
    yield open_run(save_measurement(metrics, 0.0, 1.0, folder, "one")).chunk_metrics[0]


class Colour(enum.IntEnum):
    RED = 1


KEPT = {
    "none": None, "true": True, "int": -(2**62), "huge": 2**100, "float": 1e300, "minus zero": -0.0,
    "inf": math.inf, "text": "ü", "empty": "", "long text": "x" * 200_000, "surrogate": "a\udc80",
    "list": [1, "a", None, [2.5]], "list of floats": [NAN, -math.inf], "raw": b"\x00\xff", "long bytes": bytes(100_000),
    "tuple": (1, (2, "x")), "set": {1, 2}, "frozenset": frozenset("ab"), "int keys": {1: 2, (3, "x"): {4}},
    "tag": {"$": "tuple", "value": [1]}, "dict": {"a": {"b": [1, {}]}},
    "when": datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=timezone.utc), "naive": datetime(2026, 1, 2),
}
LIKE = {
    "int32": (numpy.int32(7), 7), "float32": (numpy.float32(0.5), 0.5), "float64": (numpy.float64(0.1), 0.1),
    "bool_": (numpy.bool_(True), True), "array": (numpy.arange(6).reshape(2, 3), [[0, 1, 2], [3, 4, 5]]),
    "long array": (numpy.arange(10_000) / 7, (numpy.arange(10_000) / 7).tolist()), "enum": (Colour.RED, 1),
    "zero dim": (numpy.array(2.5), 2.5), "texts": (numpy.array(["a", "b"]), ["a", "b"]),
}


def test_values_come_back_as_they_were(tmp_path):
    log = log_with({**KEPT, **{name: given for name, (given, _) in LIKE.items()}, "nan": NAN})
    wanted = {**KEPT, **{name: like for name, (_, like) in LIKE.items()}, "nan": NAN}
    for chunk in roads(log, tmp_path):
        customs = chunk["custom_metrics"]
        assert list(customs) == list(wanted)
        for name, value in wanted.items():
            if name == "list of floats":
                assert repr(customs[name]) == repr(value)
            else:
                assert same(customs[name], value), name
        assert math.copysign(1, customs["minus zero"]) == -1
        assert type(customs["tuple"][1]) is tuple
    assert Run(chunks=log).notes == []


def test_other_objects_are_their_text_and_the_name_of_their_type(tmp_path):
    log = log_with({"price": decimal.Decimal("0.10"), "complex": numpy.array([1 + 2j]), "inside": [decimal.Decimal(3)]})
    for chunk in roads(log, tmp_path):
        assert chunk["price"] == "0.10"
        assert chunk["price"].type_name == "decimal.Decimal"
        assert chunk["complex"] == ["(1+2j)"]
        assert chunk["complex"][0].type_name == "complex"
        assert chunk["inside"][0].type_name == "decimal.Decimal"
        assert len(chunk) == len(dict(chunk))


class Refuses:
    def __str__(self):
        raise OSError("not me")


class Endless(dict):
    def items(self):
        while True:
            yield 1, 2


class NoPairs(dict):
    def items(self):
        return [1, 2, 3]


class Clears(dict):
    """Takes away what it is in."""

    def __init__(self, owner):
        super().__init__(a=1)
        self.owner = owner

    def items(self):
        self.owner.clear()
        return super().items()


def deep(levels, make=lambda inner: [inner]):
    value = 1
    for _ in range(levels):
        value = make(value)
    return value


def circle():
    value = []
    value += [value, value]
    return value


BAD = {
    "long": ("x" * (LIMIT + 1), "longer than 1 MiB"),
    "long bytes": (bytes(LIMIT), "longer than 1 MiB"),
    "long list": ([0] * LIMIT, "longer than 1 MiB"),
    "large array": (numpy.zeros(10**8, dtype="i1"), "longer than 1 MiB"),
    "deep": (deep(101), "deep"),
    "very deep": (deep(100_000), "deep"),
    "deep dict": (deep(500, lambda inner: {(): inner}), "deep"),
    "circle": (circle(), "deep"),
    "longdouble": ([numpy.longdouble(1)] * 2 + [deep(300)], "deep"),
    "refuses": (Refuses(), "OSError: not me"),
    "endless": (Endless(), "longer than 1 MiB"),
    "no pairs": (NoPairs(), "TypeError"),
    "digits": (10**5000, "digits"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_kept_is_told_and_the_others_stay(name, tmp_path):
    value, reason = BAD[name]
    log = log_with({"before": 1, name: value, "behind": [2], "last": b"3"})
    for chunk in [log[0], pickle.loads(pickle.dumps(log))[0]]:
        assert chunk["custom_metrics"] == {"before": 1, "behind": [2], "last": b"3"}
        assert name not in chunk
    path = save_measurement({"raw_chunk_metrics": log}, 0.0, 1.0, tmp_path, "one")
    saved = open_run(path)
    for notes in (Run(chunks=pickle.loads(pickle.dumps(log))).notes, saved.notes):
        (note,) = notes
        assert f"'{name}'" in note and reason in note, note
    assert saved.chunk_metrics[0]["custom_metrics"] == {"before": 1, "behind": [2], "last": b"3"}


def test_names_that_cannot_be_kept():
    log = log_with({"a\udc80": 1, "n" * 70_000: 2, "fine": 3})
    assert log[0]["custom_metrics"] == {"a\\udc80": 1, "fine": 3}
    (note,) = Run(chunks=log).notes
    assert "nnn" in note and "name" in note and len(note) < 300


def test_a_value_that_empties_the_chunk_while_it_is_kept():
    class Stores:
        _roastcoffea_collect_metrics = True

        @track_metrics
        def process(self, events):
            current = self._roastcoffea_current_chunk
            current.update(first=[Clears(current)], second=["x" * 1000], third=2)
            return {"n": 1}

    output = Stores().process(Events())
    assert output["n"] == 1
    assert output[KEY][0]["first"] == [{"a": 1}]


def test_more_values_than_a_chunk_keeps(tmp_path):
    many = {f"k{i}": i for i in range(5000)}
    for log in (log_with(many), ChunkLog([many])):
        customs = log[0]["custom_metrics"]
        assert customs == {f"k{i}": i for i in range(4095)}
        saved = open_run(save_measurement({"raw_chunk_metrics": log}, 0.0, 1.0, tmp_path, "many"))
        assert saved.chunk_metrics[0]["custom_metrics"] == customs
        (note,) = saved.notes
        assert "'k4095'" in note and "4095 values" in note


def test_more_bytes_than_a_chunk_keeps():
    log = log_with({**{f"k{i}": "x" * LIMIT for i in range(17)}, "small": 1})
    assert list(log[0]["custom_metrics"]) == [*(f"k{i}" for i in range(16)), "small"]
    (note,) = Run(chunks=log).notes
    assert "'k16'" in note and "16 MiB" in note


def test_many_notes_about_values_are_a_few():
    log = ChunkLog([{f"k{i}": Refuses() for i in range(100)}])
    notes = Run(chunks=log).notes
    assert len(notes) == 21
    assert "80 more" in notes[-1]


# ---- nothing that is read runs ----


class Evil:
    def __reduce__(self):
        return (pytest.fail, ("it ran",))


def looks_at(chunk):
    return [len(chunk), repr(chunk), dict(chunk), chunk == dict(chunk), list(chunk.items()), chunk["custom_metrics"],
            chunk.get("mine")]


def test_an_object_with_a_reduce_is_kept_as_text(tmp_path):
    log = log_with({"mine": Evil()})
    for chunk in roads(log, tmp_path):
        looks_at(chunk)
        assert chunk["mine"].startswith("<") and "Evil" in chunk["mine"].type_name


def test_a_pickle_in_a_measurement_is_inert(tmp_path):
    """The bytes of a pickle in the place of JSON, with right checksums everywhere."""
    data = pickle.dumps(Evil(), 0)
    text = '["' + "x" * (len(data) - 4) + '"]'
    kind, (packed,) = ChunkLog([{"mine": ["x" * (len(data) - 4)]}]).__reduce__()[:2]
    assert text.encode() in packed
    changed = packed[:-4].replace(text.encode(), data)
    log = kind(changed + crc32c(changed).to_bytes(4, "little"))
    path = save_measurement({"raw_chunk_metrics": log}, 0.0, 1.0, tmp_path, "evil")
    with pytest.raises(ValueError, match="'mine'"):
        looks_at(open_run(path).chunk_metrics[0])


@pytest.mark.parametrize("text", [
    '{"$": "pickle", "value": "gASV"}', '{"$": "tuple"}', '{"$": []}', "[" * 100_000, "{", "", '{"$": "set", "value": [[1]]}',
    '{"$": "dict", "value": [1]}', '{"$": "dict", "value": [[[1], 2]]}', '{"$": "float", "value": "1e5"}',
    '{"$": "float", "value": 1' + "0" * 400 + "}", '{"$": "bytes", "value": 5}', '{"$": "datetime", "value": 3}',
    '{"$": "object", "type": 3, "value": "x"}', '{"$": "object", "value": "x"}', "1" * 5000, '[' * 400 + ']' * 400,
])
def test_json_that_is_none_of_ours_is_a_value_error(text):
    with pytest.raises(ValueError):
        extras.load(text)
