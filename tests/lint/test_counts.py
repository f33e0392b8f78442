"""The counts on the last line of `make test` are right, above all where something went wrong."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "tools"))

from counts import Counts, count_junit, count_tap


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


class Words(unittest.TestCase):
    def test_skipped_is_told_only_if_there_are_any(self) -> None:
        self.assertEqual(str(Counts(3, 0, 0)), "3 passed, 0 failed")
        self.assertEqual(str(Counts(3, 1, 2)), "3 passed, 1 failed, 2 skipped")
