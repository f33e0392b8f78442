"""Writes the table of character widths: `python tools/width_ranges.py > src/render/width_ranges.def`.

Two lists of ranges of code points, from the Unicode data of the Python that runs it: characters that take no
column of a terminal, and characters that take two.
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Callable, Iterator

# Hangul vowels and final consonants join the syllable before them.
JOINING_HANGUL = ((0x1160, 0x11FF), (0xD7B0, 0xD7FF))
SOFT_HYPHEN = 0xAD


def takes_no_column(code: int) -> bool:
    if any(first <= code <= last for first, last in JOINING_HANGUL):
        return True
    return code != SOFT_HYPHEN and unicodedata.category(chr(code)) in ("Mn", "Me", "Cf")


def takes_two_columns(code: int) -> bool:
    if takes_no_column(code) or 0xD800 <= code <= 0xDFFF:
        return False
    # planes of ideographs: what is not assigned yet will be wide as well
    if 0x20000 <= code <= 0x2FFFD or 0x30000 <= code <= 0x3FFFD:
        return True
    return unicodedata.east_asian_width(chr(code)) in ("W", "F")


def ranges(belongs: Callable[[int], bool]) -> Iterator[tuple[int, int]]:
    first = None
    for code in range(0x80, 0x110001):
        inside = code < 0x110000 and belongs(code)
        if inside and first is None:
            first = code
        elif not inside and first is not None:
            yield first, code - 1
            first = None


def write(name: str, belongs: Callable[[int], bool]) -> None:
    print(f"static const width_range {name}[] = {{")
    line = "   "
    for first, last in ranges(belongs):
        entry = f" {{{first:#x}, {last:#x}}},"
        if len(line) + len(entry) > 100:
            print(line)
            line = "   "
        line += entry
    print(line)
    print("};")


def main() -> int:
    print(f"/* Written by tools/width_ranges.py from Unicode {unicodedata.unidata_version}; do not edit. */")
    write("no_column", takes_no_column)
    write("two_columns", takes_two_columns)
    return 0


if __name__ == "__main__":
    sys.exit(main())
