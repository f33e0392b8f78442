"""What the engine answers about runs: a headline, and tables that it draws."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from typing import Any

__all__ = ["Answer", "print_drawn"]


def print_drawn(draw: Callable[[int, bool], str]) -> None:
    """Prints what the engine draws for a width, and in colors or not: as the terminal is."""
    color = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    print(draw(shutil.get_terminal_size().columns, color), end="")


class Answer:
    """The base of comparison, scaling, trend, what-if and advice."""

    headline: str  #: the answer in a sentence
    _engine: Any

    def print_summary(self) -> None:
        """Prints the headline and what belongs to it."""
        print_drawn(self._draw)

    def _draw(self, width: int = 80, color: bool = False) -> str:
        text: str = self._engine.draw(width, color)
        return text

    def __str__(self) -> str:
        return self._draw()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.headline}>"
