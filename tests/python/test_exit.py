"""A program that used us ends as it would without us, also where the allocator notices memory that is used after it was
freed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TRACKERS = {
    "track_time": "roastcoffea.track_time(processor, 'x')",
    "track_section": "roastcoffea.track_section(processor, 'x')",
    "track_memory": "roastcoffea.track_memory(processor, 'x')",
    "track_bytes": "roastcoffea.track_bytes(processor, events, 'x')",
}
IN_A_CHUNK = """
import roastcoffea
class Processor:
    _roastcoffea_collect_metrics = True
    @roastcoffea.track_metrics
    def process(self, events):
        processor = self
        for _ in range(300):
            with {tracker}:
                pass
        return {{}}
Processor().process([])
"""
OUTSIDE = """
import roastcoffea
processor, events = None, []
with {tracker} as kept:
    processor = kept  # left alone, in a cycle with the module
"""
# An object of every type is alive at the end, in a cycle, after all calls that the leak tests make.
ALL_CALLS = """
import test_leaks
kept = [make() for make in test_leaks.FULL.values()]
kept += [kept, test_leaks.LOG[0], *(use() for use in test_leaks.USES)]
"""
PROGRAMS = {
    **{f"{name} in a chunk": IN_A_CHUNK.format(tracker=tracker) for name, tracker in TRACKERS.items()},
    **{f"{name} outside": OUTSIDE.format(tracker=tracker) for name, tracker in TRACKERS.items()},
    "all calls": ALL_CALLS,
}
# What makes the interpreter, or the C library, notice such memory or fill it with rubbish.
WATCHED = {
    "dev": {"PYTHONDEVMODE": "1"},
    "debug": {"PYTHONMALLOC": "debug"},
    "perturb": {"PYTHONMALLOC": "malloc", "MALLOC_PERTURB_": "165"},
}


@pytest.mark.skipif("asan" in os.environ.get("LD_PRELOAD", ""), reason="ASan is an allocator that notices more")
@pytest.mark.parametrize("watched", WATCHED)
@pytest.mark.parametrize("program", PROGRAMS)
def test_the_end_of_a_program(program, watched):
    environment = {**os.environ, **WATCHED[watched], "PYTHONPATH": str(Path(__file__).parent)}
    done = subprocess.run([sys.executable, "-c", PROGRAMS[program]], env=environment, capture_output=True, text=True, errors="replace",
                          timeout=120)
    assert done.returncode == 0, f"{done.returncode}\n{done.stdout}{done.stderr}"
    assert "Fatal" not in done.stderr
