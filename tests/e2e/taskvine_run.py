"""A run of Coffea's own TaskVineExecutor, with a stand-in for TaskVine: `taskvine_run.py FOLDER FILE`. A program of its own:
Coffea's executor takes the interrupt of its process. Prints what was measured."""

from __future__ import annotations

import json
import sys
import weakref
from contextlib import suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "vine"))

from coffea import processor  # noqa: E402
from coffea.nanoevents import NanoAODSchema  # noqa: E402
from coffea.processor import taskvine_executor  # noqa: E402

from roastcoffea import MetricsCollector, _core, track_metrics  # noqa: E402

FOLDER, FILE = sys.argv[1:]
managers = []


class Proc(processor.ProcessorABC):
    @track_metrics
    def process(self, events):
        raised = Path(FOLDER) / "raised"
        before = raised.stat().st_size if raised.exists() else 0
        if events.metadata["entrystart"] == 0 and before < 3:  # both tries inside the first task, one inside the next
            raised.write_text("x" * (before + 1))
            raise RuntimeError("told to raise")
        return {"events": len(events)}

    def postprocess(self, accumulator):
        return accumulator


def theirs(manager):
    managers.append(weakref.ref(manager))


executor = processor.TaskVineExecutor(
    filepath=FOLDER, custom_init=theirs, retries=1, treereduction=2, status=False, compression=1
)
runner = processor.Runner(executor, schema=NanoAODSchema, chunksize=250, savemetrics=True)
output = None
with suppress(KeyboardInterrupt), MetricsCollector(runner, output_dir=FOLDER, measurement_name="m") as mc:
    output, report = runner({"data": {"files": {FILE: "Events"}}}, Proc())
records = mc.attempts
budget = mc.run.budget()
print(json.dumps({
    "backend": mc.backend,
    "output": output,
    "chunks": [[chunk["task_key"], chunk["num_events"]] for chunk in mc.chunk_metrics if not chunk.get("error")],
    "repeated": [[chunk["task_key"], chunk["worker"], chunk.get("error")] for chunk in mc.chunk_metrics if chunk.get("error")],
    "tries": [[one["key"], one["kind"], one["outcome"]] for one in records],
    "raised": [str(one) for one in records if one["outcome"] == "raised"],
    "custom_init": executor.custom_init is theirs,
    "calls": len(managers),
    "alive": taskvine_executor.manager is not None or any(one() is not None for one in managers),
    "parts": budget["parts"],
    "available": budget["available_core_seconds"],
    "by_worker": sorted(str(name) for name in mc.run.budget("worker")),
    "named": sorted({str(chunk["worker"]) for chunk in mc.chunk_metrics}),
    "workers": mc.metrics["avg_workers"],
    "wall": mc.metrics["wall_time"],
    "advice": [[finding["kind"], finding["advice"]] for finding in mc.diagnose()],
    "findings": [[finding["kind"], finding["severity"], finding["title"]] for finding in mc.diagnose()],
    "transfers": mc.metrics["transfer_manager_bytes"],
    "jobs": mc.run.meta.get("worker_jobs"),
    "notes": list(mc.notes),
    "outcome": mc.outcome,
    "engine": mc.run.meta["engine"],
    "by_host": sorted(str(name) for name in mc.run.budget("host")),
    "before": [chunk.get("before_process_s") for chunk in mc.chunk_metrics if not chunk.get("error")],
    "before_seconds": mc.metrics["before_process_seconds"],
    "branches": {str(file): known["total_branches"] for file, known in mc.metrics["file_metadata"].items()},
    "ending": mc.run.ending,
    "failed": [[item.entrystart, item.entrystop] for item in mc.failed_fileset()],
    "outputs": [int(line) for line in Path(FOLDER, "outputs.txt").read_text().split()],
    "tables": [table["title"] for table in _core.Summary(mc.run).tables],
}))
