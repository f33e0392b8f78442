"""What is found in a run of a million chunks on 2,000 workers, as the C program bench_diagnose measures it."""

from __future__ import annotations

from collections.abc import Iterator

from bench.harness import Harness, Row, figure


def rows(harness: Harness) -> Iterator[Row]:
    measured = harness.program("bench_diagnose", str(max(2, harness.rounds // 4)))
    if not measured["findings"]:
        raise AssertionError("nothing was found in a run that has something to find")
    chunks = f"{measured['chunks']:,} chunks"
    yield Row(f"diagnose/findings of {chunks}", "s", figure(measured["diagnose_seconds"]),
              figure(measured["metrics_seconds"]), "the metrics of the same run")
    yield Row(f"diagnose/budget of {chunks}", "s", figure(measured["budget_seconds"]),
              figure(measured["metrics_seconds"]), "the metrics of the same run")
    yield Row(f"diagnose/all from scratch, {chunks}", "s", figure(measured["from_scratch_seconds"]),
              figure(measured["metrics_seconds"]), "the metrics of the same run")
