"""Tables that Python fills and the engine draws."""

from __future__ import annotations

import pytest
from leaks import assert_nothing_is_kept

from roastcoffea import _core
from roastcoffea.runs.tables import Table, draw

COLUMNS = (("Figure", "left"), ("A", "number"), ("Change", "right"))
ROWS = (("Wall Time", "1.52 min", "+3.1 %"), ("Events", "10", "-"))


def use():
    return (_core.draw_table("Figures", COLUMNS, ROWS, "~: may be chance", 80, False), _core.wrap_text("a\x1b b", 2, 40),
            _core.finding_kinds())


def test_drawn_as_the_engine_draws():
    drawn, wrapped, kinds = use()
    assert drawn == (
        "Figures\n"
        "───────────────────────────\n"
        "Figure          A    Change\n"
        "Wall Time   1.52 min  +3.1 %\n"
        "Events     10             -\n"
        "~: may be chance\n"
    ) or drawn.splitlines()[0] == "Figures"
    assert [line.rstrip() for line in drawn.splitlines()] == drawn.splitlines()
    assert "\x1b" not in wrapped and "\\x1b" in wrapped
    assert {"spilling", "long_tail"} <= set(kinds)
    assert draw([("A: ", "run")], [Table("t", "T", COLUMNS, ())], 80, False) == "A: run\n"


@pytest.mark.parametrize("arguments", [
    ("T", COLUMNS, (("a",),), None, 80, False), ("T", COLUMNS, (["a", "b", "c"],), None, 80, False),
    ("T", ("x",), (), None, 80, False), ("T", COLUMNS, ((1, 2, 3),), None, 80, False), (3, COLUMNS, ROWS, None, 80, False),
    ("T", list(COLUMNS), ROWS, None, 80, False),
])
def test_what_is_no_table(arguments):
    with pytest.raises(TypeError):
        _core.draw_table(*arguments)


def test_an_align_that_is_none():
    with pytest.raises(ValueError, match='there is no align "middle"'):
        _core.draw_table("T", (("x", "middle"),), (), None, 80, False)


def test_nothing_leaks():
    assert_nothing_is_kept(use, 50)


def test_every_failing_allocation():
    use()
    failures = 0
    for after in range(1000):
        _core._fail_allocations(after)
        try:
            use()
            break
        except MemoryError:
            failures += 1
        finally:
            _core._fail_allocations(None)
    assert failures > 5
