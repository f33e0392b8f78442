"""Which commit of the user's own code a run was made with: as git says, though git is hardly ever asked."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from roastcoffea.collector import provenance

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")


def git(*args):
    options = ("-c", "user.name=someone", "-c", "user.email=someone@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(("git", *options, *args), capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def asked(monkeypatch):
    """How often git was asked."""
    calls, real = [], provenance._ask_git
    monkeypatch.setattr(provenance, "_ask_git", lambda: calls.append(1) or real())
    return calls


@pytest.fixture
def repository(tmp_path, monkeypatch):
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "analysis"
    (folder / "deep" / "inside").mkdir(parents=True)
    monkeypatch.chdir(folder)
    git("init", "--quiet")
    return folder


def revision():
    return provenance.provenance().get("git_revision")


def commit(text):
    git("commit", "--quiet", "--allow-empty", "-m", text)
    return git("rev-parse", "HEAD")


@pytest.mark.parametrize("place", [".", "deep/inside"])
def test_a_branch(repository, asked, monkeypatch, place):
    commit("one")
    expected = commit("two")
    monkeypatch.chdir(repository / place)
    assert revision() == expected and asked == []


def test_a_commit_without_a_branch(repository, asked):
    expected = commit("one")
    commit("two")
    git("checkout", "--quiet", expected)
    assert revision() == expected and asked == []


def test_branches_that_were_packed_away(repository, asked):
    expected = commit("one")
    git("pack-refs", "--all")
    assert revision() == expected and asked == [1]


def test_a_worktree(repository, asked, tmp_path, monkeypatch):
    commit("one")
    git("worktree", "add", "--quiet", "-b", "another", str(tmp_path / "beside"))
    monkeypatch.chdir(tmp_path / "beside")
    expected = commit("two")
    assert revision() == expected and asked == [1]


def test_a_repository_that_the_environment_names(repository, tmp_path, monkeypatch):
    expected = commit("one")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_DIR", str(repository / ".git"))
    assert revision() == expected


def test_before_the_first_commit(repository):
    assert revision() is None


def test_no_repository(tmp_path, asked, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert revision() is None and asked == []


def test_a_folder_that_is_gone(tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert revision() is None


def test_without_git(repository, monkeypatch, tmp_path):
    commit("one")
    git("pack-refs", "--all")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert revision() is None


def test_what_is_no_commit_is_not_told(repository, monkeypatch):
    commit("one")
    monkeypatch.setattr(provenance, "_ask_git", lambda: None)
    (repository / ".git" / "HEAD").write_text("ref: refs/heads/odd\n")
    (repository / ".git" / "refs" / "heads" / "odd").write_text("ref: refs/heads/main\n")
    assert revision() is None
    (repository / ".git" / "HEAD").write_bytes(b"\xff\xfe")
    assert revision() is None
