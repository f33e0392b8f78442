"""Every plot of a run at once."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any

from roastcoffea import _core
from roastcoffea.aggregation.on_demand import MadeOnDemand
from roastcoffea.visualization.binning import tasks, worker_counts
from roastcoffea.visualization import PLOTS
from roastcoffea.visualization._data import run_of, start_of, tracking_of
from roastcoffea.visualization._figure import unshown

__all__ = ["Plots", "plot_all"]


class Plots(dict[str, Path]):
    """``{name: file}`` of the plots that were made; ``left_out`` gives the reason for the others."""

    def __init__(self) -> None:
        super().__init__()
        self.left_out: dict[str, str] = {}

    def __repr__(self) -> str:
        return f"<Plots: {len(self)} made, {len(self.left_out)} left out>"


class _Source:
    """The data of the plots, each part looked up once."""

    def __init__(self, source: Any) -> None:
        run = source if isinstance(source, _core.Run) else getattr(source, "run", None)
        self.run: _core.Run | None = run if isinstance(run, _core.Run) else None
        self.metrics = self._metrics_of(source)
        self.tracking = self._part(source, "tracking_data", "tracking_data")
        if self.run is not None and self.run.series is not None:
            self.tracking = self.run
        self.chunks = self._chunks_of(self._part(source, "chunk_metrics", "raw_chunk_metrics"))
        self.info = self.chunks if self.chunks is not None else self.metrics.get("chunk_info")
        self.reads = self.chunks.reads if self.chunks is not None and len(self.chunks.reads) else None
        self.tasks = self.chunks if self.chunks is not None else self.run
        self.spans = self._part(source, "span_metrics", "raw_span_metrics")
        if not self.spans and self.run is not None:
            self.spans = self.run.spans
        self.budget = self._budget_of(source) or {}

    def _chunks_of(self, chunks: Any) -> _core.Run | None:
        """A run with chunks; None if there are none."""
        if self.run is not None and len(self.run.chunks):
            return self.run
        zero = start_of(self.run) or self._earliest(chunks)
        if isinstance(self.tracking, Mapping) and start_of(self.tracking) is None:
            self.tracking = MadeOnDemand(functools.partial(dict, self.tracking), run_start=zero)
        return _core.Run(chunks=chunks, t_start=zero, t_end=zero) if chunks else None

    def _earliest(self, chunks: Any) -> float | None:
        """The first moment of plain data, which do not know when their run began: the zero of all their plots."""
        moments = []
        with suppress(TypeError, ValueError):  # each plot says itself what is wrong
            if self.tracking is not None and (counts := worker_counts(tracking_of(self.tracking))) is not None:
                moments.append(counts.start)
            if chunks and (bars := tasks(run_of(chunks))) is not None:
                moments.append(bars.bars.start)
        return min(moments, default=None)

    def _metrics_of(self, source: Any) -> Mapping[str, Any]:
        if isinstance(source, Mapping):
            return source
        found = None if isinstance(source, _core.Run) else getattr(source, "metrics", None)
        if isinstance(found, Mapping):
            return found
        if self.run is not None:
            return self.run.metrics()
        raise TypeError(
            "plots are made of metrics, a Run, a MetricsCollector whose context has ended or a "
            f"saved measurement; not of {type(source).__name__}"
        )

    def _part(self, source: Any, attribute: str, key: str) -> Any:
        found = (
            None if isinstance(source, Mapping | _core.Run) else getattr(source, attribute, None)
        )
        return found if found is not None else self.metrics.get(key)

    def _budget_of(self, source: Any) -> Any:
        if "budget" in self.metrics:
            return self.metrics["budget"]
        make = getattr(source, "budget", getattr(self.run, "budget", None))
        return make() if callable(make) else {}


def plot_all(run_or_metrics: Any, folder: str | PathLike[str], format: str = "png") -> Plots:
    """Saves every plot that there is data for into `folder` as ``<name>.<format>``.

    `run_or_metrics` is a MetricsCollector, a Run, a loaded measurement, or a mapping of metrics.
    Returns ``{name: file}``; ``.left_out`` is ``{name: reason}``.
    """
    source = _Source(run_or_metrics)
    made = Plots()
    Path(folder).mkdir(parents=True, exist_ok=True)
    with unshown():
        for plot, (module, *parts) in PLOTS.items():
            draw = getattr(import_module(f"roastcoffea.visualization.plots.{module}"), plot)
            name = plot.removeprefix("plot_")
            path = Path(folder) / f"{name}.{format.lstrip('.')}"
            try:
                draw(*(getattr(source, part) for part in parts), output_path=path)
            except ValueError as reason:
                made.left_out[name] = str(reason)
            else:
                made[name] = path
    return made
