"""Where a run was made: user, site, job, container; each can be switched off, and nothing else is looked at."""

from __future__ import annotations

import getpass
import os

import pytest

from roastcoffea import MetricsCollector
from roastcoffea._core import ChunkLog
from roastcoffea.worker.facility import LONGEST, batch_job, facility
from roastcoffea.collector.provenance import provenance

VARIABLES = ("ROAST_SITE", "ROAST_PROVENANCE_OFF", "SLURM_JOB_ID", "SLURM_JOBID", "SLURM_ARRAY_JOB_ID",
             "SLURM_ARRAY_TASK_ID", "_CONDOR_JOB_AD", "CONDOR_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID", "SGE_ROOT",
             "APPTAINER_CONTAINER", "SINGULARITY_CONTAINER", "KUBERNETES_SERVICE_HOST")


@pytest.fixture(autouse=True)
def nowhere(monkeypatch):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


def test_the_user_alone():
    assert facility() == {"user": getpass.getuser()}
    assert provenance()["user"] == getpass.getuser() and provenance()["host"] == os.uname().nodename


def test_a_user_without_an_account(monkeypatch):
    def unknown(uid):
        raise KeyError(uid)

    monkeypatch.setattr("pwd.getpwuid", unknown)
    monkeypatch.setenv("USER", "someone")
    assert facility() == {"user": "someone"}
    monkeypatch.delenv("USER")
    monkeypatch.delenv("LOGNAME", raising=False)
    assert facility() == {}


@pytest.mark.parametrize(("variables", "job"), [
    ({"SLURM_JOB_ID": "17"}, "Slurm 17"),
    ({"SLURM_JOB_ID": "18", "SLURM_ARRAY_JOB_ID": "17", "SLURM_ARRAY_TASK_ID": "3"}, "Slurm 17_3"),
    ({"PBS_JOBID": "12.server"}, "PBS 12.server"),
    ({"LSB_JOBID": "5"}, "LSF 5"),
    ({"CONDOR_ID": "12.0"}, "HTCondor 12.0"),
    ({"JOB_ID": "9"}, None),  # of anybody
    ({"JOB_ID": "9", "SGE_ROOT": "/sge"}, "SGE 9"),
])
def test_jobs(monkeypatch, variables, job):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert facility().get("job") == job and batch_job() == job
    monkeypatch.setenv("ROAST_PROVENANCE_OFF", "user,job")
    assert batch_job() is None


@pytest.mark.parametrize(("text", "job"), [
    ("MyType = \"Job\"\nClusterId = 4711\nProcId = 2\nx509userproxy = \"/tmp/x509\"\n", "HTCondor 4711.2"),
    ("clusterid=4711\n", "HTCondor 4711.0"),
    ("ProcId = 2\n", None),
    ("ClusterId = some\n", None),
    ("\xff\x00", None),
])
def test_condor(monkeypatch, tmp_path, text, job):
    ad = tmp_path / "job.ad"
    ad.write_text(text, encoding="latin-1")
    monkeypatch.setenv("_CONDOR_JOB_AD", str(ad))
    assert facility().get("job") == job


def test_condor_without_a_file(monkeypatch, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, tmp_path, tmp_path / "none", "/dev/zero"):
        monkeypatch.setenv("_CONDOR_JOB_AD", str(path))
        assert "job" not in facility()


def test_containers(monkeypatch):
    monkeypatch.setenv("SINGULARITY_CONTAINER", "/cvmfs/old.sif")
    assert facility()["container"] == "/cvmfs/old.sif"
    monkeypatch.setenv("APPTAINER_CONTAINER", "docker://me:secret@registry.example.org/image:1")
    assert facility()["container"] == "docker://registry.example.org/image:1"
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    assert facility()["kubernetes"] == "yes"
    monkeypatch.setenv("APPTAINER_CONTAINER", "x" * 5000)
    assert len(facility()["container"]) == LONGEST


def test_a_site(monkeypatch):
    monkeypatch.setenv("ROAST_SITE", " T2_XX_Example ")
    assert provenance()["site"] == "T2_XX_Example"
    assert provenance({"site": "elsewhere"})["site"] == "elsewhere"


def test_each_text_can_be_switched_off(monkeypatch):
    monkeypatch.setenv("ROAST_SITE", "here")
    everything = provenance()
    assert {"user", "host", "site", "python_version", "roastcoffea_version"} <= set(everything)
    for name in everything:
        monkeypatch.delenv("ROAST_PROVENANCE_OFF", raising=False)
        assert set(everything) - set(provenance({name: False})) == {name}
        monkeypatch.setenv("ROAST_PROVENANCE_OFF", name)
        assert set(everything) - set(provenance()) == {name}
        assert set(provenance({name: True})) == set(everything)  # the program's word counts more
    monkeypatch.setenv("ROAST_PROVENANCE_OFF", "user, host")
    assert set(everything) - set(provenance()) == {"user", "host"}
    monkeypatch.setenv("ROAST_PROVENANCE_OFF", "all")
    assert provenance() == {} and provenance({"site": "mine"}) == {"site": "mine"}


def test_nothing_secret(monkeypatch):
    for name in ("BEARER_TOKEN", "X509_USER_PROXY", "AWS_SECRET_ACCESS_KEY", "SLURM_JWT", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "a-secret-of-mine")
    assert not any("a-secret" in text for text in provenance().values())


def test_settings_of_a_collector(monkeypatch):
    monkeypatch.setenv("ROAST_SITE", "here")
    with MetricsCollector(provenance={"user": False, "site": "there"}) as mc:
        pass
    assert mc.run.meta["site"] == "there" and "user" not in mc.run.meta and "host" in mc.run.meta
    for wrong in ({"site": 1}, {1: "x"}):
        with pytest.raises(TypeError, match="provenance"):
            MetricsCollector(provenance=wrong)


def test_jobs_of_workers(monkeypatch):
    """From the records of chunks, wherever they were made."""
    chunks = ChunkLog([{"duration": 1.0, "pid": pid, "batch_job": f"Slurm 17_{pid}"} for pid in range(100, 125)])
    for settings, found in (({}, True), ({"worker_jobs": False}, False)):
        with MetricsCollector(provenance=settings) as mc:
            pass
        mc.set_chunk_metrics(chunks)
        assert ("worker_jobs" in mc.run.meta) == found
    with MetricsCollector() as mc:
        pass
    mc.set_chunk_metrics(chunks)
    assert mc.run.meta["worker_jobs"].startswith("Slurm 17_100, Slurm 17_101,")
    assert mc.run.meta["worker_jobs"].endswith(" and 5 more")
