"""The facility of a run: user, site, job of a batch system, container.

Texts of single variables and of one file; never the environment as a whole, a token or a proxy.
"""

from __future__ import annotations

import os
import pwd
import re
import stat
from collections.abc import Callable

from roastcoffea._core import redact_text

__all__ = ["SWITCH", "batch_job", "facility", "is_off"]

# A variable: names of texts that are not to be kept, with commas between them; "all" for all.
SWITCH = "ROAST_PROVENANCE_OFF"

LONGEST = 1000  # characters of a text
_LONGEST_AD = 1 << 20  # bytes of HTCondor's description of a job
_NUMBER = re.compile(r"^(ClusterId|ProcId)\s*=\s*(\d+)\s*$", re.MULTILINE | re.IGNORECASE)


def facility() -> dict[str, str]:
    """What is known of it."""
    told = {name: ask() for name, ask in _QUESTIONS.items()}
    return {name: text[:LONGEST] for name, text in told.items() if text}


def is_off(name: str) -> bool:
    """Whether the environment says that a text is not to be kept."""
    return not {name, "all"}.isdisjoint(text.strip() for text in os.environ.get(SWITCH, "").split(","))


def batch_job() -> str | None:
    """The job of a batch system that this process belongs to, such as "Slurm 17", for the records of its chunks."""
    return None if is_off("job") else _job()[:LONGEST] or None


def _variable(*names: str) -> str:
    """The first of these variables that has a text, without secrets."""
    found = next((os.environ[name] for name in names if os.environ.get(name)), "")
    return redact_text(found.strip())


def _user() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # a container without accounts
        return _variable("USER", "LOGNAME")


def _job() -> str:
    for system, ask in _SYSTEMS.items():
        number = ask()
        if number:
            return f"{system} {number}"
    return ""


def _slurm() -> str:
    number = _variable("SLURM_ARRAY_JOB_ID", "SLURM_JOB_ID", "SLURM_JOBID")
    part = _variable("SLURM_ARRAY_TASK_ID")
    return f"{number}_{part}" if number and part else number


def _condor() -> str:
    """HTCondor names a file with the description of the job: lines of "name = value". Sites may set CONDOR_ID."""
    numbers = dict((name.lower(), number) for name, number in _NUMBER.findall(_read(_variable("_CONDOR_JOB_AD"))))
    if "clusterid" not in numbers:
        return _variable("CONDOR_ID")
    return f"{numbers['clusterid']}.{numbers.get('procid', '0')}"


def _read(path: str) -> str:
    """A regular file of a bounded size; opening never blocks."""
    if not path:
        return ""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return ""
    try:
        regular = stat.S_ISREG(os.fstat(file).st_mode)
        return os.read(file, _LONGEST_AD).decode(errors="replace") if regular else ""
    except OSError:
        return ""
    finally:
        os.close(file)


_SYSTEMS: dict[str, Callable[[], str]] = {
    "Slurm": _slurm,
    "HTCondor": _condor,
    "PBS": lambda: _variable("PBS_JOBID"),
    "LSF": lambda: _variable("LSB_JOBID"),
    "SGE": lambda: _variable("JOB_ID") if os.environ.get("SGE_ROOT") else "",  # JOB_ID alone may be anybody's
}

_QUESTIONS: dict[str, Callable[[], str]] = {
    "user": _user,
    "site": lambda: _variable("ROAST_SITE"),
    "job": _job,
    "container": lambda: _variable("APPTAINER_CONTAINER", "SINGULARITY_CONTAINER"),
    "kubernetes": lambda: "yes" if os.environ.get("KUBERNETES_SERVICE_HOST") else "",
}
