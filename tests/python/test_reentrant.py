"""What the fuzzer of the extension has found, each as small as it gets: see fuzz/README.md."""

from __future__ import annotations

import contextlib

import pytest
from samples import Events

from roastcoffea import track_metrics


class Nested:
    """A processor that runs another chunk, and takes what that raises, when something is put onto it."""

    inner = None
    _roastcoffea_collect_metrics = True

    def __setattr__(self, name, value):
        super().__setattr__(name, value)
        self.run_inner()

    def __delattr__(self, name):
        super().__delattr__(name)
        self.run_inner()

    def run_inner(self):
        if self.inner is not None:
            with contextlib.suppress(SystemExit):
                self.inner()

    @track_metrics
    def process(self, events):
        return {}


def test_what_must_pass_is_not_taken_by_a_chunk_inside():
    """The outer call was left without a result and without an exception."""

    class Leaves(Events):
        @property
        def attrs(self):
            raise SystemExit("outer")

    processor, other = Nested(), Nested()
    vars(processor)["inner"] = lambda: other.process(Leaves())
    with pytest.raises(SystemExit, match="outer"):
        processor.process(Leaves())
