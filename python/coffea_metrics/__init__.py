"""The second dialect: every public name of roastcoffea, under the name coffea_metrics."""

from typing import TYPE_CHECKING, Any

import roastcoffea

if TYPE_CHECKING:
    from roastcoffea import *

__all__ = roastcoffea.__all__
__version__ = roastcoffea.__version__


def __getattr__(name: str) -> Any:
    # On demand, so that a name that needs matplotlib costs nothing until it is used.
    if name in __all__:
        return getattr(roastcoffea, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, "__version__"})
