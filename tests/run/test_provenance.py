"""The first line of a run file says who made it."""

import re
import subprocess
import sys

import numpy as np
import pytest

from pytest_vla import __version__
from pytest_vla.run.provenance import provenance

POLICY, SUITES = {"text": "p", "digest": "d", "horizon": np.int64(3)}, {"reach": "1"}


@pytest.fixture
def line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["/somewhere/bin/pytest", "--vla-policy=p"])
    return provenance(POLICY, SUITES, {"suite": ("reach",), "episodes": None})


def test_it_has_what_was_run_and_with_what(line):
    assert (line["type"], line["format"], line["pytest_vla"]) == ("run", 1, __version__)
    assert line["policy"] == {"text": "p", "digest": "d", "horizon": 3}
    assert type(line["policy"]["horizon"]) is int
    assert line["suites"] == SUITES
    assert line["options"] == {"suite": ["reach"], "episodes": None}
    assert line["command"] == ["pytest", "--vla-policy=p"]
    assert line["python"] == ".".join(map(str, sys.version_info[:3]))
    assert line["platform"]
    assert line["cpus"] >= 1
    assert line["packages"]["numpy"] == np.__version__
    assert "no such package" not in line["packages"]


def test_the_time_is_in_whole_seconds_of_utc(line):
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", line["created"])


def test_outside_a_checkout_there_is_no_commit(line):
    assert line["commit"] is None


def test_a_checkout_has_its_commit_and_whether_it_was_changed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def git(*arguments):
        name = ["-c", "user.name=a", "-c", "user.email=a@b"]
        return subprocess.run(["git", *name, *arguments], check=True, capture_output=True, text=True).stdout.strip()

    git("init", "-q")
    (tmp_path / "file").write_text("1")
    git("add", "file")
    git("commit", "-qm", "first")
    commit = git("rev-parse", "HEAD")
    assert provenance(POLICY, SUITES, {})["commit"] == {"id": commit, "dirty": False}
    (tmp_path / "file").write_text("2")
    assert provenance(POLICY, SUITES, {})["commit"] == {"id": commit, "dirty": True}
