"""``roast compare``: the program checks the options and becomes ``python -m roastcoffea compare``.

Output, messages and exit codes are those of the program.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from typing import Any

from roastcoffea import _core

__all__ = ["VERBS", "run_verb"]

VERBS = {
    "compare": "what differs between runs, and whether it is more than chance",
    "scaling": "how the event rate of several runs depends on their cores",
    "trend": "a metric of many runs over time, and where it changed",
}

OK, NO, USAGE, INPUT, DAMAGED, INTERNAL = range(6)  # as the program has them
_NEXT_LS = '"roast ls" lists the measurements below a folder'


class _Stop(Exception):
    """The end of a verb: exit code, message, and what to do next."""

    def __init__(self, code: int, message: str, advice: str | None = None) -> None:
        super().__init__(message)
        self.code, self.message, self.advice = code, message, advice


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> Any:
        raise _Stop(USAGE, message, f'"roast help {self.prog.split()[-1]}" shows how it is used')


def run_verb(verb: str, words: Sequence[str]) -> int:
    """Runs a verb of the program; returns its exit code."""
    try:
        return _RUN[verb](words)
    except _Stop as stop:
        return _say(stop.code, stop.message, stop.advice)
    except FileNotFoundError as error:
        return _say(INPUT, f"not found: {error}", _NEXT_LS)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes once more at its end
        return INTERNAL
    except ImportError as error:
        return _say(INPUT, str(error))
    except OSError as error:
        return _say(INPUT, str(error), _NEXT_LS)
    except ValueError as error:
        return _say(DAMAGED, str(error), _NEXT_LS)
    except MemoryError:
        return _say(INTERNAL, "out of memory")
    except KeyboardInterrupt:
        return 130


def _say(code: int, message: str, advice: str | None = None) -> int:
    lines = [f"roast: {_clean(message)}\n"] + ([f"       {_clean(advice)}\n"] if advice else [])
    sys.stderr.buffer.write("".join(lines).encode("utf-8", "surrogateescape"))
    sys.stderr.flush()
    return code


def _clean(text: str) -> str:
    """A message may hold names of files: it is made safe to show."""
    return _core.wrap_text(text.encode("utf-8", "replace").decode(), 0, 1_000_000)


def _put(text: str) -> None:
    sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
    sys.stdout.buffer.flush()


def _width() -> int:
    return shutil.get_terminal_size().columns


def _color() -> bool:
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def _json(known: Any) -> str:
    return json.dumps(known, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


# ---- compare ----


def _compare(words: Sequence[str]) -> int:
    parser = _Parser(prog="roast compare", allow_abbrev=False, add_help=False)
    parser.add_argument("runs", nargs="*")
    parser.add_argument("-f", "--fail-on", action="append", default=[])
    parser.add_argument("--runs-differ", type=_share)
    parser.add_argument("--strict", action="store_true")
    parser.add_argument("--json", action="store_true")
    divided = "--" in words
    at = words.index("--") if divided else len(words)
    options = parser.parse_intermixed_args(words[:at])
    a, b = options.runs, []
    if divided:
        options = parser.parse_intermixed_args(words[at + 1:], options)
        b = options.runs
    if not a or (divided and not b) or (not divided and len(a) < 2):
        raise _Stop(USAGE, "there is nothing to compare with", "give at least two measurements: roast compare A B")
    code = OK
    for place, (first, second) in enumerate([(a, b)] if divided else [(a[:1], [other]) for other in a[1:]]):
        if place > 0:
            _put("\n")
        code = max(code, _compare_two(first, second, options))
    return code


def _share(text: str) -> float:
    """A number, in per cent or not: "3%", "0.03"."""
    number = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    if not 0 <= number <= 1:
        raise argparse.ArgumentTypeError(f'"{text}" is no share: write 3%')
    return number


def _compare_two(a: list[str], b: list[str], options: argparse.Namespace) -> int:
    from roastcoffea.collector.results import compare
    from roastcoffea.runs.gate import UNSURE

    found = compare(a, b, runs_differ=options.runs_differ)
    code = OK
    for condition in options.fail_on:
        try:
            failed, why = found.gate(condition, options.strict)
        except ValueError as error:
            raise _Stop(USAGE, str(error), '"roast help compare" shows conditions') from error
        if failed:
            code = _say(NO, f"{condition}: {why}")
        elif UNSURE in why:
            _say(OK, f"passed: {condition}: {why}")
    _put(_json(found.as_dict()) if options.json else found._draw(_width(), _color()))
    return code


# ---- scaling ----


def _scaling(words: Sequence[str]) -> int:
    from roastcoffea.scaling_runs import Scaling

    parser = _Parser(prog="roast scaling", allow_abbrev=False, add_help=False)
    parser.add_argument("runs", nargs="*")
    parser.add_argument("-c", "--cores", action="append", default=[], type=float)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_intermixed_args(words)
    if not options.runs:
        raise _Stop(USAGE, "no measurement was named", _NEXT_LS)
    found = Scaling(options.runs, options.cores)
    _put(_json(found.as_dict()) if options.json else found._draw(_width(), _color()))
    return OK


# ---- trend ----


def _trend(words: Sequence[str]) -> int:
    from roastcoffea.trend_runs import Trend

    parser = _Parser(prog="roast trend", allow_abbrev=False, add_help=False)
    parser.add_argument("folders", nargs="*")
    parser.add_argument("-m", "--metric", default="event_rate_core_khz")
    parser.add_argument("-w", "--where", action="append", default=[])
    parser.add_argument("-e", "--error-rate", type=float, default=0.01)
    parser.add_argument("-d", "--depth", type=int, default=16)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_intermixed_args(words)
    found = Trend(options.folders, options.metric, options.where, options.error_rate, options.depth)
    if found._found.measurements == 0:
        _say(OK, "no measurement was found")
    _put(_json(found.as_dict()) if options.json else found._draw(_width(), _color(), _ascii()))
    return OK


def _ascii() -> bool:
    """Whether the characters of the environment's locale are not UTF-8; Python itself may have chosen another one."""
    import locale

    names = (os.environ.get(name) for name in ("LC_ALL", "LC_CTYPE", "LANG"))
    name = next(filter(None, names), "C")
    try:
        return "utf" not in (locale.normalize(name).partition(".")[2] or name).lower()
    except ValueError:
        return True


_RUN: dict[str, Callable[[Sequence[str]], int]] = {"compare": _compare, "scaling": _scaling, "trend": _trend}
