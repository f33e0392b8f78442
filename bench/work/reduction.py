"""A tree reduction as Coffea does it: 20 outputs are unpickled, added up, and the sum is pickled."""

from __future__ import annotations

import gc
import pickle
from collections.abc import Callable, Iterator
from operator import itemgetter
from pathlib import Path
from time import perf_counter
from typing import Any

from coffea.processor import accumulate

from bench.work.chunks import KEY, Output, added, make_outputs

FAN_IN = 20


class Tree:
    """One reduction: seconds of each part, and the sizes of what was moved."""

    def __init__(self, outputs: list[Output], add: Callable[[list[Output]], Output]) -> None:
        self.pickle = self.unpickle = self.add = 0.0
        self.moved: list[int] = []
        items = outputs
        while len(items) > 1:
            packed = self._pickled(items)
            items = [self._sum(packed[i:i + FAN_IN], add) for i in range(0, len(packed), FAN_IN)]
        self.result = items[0]

    def _pickled(self, items: list[Output]) -> list[bytes]:
        start = perf_counter()
        packed = [pickle.dumps(item, pickle.HIGHEST_PROTOCOL) for item in items]
        self.pickle += perf_counter() - start
        self.moved += map(len, packed)
        return packed

    def _sum(self, packed: list[bytes], add: Callable[[list[Output]], Output]) -> Output:
        t0 = perf_counter()
        items = [pickle.loads(one) for one in packed]
        t1 = perf_counter()
        result = add(items)
        t2 = perf_counter()
        self.unpickle += t1 - t0
        self.add += t2 - t1
        return result

    @property
    def seconds(self) -> float:
        return self.pickle + self.unpickle + self.add


class Floor:
    """The least that moving as much can cost: seconds to copy bytes of the same sizes, to pickle and
    unpickle them, and to do so with an object of a C type around them in a dict, as a log is."""

    def __init__(self, sizes: list[int]) -> None:
        self.payloads = [bytes(size) for size in sizes]
        self.objects = [{KEY: itemgetter(payload)} for payload in self.payloads]

    def copy(self) -> float:
        start = perf_counter()
        for payload in self.payloads:
            bytearray(payload)
        return perf_counter() - start

    def bytes_through_pickle(self) -> float:
        start = perf_counter()
        for payload in self.payloads:
            pickle.loads(pickle.dumps(payload, pickle.HIGHEST_PROTOCOL))
        return perf_counter() - start

    def pickle_objects(self) -> float:
        start = perf_counter()
        self.packed = [pickle.dumps(one, pickle.HIGHEST_PROTOCOL) for one in self.objects]
        return perf_counter() - start

    def unpickle_objects(self) -> float:
        start = perf_counter()
        for one in self.packed:
            pickle.loads(one)
        return perf_counter() - start


_outputs: list[Output] = []
_floor: Floor | None = None


def prepare(chunks: int, branches: int) -> dict[str, float]:
    """Bytes a chunk that are moved: into the merges of all levels, and the result's way to the client."""
    global _floor
    _outputs[:] = make_outputs(chunks, branches)
    tree = Tree(_outputs, added)
    kept = len(tree.result[KEY])
    if kept != chunks:
        raise AssertionError(f"{kept} chunks of {chunks} came out")
    result = len(pickle.dumps(tree.result, pickle.HIGHEST_PROTOCOL))
    _floor = Floor(tree.moved)
    _floor.pickle_objects()
    gc.collect()
    gc.freeze()
    return {"moved": (sum(tree.moved) + result) / chunks, "result": result / chunks}


def reduce() -> dict[str, float]:
    """Seconds a chunk, all levels together."""
    tree, n = Tree(_outputs, added), len(_outputs)
    return {"all": tree.seconds / n, "pickle": tree.pickle / n, "unpickle": tree.unpickle / n,
            "add": tree.add / n}


def beside() -> dict[str, float]:
    """What is measured beside it: the floors, and Coffea's accumulate() of two integers, with the records, with an empty
    list in their place, and without."""
    n, floor = len(_outputs), _floor
    assert floor is not None
    bare: list[Output] = [{"n": 1, "m": 1} for _ in _outputs]
    with_list: list[Output] = [{"n": 1, "m": 1, KEY: []} for _ in _outputs]
    with_records: list[Output] = [{"n": 1, "m": 1, **output} for output in _outputs]
    return {
        "copy": floor.copy() / n,
        "bytes": floor.bytes_through_pickle() / n,
        "pickle": floor.pickle_objects() / n,
        "unpickle": floor.unpickle_objects() / n,
        "Coffea": Tree(with_records, accumulate).seconds / n,
        "Coffea, a list": Tree(with_list, accumulate).seconds / n,
        "Coffea alone": Tree(bare, accumulate).seconds / n,
    }


# ---- any number of chunks ----


def _leaves(path: Path) -> Iterator[bytes]:
    """Packed logs of one chunk each, as bench_store wrote them."""
    with path.open("rb") as file:
        while size := file.read(4):
            yield file.read(int.from_bytes(size, "little"))


class _Growing:
    """A reduction that holds what a cluster would: at each level what waits for its merge."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.waiting: list[list[bytes]] = [[]]

    def take(self, level: int, packed: bytes) -> None:
        if level == len(self.waiting):
            self.waiting.append([])
        self.waiting[level].append(packed)
        if len(self.waiting[level]) == FAN_IN:
            self._merge(level)

    def _merge(self, level: int) -> None:
        group, self.waiting[level] = self.waiting[level][::-1], []
        start = perf_counter()
        items = []
        while group:
            items.append(pickle.loads(group.pop()))  # a message is gone when it has been unpickled
        result = added(items)
        del items
        packed = pickle.dumps(result, pickle.HIGHEST_PROTOCOL)
        self.seconds += perf_counter() - start
        del result
        self.take(level + 1, packed)

    def finish(self) -> Any:
        level = 0
        while level < len(self.waiting) - 1 or len(self.waiting[level]) > 1:
            if self.waiting[level]:
                self._merge(level)
            level += 1
        return pickle.loads(self.waiting[-1].pop())


def grow(leaves: str) -> dict[str, float]:
    """Seconds a chunk of a reduction of all leaves, each of which is pickled first; ours only."""
    from roastcoffea._core import ChunkLog

    tree, count, packing = _Growing(), 0, 0.0
    for leaf in _leaves(Path(leaves)):
        output = {KEY: ChunkLog.from_bytes(leaf)}
        start = perf_counter()
        packed = pickle.dumps(output, pickle.HIGHEST_PROTOCOL)
        packing += perf_counter() - start
        tree.take(0, packed)
        count += 1
    kept = len(tree.finish()[KEY])
    if kept != count:
        raise AssertionError(f"{kept} chunks of {count} came out")
    return {"seconds": (tree.seconds + packing) / count}


def held() -> dict[str, float]:
    """The most memory that this process held."""
    text = Path("/proc/self/status").read_text()
    line = next(line for line in text.splitlines() if line.startswith("VmHWM:"))
    return {"bytes": 1024 * int(line.split()[1])}
