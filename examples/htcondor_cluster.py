"""A template: an analysis on workers that HTCondor starts, by dask-jobqueue. Fill in what is in capital letters.

    pip install dask-jobqueue "roastcoffea[all]"
    python htcondor_cluster.py

For Slurm take SLURMCluster instead; its `job_extra_directives` are a list of texts such as "--account=NAME".
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ttbar_data
from coffea import processor
from coffea.nanoevents import NanoAODSchema
from dask_jobqueue import HTCondorCluster
from distributed import Client
from ttbar import TopAnalysis

from roastcoffea import MetricsCollector

WORKERS = 20
SHARED = Path("SHARED-FOLDER")  # that jobs and this machine both see


def make_cluster() -> Any:
    """One worker with one thread a job: Python threads that build events wait for each other."""
    return HTCondorCluster(
        cores=1,
        memory="2GB",
        disk="1GB",
        python="python3",  # of an environment with coffea and roastcoffea (without extras)
        log_directory=str(SHARED / "logs"),
        death_timeout=600,  # seconds that a worker waits for a scheduler it cannot see
        job_extra_directives={"+JobFlavour": '"longlunch"', "MY.SendCredential": "True"},
    )


def main() -> MetricsCollector:
    fileset = ttbar_data.make(SHARED / "data")  # or your own
    with make_cluster() as cluster, Client(cluster) as client:
        cluster.scale(WORKERS)
        client.wait_for_workers(1)  # the rest may come later: each joins when its job starts
        for module in ("ttbar.py", "ttbar_data.py"):
            client.upload_file(str(Path(__file__).with_name(module)))
        runner = processor.Runner(processor.DaskExecutor(client=client, status=False), schema=NanoAODSchema)
        # The measurement can be followed from another terminal: roast top SHARED-FOLDER/measurements
        with MetricsCollector(client, output_dir=SHARED / "measurements", provenance={"site": "NAME-OF-THE-SITE"}) as mc:
            runner(fileset, TopAnalysis())
    mc.print_summary()
    mc.save_report(SHARED / "report.html")
    return mc


if __name__ == "__main__":
    main()
