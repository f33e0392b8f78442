"""The checks can fail: each is given a tree that breaks its rule, and one that keeps it."""

import importlib.util
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import check_docs
import check_format
import check_hygiene
import check_layers
import check_links
import check_spelling
import check_symbols
from common import Skip, without_comments

ROOT = Path(__file__).resolve().parent.parent.parent


class TreeTest(unittest.TestCase):
    """A small repository of its own for each test."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def write(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def assert_problem(self, problems: list[str], *words: str) -> None:
        self.assertEqual(len(problems), 1, problems)
        for word in words:
            self.assertIn(word, problems[0])


class Layers(TreeTest):
    def assert_include(self, place: str, include: str, *words: str) -> None:
        self.write(place, f"int x;\n#include {include}\n")
        problems = check_layers.check(self.root)
        if words:
            self.assert_problem(problems, f"{place}:2:", *words)
        else:
            self.assertEqual(problems, [])

    def test_downward_include_is_fine(self) -> None:
        self.assert_include("src/metrics/a.c", '"base/buffer.h"')

    def test_include_of_the_own_layer_is_fine(self) -> None:
        self.assert_include("src/model/a.c", '"model/row.h"')

    def test_upward_include_fails(self) -> None:
        self.assert_include("src/base/a.c", '"model/row.h"', "base stands below model")

    def test_upward_include_of_a_public_header_fails(self) -> None:
        self.assert_include("src/proc/a.h", '"roast/chunklog.h"', "proc stands below model")

    def test_upward_include_between_public_headers_fails(self) -> None:
        self.assert_include("include/roast/sink.h", '"roast/run.h"', "base stands below model")

    def test_unknown_public_header_fails(self) -> None:
        self.write("include/roast/surprise.h", "")
        self.assert_problem(check_layers.check(self.root), "surprise.h", "no row")

    def test_unknown_layer_fails(self) -> None:
        self.write("src/attic/a.c", "")
        self.assert_problem(check_layers.check(self.root), "attic")

    def test_python_in_the_library_fails(self) -> None:
        self.assert_include("src/model/a.c", "<Python.h>", "Python")

    def test_python_in_the_extension_is_fine(self) -> None:
        self.assert_include("ext/a.c", "<Python.h>")

    def test_system_headers_are_fine(self) -> None:
        self.assert_include("src/base/a.c", "<sys/stat.h>")

    def test_climbing_out_fails(self) -> None:
        self.assert_include("src/base/a.c", '"../model/row.h"', "climbs")

    def test_header_beside_the_file_is_fine(self) -> None:
        self.write("src/model/near.h", "")
        self.assert_include("src/model/a.c", '"near.h"')

    def test_unknown_header_fails(self) -> None:
        self.assert_include("src/model/a.c", '"far.h"', "far.h")

    def test_program_and_extension_use_public_headers_only(self) -> None:
        self.assert_include("cli/a.c", '"base/buffer.h"', "cli may include")
        (self.root / "cli/a.c").unlink()
        self.assert_include("ext/a.c", '"model/row.h"', "ext may include")
        (self.root / "ext/a.c").unlink()
        self.assert_include("cli/a.c", '"../src/base/buffer.h"', "cli may include")
        self.assert_include("cli/a.c", '"roast/metrics.h"')

    def test_rooms_use_those_below_them(self) -> None:
        self.write("ext/show/plot.h", "")
        self.write("ext/common/errors.h", "")
        self.assert_include("ext/show/a.c", '"common/errors.h"')
        self.assert_include("ext/common/a.c", '"show/plot.h"', "ext/common stands below ext/show")
        (self.root / "ext/common/a.c").unlink()
        self.write("src/store/read/load.h", "")
        self.assert_include("src/store/database/a.c", '"store/read/load.h"', "stands below src/store/read")

    def test_unknown_room_fails(self) -> None:
        self.write("ext/attic/a.c", "")
        self.assert_problem(check_layers.check(self.root), "attic", "no row in ROOMS")

    def test_program_does_not_know_python(self) -> None:
        self.assert_include("cli/a.c", "<Python.h>", "Python")

    def test_include_in_a_comment_does_not_count(self) -> None:
        self.write("src/base/a.c", '/*\n#include "model/row.h"\n*/\n// #include "model/row.h"\n')
        self.assertEqual(check_layers.check(self.root), [])

    def assert_import(self, place: str, statement: str, *words: str) -> None:
        self.write(f"python/roastcoffea/{place}", statement + "\n")
        problems = check_layers.check(self.root)
        if words:
            self.assert_problem(problems, f"{place}:1:", *words)
        else:
            self.assertEqual(problems, [])

    def test_downward_import_is_fine(self) -> None:
        self.assert_import("backends/dask.py", "from roastcoffea import _core")
        self.assert_import("backends/dask.py", "from .._core import run")
        self.assert_import("collector.py", "from roastcoffea.backends.dask import DaskBackend")
        self.assert_import("backends/dask.py", "from .base import AbstractMetricsBackend")

    def test_upward_import_fails(self) -> None:
        upward = "does not stand above collector"
        for statement in ("from roastcoffea.collector import MetricsCollector",
                          "import roastcoffea.collector", "from ..collector import MetricsCollector",
                          "from .. import collector", "from roastcoffea import collector"):
            with self.subTest(statement):
                self.assert_import("export/reporter.py", statement, upward)

    def test_import_of_the_whole_package_fails(self) -> None:
        self.assert_import("utils.py", "from roastcoffea import track_time", "__init__")

    def test_import_inside_a_function_counts(self) -> None:
        self.write("python/roastcoffea/utils.py", "def f():\n    import roastcoffea.export\n")
        self.assert_problem(check_layers.check(self.root), "utils.py:2:", "export")

    def test_part_without_a_row_fails(self) -> None:
        self.assert_import("surprise.py", "from roastcoffea import _core", "surprise", "no row")

    def test_the_second_dialect_is_not_imported(self) -> None:
        self.assert_import("collector.py", "import coffea_metrics", "coffea_metrics")


class Format(TreeTest):
    def test_finds_a_misformatted_file(self) -> None:
        (self.root / ".clang-format").write_text((ROOT / ".clang-format").read_text())
        self.write("src/base/a.c", "int x;\n")
        self.assertEqual(check_format.check(self.root), [])
        self.write("src/base/b.c", "int  f( void ){return 1;}\n")
        problems = check_format.check(self.root)
        self.assertTrue(problems)
        self.assertIn("b.c", problems[0])

    def test_an_empty_tree_is_not_well_formatted(self) -> None:
        self.assertTrue(check_format.check(self.root))


class Documentation(TreeTest):
    def test_a_warning_is_a_problem(self) -> None:
        if importlib.util.find_spec("myst_parser") is None:
            self.skipTest("there is no Sphinx")
        self.write("docs/conf.py", 'extensions = ["myst_parser"]\n')
        self.write("docs/index.md", "# Title\n")
        self.assertEqual(check_docs.check(self.root), [])
        self.write("docs/index.md", "# Title\n\n[nowhere](nowhere.md)\n")
        self.assert_problem(check_docs.check(self.root), "nowhere")


class Links(TreeTest):
    def assert_link(self, target: str, *words: str) -> None:
        self.write("docs/b.md", "(a-name)=\n# One & two `three()`\n\n## One\n\n## One\n\n```\n# No heading\n```\n")
        self.write("README.md", f"Text, `[code](nowhere)`.\n[words]({target})\n")
        problems = check_links.check(self.root)
        if words:
            self.assert_problem(problems, "README.md:2:", target, *words)
        else:
            self.assertEqual(problems, [])

    def test_links_that_lead_somewhere(self) -> None:
        for target in ("docs/b.md", "docs", "docs/b.md#one--two-three", "docs/b.md#one-1", "docs/b.md#a-name",
                       "https://example.org/nowhere"):
            self.assert_link(target)

    def test_a_file_that_is_not_there_fails(self) -> None:
        self.assert_link("docs/c.md", "no such file")

    def test_a_file_outside_fails(self) -> None:
        self.assert_link("../..", "no such file")

    def test_a_heading_that_is_not_there_fails(self) -> None:
        self.assert_link("docs/b.md#no-heading", "no such heading")
        self.assert_link("#nowhere", "no such heading")

    def test_a_page_that_the_program_names(self) -> None:
        self.write("docs/b.md", "# One\n")
        self.write("cli/a.c", '"docs/b.md#KIND and docs/b.md#one"')
        self.assertEqual(check_links.check(self.root), [])
        self.write("cli/a.c", '"docs/b.md#two"')
        self.assert_problem(check_links.check(self.root), "cli/a.c", "no such heading")
        self.write("cli/a.c", '"docs/c.md"')
        self.assert_problem(check_links.check(self.root), "cli/a.c", "no such page")


class Spelling(TreeTest):
    def test_a_wrong_word_fails(self) -> None:
        if importlib.util.find_spec("codespell_lib") is None:
            self.skipTest("there is no codespell")
        self.write("README.md", "Words are right, `wich` is code.\n")
        self.assertEqual(check_spelling.check(self.root), [])
        self.write("README.md", "A word wich is wrong.\n")
        self.assert_problem(check_spelling.check(self.root), "README.md:1", "wich ==> which")


class Symbols(TreeTest):
    def compile(self, source: str, output: str, *options: str) -> Path:
        path = self.root / output
        subprocess.run(["cc", "-x", "c", "-", *options, "-o", str(path)], input=source, text=True,
                       check=True)
        return path

    def library(self, source: str) -> Path:
        object_file = self.compile(source, "a.o", "-c")
        subprocess.run(["ar", "rc", str(self.root / "a.a"), str(object_file)], check=True)
        return self.root / "a.a"

    def test_library_of_our_names_is_fine(self) -> None:
        library = self.library("int roast_x(void) { return 1; }\nstatic int y; int *roast_y = &y;")
        self.assertEqual(check_symbols.foreign_names(library), [])

    def test_foreign_name_fails(self) -> None:
        library = self.library("int roast_x(void) { return 1; }\nint helper(void) { return 2; }")
        self.assert_problem(check_symbols.foreign_names(library), "helper")

    def test_empty_library_fails(self) -> None:
        self.assertTrue(check_symbols.foreign_names(self.library("static int x;")))

    def test_missing_library_fails(self) -> None:
        self.assert_problem(check_symbols.check_library(self.root), "not built")

    def assert_released(self, released: str, *words: str) -> None:
        self.write("meson.build", "project(\n  'roastcoffea',\n  version: '1.2.0',\n)\n")
        self.write("include/roast/a.h", "/* int roast_c(void); */\nint roast_a(int x,\n    int y);\nvoid roast_b(void);\n"
                   "typedef int (*roast_f)(int x);\n")
        self.write("tests/data/libroast.txt", released)
        problems = check_symbols.check_released(self.root)
        if words:
            self.assert_problem(problems, *words)
        else:
            self.assertEqual(problems, [])

    def test_a_new_function_is_fine(self) -> None:
        self.assert_released("1.2.0\nint roast_a(int x, int y);\n")

    def test_a_function_that_is_gone_fails(self) -> None:
        self.assert_released("1.2.0\nint roast_c(void);\n", "gone or changed: int roast_c(void);")

    def test_a_function_that_has_changed_fails(self) -> None:
        self.assert_released("1.2.0\nint roast_a(int x);\n", "gone or changed: int roast_a(int x);")

    def test_a_list_of_another_version_fails(self) -> None:
        self.assert_released("1.1.0\nvoid roast_b(void);\n", "of version 1.1.0, not 1.2.0")

    def test_extension_exports_its_init_only(self) -> None:
        shared = ("-shared", "-fPIC")
        good = self.compile("void PyInit__core(void) {}", "good.so", *shared)
        self.assertEqual(check_symbols.exported_names(good), [])
        bad = self.compile("void PyInit__core(void) {} int roast_x;", "bad.so", *shared)
        self.assert_problem(check_symbols.exported_names(bad), "roast_x")
        none = self.compile("static int x; int *f(void);", "none.so", *shared)
        self.assert_problem(check_symbols.exported_names(none), "does not export")

    def test_missing_extension_is_skipped(self) -> None:
        with self.assertRaises(Skip):
            check_symbols.check_extension(self.root)


class Hygiene(TreeTest):
    def test_clean_file_is_fine(self) -> None:
        self.write("src/base/a.c", "int x;\n")
        self.write("tools/a.py", "x = 1\n")
        self.assertEqual(check_hygiene.check_lines(self.root), [])

    def test_untidy_lines_fail(self) -> None:
        for text, word in (("int x; \n", "blank"), ("\tint x;\n", "tab"), ("int x;", "line feed"),
                           ("int x;\n" * 900, "lines")):
            with self.subTest(word):
                self.write("src/base/a.c", text)
                self.assert_problem(check_hygiene.check_lines(self.root), "src/base/a.c", word)

    def test_forbidden_calls_fail(self) -> None:
        self.write("src/base/alloc.c", "void *f(void) { return malloc(1); }\n")
        self.write("src/base/a.c", "/* free(x) */ void f(void) { roast_free(0); my_printf(1); }\n")
        self.assertEqual(check_hygiene.check_calls(self.root), [])
        for call in ("free", "malloc", "printf", "fprintf", "abort", "exit", "assert", "strdup"):
            with self.subTest(call):
                self.write("src/base/a.c", f"int x;\nvoid f(void) {{ {call}(0); }}\n")
                self.assert_problem(check_hygiene.check_calls(self.root), "src/base/a.c:2:", call)

    def test_a_test_that_is_replaced_fails(self) -> None:
        self.write("tests/python/test_a.py", "def test_a(): pass\nclass B:\n    def test_a(self): pass\n")
        self.assertEqual(check_hygiene.check_names(self.root), [])
        self.write("tests/python/test_b.py", "def test_a(): pass\n\ndef test_a(): pass\n")
        self.assert_problem(check_hygiene.check_names(self.root), "test_b.py:3:", "test_a is defined twice")

    def test_declared_functions(self) -> None:
        header = ("/* roast_in_comment(x) */\n#define ROAST_M(x) \\\n    roast_in_macro(x)\n"
                  "typedef void (*roast_hook)(int);\nvoid roast_a(int);\n"
                  "const char *roast_b(\n    void);\n")
        self.assertEqual(check_hygiene.declared_functions(header), ["roast_a", "roast_b"])

    def test_function_without_a_test_fails(self) -> None:
        """One that is named in a comment, in a text, or in a branch that is never taken is not called."""
        self.write("include/roast/base.h", "void roast_a(void);\nvoid roast_b(void);\n")
        test = self.root / "tests/c/test_a.c"
        self.write("tests/c/test_a.c", '#include "roast/base.h"\n/* roast_b() */\nconst char *name = "roast_b";\n'
                   "void test(void);\nvoid test(void) { roast_a(); if (0) roast_b(); }\n")
        self.assert_problem(check_hygiene.check_tested(self.root), "not built")
        made = self.root / "build/plain/tests/c/test_a.p/test_a.c.o"
        made.parent.mkdir(parents=True)
        subprocess.run(["cc", "-O1", "-c", "-I", self.root / "include", test, "-o", made], check=True)
        problems = check_hygiene.check_tested(self.root)
        self.assert_problem(problems, "roast_b")
        self.assertEqual(len(problems), 1)

    def test_header_that_needs_another_fails(self) -> None:
        self.write("include/roast/base.h", "#include <stdint.h>\nuint8_t roast_a(void);\n")
        self.assertEqual(check_hygiene.check_headers(self.root), [])
        self.write("include/roast/sink.h", "uint8_t roast_a(void);\n")
        self.assert_problem(check_hygiene.check_headers(self.root), "sink.h", "uint8_t")

    def test_comments_are_taken_out_and_lines_stay(self) -> None:
        self.assertEqual(without_comments('a /* b\nc */ "/* d */" // e\n'),
                         'a     \n     "/* d */"     \n')
