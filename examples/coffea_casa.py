"""Set-up on coffea-casa, or any facility with a running Dask cluster: paste it into the first cell of a notebook.

Workers need `roastcoffea` without extras. A facility that does not have it installs it once a worker, in seconds, before the
first task. Without it the run works, too: then there are rates and workers, but no records of chunks.
"""

from __future__ import annotations

import os
from typing import Any

from coffea import processor
from coffea.nanoevents import NanoAODSchema
from distributed import Client, PipInstall

from roastcoffea import MetricsCollector


def connect(address: str | None = None, install: bool = True) -> Client:
    """The cluster of the facility; by default that of coffea-casa."""
    client = Client(address or os.environ.get("DASK_SCHEDULER_ADDRESS", "tls://localhost:8786"))
    if install:
        client.register_plugin(PipInstall(packages=["roastcoffea"]))
    return client


def run(client: Client, fileset: dict[str, Any], analysis: Any, output_dir: str = "measurements") -> MetricsCollector:
    """One analysis, measured, with a live line below the cell."""
    runner = processor.Runner(processor.DaskExecutor(client=client, status=False), schema=NanoAODSchema)
    with MetricsCollector(client, output_dir=output_dir, live=True, provenance={"site": "coffea-casa"}) as mc:
        runner(fileset, analysis)
    return mc


# In the next cells:
#
#     client = connect()
#     mc = run(client, fileset, MyProcessor())
#     mc                                    # the summary, as a table
#     mc.diagnose()                         # what to change
#     roastcoffea.board("measurements")     # all runs in a browser; docs/board.md has the proxy's settings
