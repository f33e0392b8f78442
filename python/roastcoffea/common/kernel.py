"""Whether this process is the kernel of a notebook."""

from __future__ import annotations

import sys

__all__ = ["in_kernel"]


def in_kernel() -> bool:
    """True below a cell of a notebook; False in IPython in a terminal. Imports nothing."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and getattr(shell, "kernel", None) is not None
