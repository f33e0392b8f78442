"""The set-up finds what is missing, says what to do about it, and does nothing twice."""

import io
import os
import subprocess
import sys
import tempfile
import unittest
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import setup


class Python(unittest.TestCase):
    def chosen(self, *options: str) -> str:
        """By make, when the first python3 on the PATH is not the system's."""
        clean = {name: value for name, value in os.environ.items() if name != "PYTHON" and "MAKE" not in name}
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "python3").symlink_to(sys.executable)
            return subprocess.run(["make", "-s", "--eval", "chosen: ; @echo $(PYTHON)", "chosen", *options], cwd=ROOT, text=True,
                                  env={**clean, "PATH": f"{folder}:{clean['PATH']}"}, capture_output=True, check=True).stdout.strip()

    def test_the_systems_if_it_is_new_enough(self) -> None:
        try:
            found = subprocess.run(["/usr/bin/python3", "-V"], capture_output=True, text=True, check=True).stdout.split()[1]
        except FileNotFoundError:
            found = "0.0"
        new_enough = tuple(map(int, found.split(".")[:2])) >= setup.OLDEST_PYTHON
        self.assertEqual(self.chosen(), "/usr/bin/python3" if new_enough else "python3")

    def test_the_one_that_is_asked_for(self) -> None:
        self.assertEqual(self.chosen("PYTHON=python3.99"), "python3.99")


class Missing(unittest.TestCase):
    def missing(self, programs: set[str], libraries: set[str], headers: bool = True,
                venv: bool = True) -> list[str]:
        def which(name: str) -> str | None:
            return f"/usr/bin/{name}" if name in programs else None
        with mock.patch.object(setup.shutil, "which", which), \
                mock.patch.object(setup, "has_library", libraries.__contains__), \
                mock.patch.object(setup, "has_python_headers", lambda: headers), \
                mock.patch.object(setup, "can_make_venv", lambda: venv), \
                mock.patch.dict(setup.os.environ, {"CC": ""}):
            return setup.missing_packages()

    def test_nothing(self) -> None:
        self.assertEqual(self.missing({"cc", "pkg-config"}, {"sqlite3", "jansson", "libzstd", "cmocka"}), [])

    def test_libraries(self) -> None:
        self.assertEqual(self.missing({"cc", "pkg-config"}, {"jansson"}),
                         ["libsqlite3-dev", "libzstd-dev", "libcmocka-dev"])

    def test_everything(self) -> None:
        self.assertEqual(self.missing(set(), set(), headers=False, venv=False),
                         ["gcc", "libc6-dev", "pkg-config", "libsqlite3-dev", "libjansson-dev",
                          "libzstd-dev", "libcmocka-dev", "python3-dev", "python3-venv"])


class Install(unittest.TestCase):
    def install(self, user: int, apt: bool = True) -> list[list[str]]:
        commands: list[list[str]] = []
        with mock.patch.object(setup.os, "geteuid", lambda: user), \
                mock.patch.object(setup.shutil, "which", lambda name: "/apt" if apt else None), \
                mock.patch.object(setup, "run", lambda command, what: commands.append(command)), \
                mock.patch.dict(setup.os.environ), redirect_stdout(io.StringIO()):
            setup.install_packages(["libcmocka-dev", "pkg-config"])
        return commands

    def test_root_installs(self) -> None:
        update, install = self.install(user=0)
        self.assertEqual(update, ["apt-get", "update"])
        self.assertEqual(install[:2], ["apt-get", "install"])
        self.assertEqual(install[-2:], ["libcmocka-dev", "pkg-config"])

    def test_others_are_told_the_command(self) -> None:
        with self.assertRaises(setup.SetupFailed) as caught:
            self.install(user=1000)
        self.assertIn("sudo sh -c 'apt-get update && apt-get install -y --no-install-recommends "
                      "libcmocka-dev pkg-config'", str(caught.exception))

    def test_without_apt_the_names_are_told(self) -> None:
        with self.assertRaises(setup.SetupFailed) as caught:
            self.install(user=0, apt=False)
        self.assertIn("libcmocka-dev pkg-config", str(caught.exception))

    def test_failure_ends_with_what_is_wrong(self) -> None:
        told = io.StringIO()
        with mock.patch.object(setup, "missing_packages", lambda: ["libcmocka-dev"]), \
                mock.patch.object(setup, "install_packages", lambda packages: None), \
                redirect_stderr(told):
            self.assertEqual(setup.main(), 1)
        self.assertIn("libcmocka-dev", told.getvalue())


