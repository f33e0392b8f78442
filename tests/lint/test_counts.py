"""The counts on the last line of `make test` are right, above all where something went wrong."""

import io
import sys
import unittest
from contextlib import redirect_stdout
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "tools"))

from counts import Counts, count_junit, count_tap, failed_in_junit
from run_tests import skips_checked


class Tap(unittest.TestCase):
    def test_passed_failed_skipped(self) -> None:
        text = "1..4\nok 1 - a\nnot ok 2 - b\n# because\nok 3 - c # SKIP no clang\nnot ok 4 # SKIP d\n"
        self.assertEqual(count_tap(text, 1), Counts(1, 1, 2))

    def test_two_groups_add_up(self) -> None:
        self.assertEqual(count_tap("1..1\nok 1 - a\n1..2\nok 1 - b\nok 2 - c\n", 0), Counts(3, 0, 0))

    def test_program_that_died_failed_the_rest(self) -> None:
        self.assertEqual(count_tap("1..5\nok 1 - a\n", -11), Counts(1, 4, 0))
        self.assertEqual(count_tap("1..5\nok 1 - a\n", 0), Counts(1, 4, 0))

    def test_bad_end_after_good_tests_is_a_failure(self) -> None:
        self.assertEqual(count_tap("1..1\nok 1 - a\nLeakSanitizer: ...\n", 23), Counts(1, 1, 0))

    def test_program_without_tap_is_one_test(self) -> None:
        self.assertEqual(count_tap("replayed 12 inputs\n", 0), Counts(1, 0, 0))
        self.assertEqual(count_tap("", 1), Counts(0, 1, 0))


class JUnit(unittest.TestCase):
    def test_errors_are_failures(self) -> None:
        text = ('<testsuites><testsuite name="pytest" errors="1" failures="2" skipped="3" tests="10"/>'
                '</testsuites>')
        self.assertEqual(count_junit(text), Counts(4, 3, 3))

    def test_skipped_as_the_machine_was_busy(self) -> None:
        text = ('<testsuites><testsuite name="pytest" errors="0" failures="0" skipped="2" tests="3">'
                '<testcase name="a"><skipped message="other programs keep the cores busy"/></testcase>'
                '<testcase name="b"><skipped message="no clang"/></testcase></testsuite></testsuites>')
        self.assertEqual(count_junit(text), Counts(1, 0, 2, 1))
        self.assertEqual(count_tap("1..1\nok 1 # SKIP the machine is busy\n", 0), Counts(0, 0, 1, 1))


    def test_names_of_failures(self) -> None:
        text = ('<testsuites><testsuite><testcase classname="t.a" name="x[1]"><failure/></testcase>'
                '<testcase classname="t.a" name="y"><error/></testcase><testcase classname="t.a" name="z"/></testsuite></testsuites>')
        self.assertEqual(failed_in_junit(text), {"t.a.x[1]", "t.a.y"})
        self.assertEqual((Counts(1, flaky=("a",)) + Counts(2, flaky=("b",))).flaky, ("a", "b"))


class Skips(unittest.TestCase):
    def test_more_than_a_tenth_skipped_is_a_failure(self) -> None:
        with redirect_stdout(io.StringIO()) as told:
            self.assertEqual(skips_checked(Counts(90, 0, 10)).failed, 0)
            self.assertEqual(skips_checked(Counts(89, 0, 11)).failed, 1)
        self.assertIn("11 of 100 tests were skipped", told.getvalue())


class Words(unittest.TestCase):
    def test_skipped_is_told_only_if_there_are_any(self) -> None:
        self.assertEqual(str(Counts(3, 0, 0)), "3 passed, 0 failed")
        self.assertEqual(str(Counts(3, 1, 2)), "3 passed, 1 failed, 2 skipped")

    def test_a_busy_machine_is_told_in_the_same_line(self) -> None:
        total = Counts(3, 0, 2, 1) + Counts(1, 0, 3, 1)
        self.assertEqual(str(total), "4 passed, 0 failed, 5 skipped (2 of them as this machine was busy)")
