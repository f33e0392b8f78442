"""Takes back what a run has put in place, whatever interrupts it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from roastcoffea.common.guard import tell, words

__all__ = ["Undo"]


class Undo:
    """Steps, each added before what it takes back is put in place; the last one is taken first.

    Ctrl-C may land between any two lines. The step in which it lands is taken again, and the others as well; then the
    interrupt goes on to the user. So a step may be taken twice, and does no harm where nothing was put in place. A second
    Ctrl-C in the same step ends that step.
    """

    def __init__(self) -> None:
        self._steps: list[tuple[Callable[..., object], tuple[Any, ...]]] = []

    def add(self, function: Callable[..., object], *args: Any) -> None:
        self._steps.append((function, args))

    def close(self) -> None:
        interrupted: BaseException | None = None
        again = None
        while self._steps:
            try:
                while self._steps:
                    function, args = self._steps[-1]
                    function(*args)
                    self._steps.pop()
            except Exception as error:
                tell(f"the end of the run: {words(error)}")
                self._steps.pop()
            except BaseException as error:
                interrupted = error
                if self._steps and again is self._steps[-1]:
                    self._steps.pop()
                again = self._steps[-1] if self._steps else None
        if interrupted is not None:
            raise interrupted
