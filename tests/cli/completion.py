"""The scripts of `roast completion` offer every verb and every option, and the shells that are here take them."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

SHELLS = ("bash", "zsh", "fish")


def said(program: Path, *arguments: str) -> str:
    return subprocess.run([program, *arguments], capture_output=True, check=True, text=True).stdout


def verbs(program: Path) -> list[str]:
    page = said(program, "--help")
    return re.findall(r"^  ([\w-]+) ", page[page.index("Verbs"):page.index("Exit codes")], re.MULTILINE)


def options(program: Path, verb: str) -> list[str]:
    page = said(program, "help", verb)
    return re.findall(r"^  (?:-\w, |    )--([\w-]+)", page.partition("\nOptions\n")[2], re.MULTILINE)


def offered(program: Path, *words: str) -> list[str]:
    """What bash offers for the last of these words."""
    script = ('source <("$0" completion bash); COMP_WORDS=(roast "$@"); COMP_CWORD=$#; _roast; '
              'printf "%s\\n" "${COMPREPLY[@]}"')
    return subprocess.run(["bash", "-c", script, program, *words], capture_output=True, check=True,
                          text=True).stdout.split()


def check_bash(program: Path) -> list[str]:
    wanted = {("",): verbs(program), ("help", "wh"): ["what-if"]}
    wanted |= {(verb, "--"): [*(f"--{name}" for name in options(program, verb)), "--help"]
               for verb in verbs(program) if options(program, verb)}
    wanted[("show", "--f")] = ["--full"]
    return [f"roast {' '.join(words)}: {offered(program, *words)}, not {expected}"
            for words, expected in wanted.items() if offered(program, *words) != expected]


def check_every_shell(program: Path) -> list[str]:
    problems = []
    for shell in SHELLS:
        script = said(program, "completion", shell)
        for verb in verbs(program):
            problems += [f"{shell}: nothing of {verb} {name}" for name in [verb, *options(program, verb)]
                         if not re.search(rf"\b{name}\b", script)]
        if shutil.which(shell):
            result = subprocess.run([shell, "-n"], input=script, text=True, capture_output=True, check=False)
            problems += [f"{shell}: {line}" for line in result.stderr.splitlines()]
    return problems


CHECKS = {
    "bash completes verbs and options": check_bash,
    "every shell has every verb and option": check_every_shell,
}
