"""The second dialect: every public name of roastcoffea, under the name coffea_metrics."""

from typing import TYPE_CHECKING, Any

import roastcoffea
from roastcoffea.backends.base import AbstractMetricsBackend
from roastcoffea.backends.registry import known_backends

if TYPE_CHECKING:
    from roastcoffea import *

__all__ = roastcoffea.__all__
__version__ = roastcoffea.__version__


class MetricsCollector(roastcoffea.MetricsCollector):  # type: ignore[no-redef]
    """In this dialect the folder may follow the executor: ``MetricsCollector(executor, output_dir)``."""

    def __init__(self, client: Any = None, second: Any = None, *args: Any, **options: Any) -> None:
        is_backend = isinstance(second, AbstractMetricsBackend) or second in known_backends()
        if second is not None:
            options["backend" if is_backend else "output_dir"] = second
        backend = options.pop("backend", None)
        super().__init__(client, backend, *args, **options)


def __getattr__(name: str) -> Any:
    # On demand, so that a name that needs matplotlib costs nothing until it is used.
    if name in __all__:
        return getattr(roastcoffea, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, "__version__"})
