"""Outputs of every kind that Coffea's `accumulate` takes, and a processor that returns them."""

from __future__ import annotations

import collections
import itertools
import pickle
from dataclasses import dataclass

import awkward as ak
import hist
import numpy as np
from coffea import processor
from coffea.processor import accumulate

from roastcoffea import track_metrics, track_time


@dataclass
class Addable:
    n: int

    def __add__(self, other):
        return Addable(self.n + other.n)


@dataclass
class Accumulator(processor.AccumulatorABC):
    n: int = 0

    def identity(self):
        return Accumulator()

    def add(self, other):
        self.n += other.n


class NumbersOnly(dict):
    """A mapping that looks at its values."""

    def __setitem__(self, key, value):
        super().__setitem__(key, int(value))


class MergesItself(dict):
    def __add__(self, other):
        return MergesItself({key: self[key] + other[key] for key in self})

    def __eq__(self, other):
        return type(other) is MergesItself and dict.__eq__(self, other)


class Mapping(collections.abc.MutableMapping):
    def __init__(self, **values):
        self.values_ = values

    def __getitem__(self, key):
        return self.values_[key]

    def __setitem__(self, key, value):
        self.values_[key] = value

    def __delitem__(self, key):
        del self.values_[key]

    def __iter__(self):
        return iter(self.values_)

    def __len__(self):
        return len(self.values_)

    def __copy__(self):
        return Mapping(**self.values_)


def _histogram(n):
    made = hist.Hist.new.Reg(10, 0, 100).Int64()
    made.fill(np.arange(n))
    return made


def _default(factory, n):
    made = processor.defaultdict_accumulator(factory)
    made["n"] += n
    return made


def _column(array):
    return processor.column_accumulator(array)


# Of the number of events in a chunk.
KINDS = {
    "dict": lambda n: {"n": n},
    "empty dict": lambda n: {},
    "other keys": lambda n: {str(n): n},
    "OrderedDict": lambda n: collections.OrderedDict(n=n),
    "defaultdict": lambda n: collections.defaultdict(int, n=n),
    "UserDict": lambda n: collections.UserDict(n=n),
    "Counter": lambda n: collections.Counter(n=n),
    "dict_accumulator": lambda n: processor.dict_accumulator(n=processor.value_accumulator(int, n)),
    "dict_accumulator of dict_accumulator": lambda n: processor.dict_accumulator(
        below=processor.dict_accumulator(n=processor.value_accumulator(int, n))),
    "defaultdict_accumulator of int": lambda n: _default(int, n),
    "defaultdict_accumulator of float": lambda n: _default(float, n),
    "defaultdict_accumulator of list": lambda n: processor.defaultdict_accumulator(list, n=[n]),
    "value_accumulator": lambda n: processor.value_accumulator(int, n),
    "list_accumulator": lambda n: processor.list_accumulator([n]),
    "set_accumulator": lambda n: processor.set_accumulator({n}),
    "column_accumulator of numpy": lambda n: _column(np.arange(n)),
    "column_accumulator of awkward": lambda n: _column(ak.Array(np.arange(n))),
    "accumulator of the user": Accumulator,
    "addable": Addable,
    "set": lambda n: {n},
    "list": lambda n: [n],
    "tuple": lambda n: (n,),
    "int": lambda n: n,
    "numpy": lambda n: np.array([n, 1]),
    "numpy scalar": lambda n: np.int64(n),
    "awkward": lambda n: ak.Array([n, 1]),
    "hist": _histogram,
    "numbers only": lambda n: NumbersOnly(n=n),
    "merges itself": lambda n: MergesItself(n=n),
    "mapping of the user": lambda n: Mapping(n=n),
}
# Coffea cannot merge three of these.
UNMERGEABLE = ("list_accumulator", "awkward")
# Coffea's dict_accumulator takes no others.
ACCUMULATORS = [kind for kind in KINDS if isinstance(KINDS[kind](1), processor.AccumulatorABC)]


def output_of(kind, place, n):
    made = KINDS[kind](n)
    if place == "in a dict":
        return {"below": made}
    if place == "in an accumulator":
        return processor.dict_accumulator(below=made)
    return made


CASES = [(kind, place) for kind in KINDS for place in ("on top", "in a dict")]
CASES += [(kind, "in an accumulator") for kind in ACCUMULATORS]


class Returns(processor.ProcessorABC):
    def __init__(self, kind, place):
        self.kind, self.place = kind, place

    @track_metrics
    def process(self, events):
        with track_time(self, "all"):
            return output_of(self.kind, self.place, len(events))

    def postprocess(self, accumulator):
        return accumulator


class EveryOrder(processor.IterativeExecutor):
    """Merges three outputs in every order, one by one and in pairs, as a tree of reductions does. What it returns is the
    last result; all of them are in `found`."""

    found = []

    def __call__(self, items, function, accumulator):
        packed = [pickle.dumps(function(item)) for item in items]
        for order in itertools.permutations(packed):
            for count in (1, 2, 3):
                first = accumulate(map(pickle.loads, order[:count]))
                rest = map(pickle.loads, order[count:])
                self.found += [accumulate(rest, pickle.loads(pickle.dumps(first)))]
        return self.found[-1], 0


def plain(output):
    """The value of an output in types of Python, with the types that it had; what depends on the order of merging is
    sorted."""
    kind = type(output).__name__
    if isinstance(output, collections.abc.Mapping):
        factory = getattr(output, "default_factory", None)
        return kind, factory, sorted((key, plain(value)) for key, value in output.items())
    if isinstance(output, (list, tuple, set)):
        return kind, sorted(map(plain, output))
    if isinstance(output, processor.column_accumulator):
        return kind, type(output.value), sorted(output.value.tolist())
    if isinstance(output, processor.value_accumulator):
        return kind, plain(output.value), output.default_factory
    if isinstance(output, hist.Hist):
        return kind, output.values().tolist(), str(output.axes)
    if isinstance(output, (np.ndarray, ak.Array)):
        return kind, output.tolist(), str(getattr(output, "dtype", None))
    return kind, vars(output) if hasattr(output, "__dict__") else output
