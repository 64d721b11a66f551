"""Films at an address: the workers write them, a report reads them, and what lies there is only data."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.cluster_kills import POLICY, SUITE

pytest.importorskip("fsspec")


def pytest_vla(folder, *words):
    program = str(Path(sys.executable).parent / "pytest-vla")
    return subprocess.run([program, *words], cwd=folder, capture_output=True, text=True)


@pytest.fixture
def filmed(tmp_path):
    pytest.importorskip("imageio_ffmpeg")
    (tmp_path / "test_painted.py").write_text(SUITE.replace('{"success": self.steps >= 5}', '{"success": False}'))
    (tmp_path / "mean_policy.py").write_text(POLICY)
    command = [sys.executable, "-m", "pytest", "test_painted.py", "--vla-policy=mean_policy:make", "-n2", "-q"]
    command += ["--vla-episodes=2", "--vla-run-dir=run", f"--vla-media=file://{tmp_path}/films", "--vla-video=all"]
    done = subprocess.run([*command, "-p", "no:cacheprovider"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1, done.stdout + done.stderr
    return tmp_path


@pytest.mark.slow
def test_workers_write_films_that_a_report_reads_without_making_them(filmed):
    assert len(list((filmed / "films").glob("*.mp4"))) == 8
    done = pytest_vla(filmed, "report", "run", "-o", "page.html", "--video=all", f"--media=file://{filmed}/films")
    assert done.returncode == 0, done.stderr
    assert "filming" not in done.stderr
    assert len(list((filmed / "page_media").glob("*.mp4"))) == 8


@pytest.mark.slow
def test_an_address_that_only_the_run_file_names_is_not_read_without_trust(filmed):
    told = pytest_vla(filmed, "report", "run", "-o", "page.html", "--video=1")
    assert "to read them add --media" in told.stderr
    trusted = pytest_vla(filmed, "report", "run", "-o", "other.html", "--video=1", "--trust")
    assert "filming" not in trusted.stderr
    for sidecar in (filmed / "films").glob("*.json"):  # a film whose files are somewhere else
        sidecar.write_text(json.dumps({**json.loads(sidecar.read_text()), "video": "../run/run.jsonl"}))
    again = pytest_vla(filmed, "report", "run", "-o", "third.html", "--video=1", f"--media={filmed}/films")
    assert "filming 1 of" in again.stderr


def test_an_address_that_nobody_can_reach_is_one_line(tmp_path):
    (tmp_path / "test_painted.py").write_text(SUITE)
    command = [sys.executable, "-m", "pytest", "test_painted.py", "--vla-policy=noop", "--vla-media=nowhere://films"]
    done = subprocess.run([*command, "-p", "no:cacheprovider"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 4
    assert "--vla-media=nowhere://films: Protocol not known: nowhere" in done.stdout + done.stderr
