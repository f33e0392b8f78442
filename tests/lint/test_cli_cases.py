"""The runner of the CLI tests finds what differs."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "cli"))

import cases


class Matching(unittest.TestCase):
    def test_exact(self) -> None:
        self.assertTrue(cases.matches("a\nb\n", "a\nb\n"))
        self.assertFalse(cases.matches("a\nb\n", "a\nb"))
        self.assertFalse(cases.matches("a\n", "a\nb\n"))
        self.assertFalse(cases.matches("", "a\n"))

    def test_star_stands_for_lines(self) -> None:
        for actual in ("a\nb\nc\nd\n", "a\nd\n", "a\nx\nd\nd\n"):
            self.assertTrue(cases.matches("a\n*\nd\n", actual), actual)
        for actual in ("a\nb\nc\n", "b\nd\n", "d\na\n", "ad\n", "a\n"):
            self.assertFalse(cases.matches("a\n*\nd\n", actual), actual)

    def test_what_stands_between_stars_must_be_there_in_order(self) -> None:
        self.assertTrue(cases.matches("*\nb\n*\nd\n*\n", "a\nb\nc\nd\ne\n"))
        self.assertFalse(cases.matches("*\nd\n*\nb\n*\n", "a\nb\nc\nd\ne\n"))
        self.assertFalse(cases.matches("*\nb\nd\n*\n", "a\nb\nc\nd\ne\n"))

    def test_ends_do_not_overlap(self) -> None:
        self.assertFalse(cases.matches("a\n*\na\n", "a\n"))


    def test_letters_inside_a_line(self) -> None:
        self.assertTrue(cases.matches("took {any} s, {any}\n*\nend {any}\n", "took 1.5 s, x\na\nend .\n"))
        self.assertFalse(cases.matches("took {any} s\n", "took 1.5 min\n"))
        self.assertFalse(cases.matches("a.c{any}\n", "abcd\n"))


class Files(unittest.TestCase):
    TEXT = "$ roast explain 'a b'\nexit: 3\nstdout: full\n--- stderr\nroast: no\n"

    def test_parse_and_write(self) -> None:
        case = cases.parse(self.TEXT)
        self.assertEqual((case.command, case.code, case.destination), (["explain", "a b"], 3, "full"))
        self.assertEqual(case.expected, {"stdout": "", "stderr": "roast: no\n"})
        self.assertEqual(cases.write(case), self.TEXT)

    def test_preparations(self) -> None:
        text = "$ roast ls {tmp}/a\nbefore: roast run -o {tmp} 'a b'\nenv: COLUMNS=40\n"
        case = cases.parse(text)
        self.assertEqual(case.before, [["run", "-o", "{tmp}", "a b"]])
        self.assertEqual(case.environment, {"COLUMNS": "40"})
        self.assertEqual(cases.write(case), text)

    def test_what_is_not_understood_is_refused(self) -> None:
        for text in ("$ ls\n", "$ roast\nbefore: rm x\n", "$ roast\nenv: x\n", "$ roast\nexitt: 1\n",
                     "$ roast\nstdout: lost\n", "$ roast\n--- std\n"):
            with self.subTest(text), self.assertRaises(ValueError):
                cases.parse(text)


class Running(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.program = Path(folder.name) / "roast"
        self.program.write_text("#!/bin/sh\necho out\necho err >&2\nexit 3\n")
        self.program.chmod(0o755)

    def test_differences_are_told(self) -> None:
        good = cases.parse("$ roast\nexit: 3\n--- stdout\nout\n--- stderr\nerr\n")
        outcome = cases.run(self.program, good)
        self.assertEqual(cases.problems(good, outcome), [])
        bad = cases.parse("$ roast\n--- stdout\nout\n--- stderr\nother\n")
        told = cases.problems(bad, outcome)
        self.assertIn("exit code 3, expected 0", told)
        self.assertIn("stderr is", told)
        self.assertNotIn("stdout is", told)

    def test_a_folder_of_its_own(self) -> None:
        self.program.write_text('#!/bin/sh\nprintf "%s %s " "$TZ" "$A"; ls "$1"; touch "$1/x"\n')
        case = cases.parse("$ roast {tmp}\nbefore: roast {tmp}\nenv: A=b\n")
        for _ in range(2):
            self.assertEqual(cases.run(self.program, case).stdout, "UTC b x\n")
        self.program.write_text("#!/bin/sh\necho $1; pwd\n")
        self.assertEqual(cases.run(self.program, cases.parse("$ roast {tmp}/a\n")).stdout,
                         f"{{tmp}}/a\n{cases.ROOT}\n")

    def test_a_preparation_that_fails_is_told(self) -> None:
        outcome = cases.run(self.program, cases.parse("$ roast a\nbefore: roast b\n"))
        self.assertEqual(outcome.code, 3)
        self.assertIn("before: roast b", outcome.stderr)

    def test_full_disk_is_seen_by_the_program(self) -> None:
        case = cases.parse("$ roast\nstdout: full\n")
        self.assertRegex(cases.run(self.program, case).stderr, "I/O error|No space left")

    def test_update_keeps_stars_that_match(self) -> None:
        case = cases.parse("$ roast\n--- stdout\n*\n--- stderr\nother\n")
        new = cases.updated(case, cases.run(self.program, case))
        self.assertEqual((new.code, new.expected), (3, {"stdout": "*\n", "stderr": "err\n"}))
