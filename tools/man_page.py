"""Makes the manual page of `roast` from its pages of help: `man_page.py PROGRAM` prints cli/roast.1."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

HEAD = """\
.\\" Written by tools/man_page.py from the pages of "roast help"; do not edit.
.TH ROAST 1 "" "roastcoffea" "User Commands"
.SH NAME
roast \\- the measuring instrument for Coffea analyses
.SH SYNOPSIS
.B roast
\\fIVERB\\fR [\\fIARGUMENT\\fR ...]
.br
.B roast help
[\\fIVERB\\fR]
.br
.B roast \\-\\-version
.SH DESCRIPTION
Shows, lists, converts and makes measurements of runs. A measurement, \\fIRUN\\fR, is a directory that
roastcoffea saved. Answers go to standard output, everything else to standard error.
.SH VERBS
"""

# What no page of help says.
ENTRIES = {
    "ENVIRONMENT": {
        "COLUMNS": "how wide tables are, where the terminal does not say.",
        "NO_COLOR": "if it is set, nothing is coloured.",
        "TZ": "the zone of times that roastcoffea 0.1.x wrote, which have none.",
    },
    "FILES": {
        "RUN/run.sqlite": "everything that was measured; \"roast sql\" reads it.",
        "RUN/metrics.json": "every metric, for people and small programs.",
        "RUN/metadata.json": "when, how long, and where the run comes from.",
        "RUN/start_end_time.txt": "start and end in seconds since 1970, with a comma between them.",
        "RUN/config.json": "the user's own configuration, where there is one.",
    },
    "EXAMPLES": {
        "roast show measurements/2026-11-15_23-01-58": "one run on one screen; --full shows every table.",
        "roast ls --filter 'wall>60' --sort gbps measurements":
            "the runs that took more than a minute, the fastest reader first.",
        "roast sql RUN 'SELECT dataset, avg(duration) FROM chunks GROUP BY dataset'":
            "how long a chunk of each dataset took.",
        "roast export RUN --trace -o trace.json": "a picture of the run for ui.perfetto.dev.",
        "roast run -o measurements --name skim -- ./skim.sh input.root": "measures a step that is not Coffea.",
        "roast import old_measurements -o measurements": "converts measurements of roastcoffea 0.1.x.",
        "roast explain chunk_duration_p95": "what this metric means.",
    },
}


def roff(text: str) -> str:
    """A text that roff shows as it is."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^(?=[.'])", r"\\&", text, flags=re.MULTILINE)


def details(text: str) -> str:
    """Paragraphs; those that are indented keep their lines."""
    shown = [f".nf\n{roff(block)}\n.fi\n" if block.startswith(" ") else f"{roff(block)}\n"
             for block in text.strip("\n").split("\n\n")]
    return ".PP\n" + ".PP\n".join(shown)


def options(text: str) -> str:
    """A row is "  -o, --output DIR   words", and lines of words."""
    rows: list[list[str]] = []
    for line in text.splitlines():
        if re.match(r" {2,6}-", line):
            rows.append(re.split(r" {2,}", line.strip(), maxsplit=1))
        else:
            rows[-1].append(line.strip())
    shown = ""
    for heading, *words in rows:
        found = re.fullmatch(r"(?:(-\w), )?(--[\w-]+)(?: (\w+))?", heading)
        assert found is not None, heading
        letter, name, value = found.groups()
        shown += ".TP\n" + (f"\\fB{roff(letter)}\\fR, " if letter else "") + f"\\fB{roff(name)}\\fR"
        shown += (f" \\fI{value}\\fR" if value else "") + f"\n{roff(' '.join(filter(None, words)))}\n"
    return shown


def verb(page: str, summary: str) -> str:
    usage, _, rest = page.removeprefix("Usage: ").partition("\n\n")
    text, _, listed = rest.partition("\nOptions\n")
    heading = roff(usage).replace('"', "\\(dq")
    return f'.SS "{heading}"\n{roff(summary)}.\n{details(text)}{options(listed)}'


def entries(title: str, rows: dict[str, str]) -> str:
    return f".SH {title}\n" + "".join(f".TP\n\\fB{roff(name)}\\fR\n{roff(text)}\n" for name, text in rows.items())


def manual(program: Path) -> str:
    def page(*words: str) -> str:
        return subprocess.run([program, "help", *words], capture_output=True, check=True, text=True).stdout

    first = page()
    verbs, _, codes = first[first.index("Verbs\n") + len("Verbs\n"):].partition("\nExit codes\n")
    # A summary goes on in lines that are indented further.
    summaries = dict(re.findall(r"^  ([\w-]+) +(.+?)\s*$", re.sub(r"\n {4,}", " ", verbs), re.MULTILINE))
    statuses = {number: f"{text}." for number, text in re.findall(r"^ +(\d)  (.+)$", codes, re.MULTILINE)}
    return (HEAD + "".join(verb(page(name), summary) for name, summary in summaries.items())
            + entries("EXIT STATUS", statuses)
            + ".PP\n\\fBroast run\\fR ends with the exit status of the command, or 128 and the number of the\n"
              "signal that ended it.\n"
            + "".join(entries(title, rows) for title, rows in ENTRIES.items()))


if __name__ == "__main__":
    print(manual(Path(sys.argv[1])), end="")
