"""What the extras of this distribution bring: ``pip install 'roastcoffea[plots]'`` and so on, see pyproject.toml.

The package alone needs nothing. A module that needs more asks for it here, before it imports it.
"""

from __future__ import annotations

from importlib import import_module

__all__ = ["needed"]


def needed(what: str, module: str, extra: str) -> None:
    """Imports `module`. If that fails, the ImportError says what needs it, and the command that installs it."""
    try:
        import_module(module)
    except ImportError as error:
        raise ImportError(
            f"{what} needs {module}, which cannot be imported here: python -m pip install 'roastcoffea[{extra}]'"
        ) from error
