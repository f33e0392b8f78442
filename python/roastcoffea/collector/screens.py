"""Where one line of text is shown and replaced: a terminal, or the output of a notebook's cell."""

from __future__ import annotations

import os
import shutil
import sys
from importlib import import_module
from typing import Any, Protocol, TextIO

from roastcoffea.common.kernel import in_kernel

__all__ = ["Notebook", "Screen", "Terminal", "find_screen"]


class Screen(Protocol):
    """One line of text."""

    @property
    def columns(self) -> int | None:
        """The longest line that fits; None: any does."""

    def begin(self) -> None:
        """Called in the thread of the user's code."""

    def show(self, text: str) -> None:
        """Replaces the line. Any thread may call it, one at a time."""

    def erase(self) -> None:
        """Makes way for what others write."""

    def end(self, text: str) -> None:
        """Replaces the line for the last time."""


def find_screen(stream: TextIO | None = None) -> Screen | None:
    """Where a line can be replaced; `stream` (default: standard error) may be a terminal. None: nowhere."""
    if in_kernel():
        return Notebook()
    terminal = Terminal(sys.stderr if stream is None else stream)
    return terminal if terminal.can_go_back else None


class Notebook:
    """An output of the cell that is executed. It needs no package for widgets."""

    columns = None

    def __init__(self) -> None:
        self._handle: Any = None

    def begin(self) -> None:
        # The message tells the notebook to which cell the output belongs; updates find it by its name.
        self._handle = import_module("IPython.display").display(_plain(""), raw=True, display_id=True)

    def show(self, text: str) -> None:
        if self._handle is not None:
            self._handle.update(_plain(text), raw=True)

    def erase(self) -> None:
        pass  # the last state stays until `end` replaces it

    def end(self, text: str) -> None:
        self.show(text)


def _plain(text: str) -> dict[str, str]:
    return {"text/plain": text}


class Terminal:
    """A line of a terminal, without colours. While Coffea's progress bar is on the screen, the line is below it: the
    bar expects the cursor in its own last line, and the cursor goes back there."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._width = 0  # of the text in the terminal

    @property
    def can_go_back(self) -> bool:
        try:
            return self._stream.isatty() and os.environ.get("TERM") != "dumb"
        except (AttributeError, ValueError):  # no stream, or a closed one
            return False

    @property
    def columns(self) -> int:
        try:
            columns = os.get_terminal_size(self._stream.fileno()).columns
        except (AttributeError, OSError, ValueError):
            columns = 0
        # A terminal that does not know its width says 0. One column stays free: a full line would make the terminal
        # begin another one.
        return max((columns or shutil.get_terminal_size().columns) - 1, 1)

    def begin(self) -> None:
        pass

    def show(self, text: str) -> None:
        line = text + " " * (self._width - len(text))
        self._put(f"\r\n{line}\x1b[A\r" if coffeas_bar_is_up() else f"\r{line}")
        self._width = len(text)

    def erase(self) -> None:
        if self._width:
            self.show("")
            self._put("\r")

    def end(self, text: str) -> None:
        self.erase()
        self._put(f"{text}\n")

    def _put(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):  # the terminal is gone
            pass


def coffeas_bar_is_up() -> bool:
    """Whether Coffea draws a progress bar in the terminal now. `status=False` does not tell: local executors draw one
    all the same."""
    console = getattr(sys.modules.get("coffea.util"), "coffea_console", None)
    if console is None or not console.is_terminal or console.quiet:
        return False
    # rich has no public name for it; the second one is that of its older versions.
    return bool(getattr(console, "_live_stack", None) or getattr(console, "_live", None))
