"""For Dask's scheduler: shows every collector that is open there at /roast, and its numbers at /roast/metrics.

A facility names this module in the configuration of Dask, ``distributed.scheduler.preload: [roastcoffea.preload]``, or
starts the scheduler with ``--preload roastcoffea.preload`` (docs/facility.md).
"""

from __future__ import annotations

import logging
from typing import Any

from roastcoffea.backends.dask.exposed import EXTENSION

__all__ = ["dask_setup", "dask_teardown", "put_on"]


def put_on(scheduler: Any, shows_all: bool = False) -> None:
    """Adds the two addresses, unless they are there."""
    from roastcoffea.backends.dask.page import SchedulerPage

    SchedulerPage.put_on(scheduler, shows_all)


def dask_setup(server: Any) -> None:
    """Dask calls it when the scheduler starts. Whatever fails here, the scheduler starts all the same."""
    try:
        if hasattr(server, "http_application") and hasattr(server, "task_prefixes"):  # a scheduler, not a worker
            put_on(server, shows_all=True)
    except Exception:
        logging.getLogger("roastcoffea").warning("there is no page /roast on this scheduler", exc_info=True)


def dask_teardown(server: Any) -> None:
    page = getattr(server, "extensions", {}).get(EXTENSION)
    if page is not None:
        page.take_off()
