"""What the Python tests share: a processor of every kind, and events made on the spot."""

from __future__ import annotations

import mmap
import os

import pytest

from roastcoffea import track_memory, track_metrics, track_time


# For tests that fork: the child hangs where another thread was inside of ASan's allocator.
forks = pytest.mark.skipif("asan" in os.environ.get("LD_PRELOAD", ""), reason="ASan does not survive every fork")


class Events(list):
    """Events as Coffea hands them over, as far as the decorator looks at them."""

    def __init__(self, n=3, **metadata):
        super().__init__(range(n))
        self.metadata = {
            "dataset": "ttbar",
            "filename": "root://host//store/ttbar_1.root",
            "treename": "Events",
            "entrystart": 100,
            "entrystop": 100 + n,
            "fileuuid": "0b1e2a1c-3c5d-11ee-8c99-0242ac120002",
            **metadata,
        }


def block_of(size):
    """Memory that is really touched, and really given back when it is closed."""
    block = mmap.mmap(-1, size)
    for page in range(0, size, 4096):
        block[page] = 1
    return block


class Plain:
    """A processor whose process() does what it is told to."""

    def __init__(self, body=lambda self, events: {}):
        self.body = body
        self._roastcoffea_collect_metrics = True

    @track_metrics
    def process(self, events):
        return self.body(self, events)


class Processor:
    """A decorated processor with sections."""

    _roastcoffea_collect_metrics = True

    @track_metrics
    def process(self, events):
        """Counts."""
        with track_time(self, "selection"):
            with track_time(self, "inner"):
                total = sum(events)
        with track_memory(self, "filling"):
            pass
        return {"n": len(events), "total": total}


def make_log(n, **metadata):
    """A log of n chunks, added up as a reduction would."""
    processor = Processor()
    log = processor.process(Events(1, **metadata))["__roastcoffea_metrics__"]
    for i in range(1, n):
        log += processor.process(Events(i % 7, **metadata))["__roastcoffea_metrics__"]
    return log


@track_metrics
def count(events):
    """A processor that is a plain function, and is found by its name."""
    return {"n": len(events)}