class Servers(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.policy = Path(folder.name) / "policy-rc.d"
        self.installed: list[list[str]] = []
        self.answers: list[int] = []

    def install(self, packages: list[str]) -> None:
        self.installed.append(packages)
        self.answers.append(subprocess.run([self.policy], check=False).returncode)

    def prepare(self, there: set[str], user: int = 0) -> str:
        told = io.StringIO()
        with mock.patch.object(setup, "POLICY", str(self.policy)), \
                mock.patch.object(setup, "install_packages", self.install), \
                mock.patch.object(setup.os, "geteuid", lambda: user), \
                mock.patch.object(setup.shutil, "which", lambda name: name if name in there else None), \
                redirect_stdout(told):
            setup.prepare_servers()
        return told.getvalue()

    def test_what_is_missing_is_installed_and_not_started(self) -> None:
        self.prepare({"apt-get", "xrootd"})
        self.assertEqual((self.installed, self.answers), ([["prometheus"]], [101]))
        self.assertFalse(self.policy.exists())
        self.prepare({"apt-get", "xrootd", "prometheus"})
        self.assertEqual(len(self.installed), 1)

    def test_a_policy_that_is_there_stays(self) -> None:
        self.policy.write_text("#!/bin/sh\nexit 7\n")
        self.policy.chmod(0o755)
        self.prepare({"apt-get"})
        self.assertEqual(self.answers, [7])
        self.assertTrue(self.policy.exists())

    def test_who_cannot_install_goes_without(self) -> None:
        self.assertIn("no prometheus", self.prepare({"apt-get", "xrootd"}, user=1000))
        self.assertEqual(self.installed, [])


class Command(unittest.TestCase):
    def test_output_is_shown_only_on_failure(self) -> None:
        told = io.StringIO()
        with redirect_stderr(told):
            setup.run(["sh", "-c", "echo chatter"], "talk")
            self.assertEqual(told.getvalue(), "")
            with self.assertRaises(setup.SetupFailed):
                setup.run(["sh", "-c", "echo reason; exit 1"], "talk")
        self.assertEqual(told.getvalue(), "reason\n")


class Twice(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        root = Path(folder.name)
        self.requirements = root / "requirements.txt"
        self.requirements.write_text("meson\n")
        self.commands: list[str] = []
        for name, value in {"VENV": root / ".venv", "STAMP": root / ".venv" / "stamp",
                            "REQUIREMENTS": self.requirements, "run": self.pretend}.items():
            patch = mock.patch.object(setup, name, value)
            patch.start()
            self.addCleanup(patch.stop)

    def pretend(self, command: list[str], what: str) -> None:
        self.commands.append(what)
        (setup.VENV / "bin").mkdir(parents=True, exist_ok=True)
        (setup.VENV / "bin" / "python").touch()
        if self.broken and what == "pip":
            raise setup.SetupFailed("pip")

    broken = False

    def make(self) -> list[str]:
        self.commands.clear()
        with redirect_stdout(io.StringIO()):
            setup.make_venv()
        return list(self.commands)

    def test_second_time_does_nothing(self) -> None:
        self.assertEqual(self.make(), ["making .venv", "pip"])
        self.assertEqual(self.make(), [])

    def test_changed_requirements_are_installed(self) -> None:
        self.make()
        self.requirements.write_text("meson\nninja\n")
        self.assertEqual(self.make(), ["making .venv", "pip"])

    def test_what_failed_is_tried_again(self) -> None:
        self.broken = True
        with self.assertRaises(setup.SetupFailed):
            self.make()
        self.broken = False
        self.assertEqual(self.make(), ["making .venv", "pip"])
