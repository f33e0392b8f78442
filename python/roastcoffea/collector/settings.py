"""What a user asks of a collector."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from roastcoffea.export.measurements import measurement_path
from roastcoffea.collector.provenance import checked
from roastcoffea.collector.textfile import textfile_path

__all__ = ["Settings"]


@dataclass
class Settings:
    """Arguments of a MetricsCollector, which documents them. What is wrong with one is said at once."""

    output_dir: str | os.PathLike[str] | None
    measurement_name: str | None
    overwrite: bool
    config: Mapping[str, Any] | None
    live: bool
    provenance: Mapping[str, str | bool] | None
    dashboard: bool | Literal["workers"]
    textfile: str | os.PathLike[str] | None

    def __post_init__(self) -> None:
        self.texts: dict[str, str | bool] = checked(self.provenance)
        if self.dashboard not in (False, True, "workers"):
            raise ValueError(f'dashboard: True, False or "workers" is expected, not {self.dashboard!r}')
        self.textfile_path: Path | None = textfile_path(self.textfile)
        if self.output_dir is not None and self.measurement_name is not None:
            measurement_path(self.output_dir, self.measurement_name)
