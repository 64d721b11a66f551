"""Without Ray: the jobs of a SLURM array run a part each, and `pytest-vla merge` makes one run of them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.cluster_kills import POLICY, SUITE
from pytest_vla.run import read_run

SCRIPT = Path(__file__).parents[2] / "docs" / "examples" / "slurm.sh"


@pytest.mark.slow
def test_the_jobs_of_the_example_script_make_up_the_whole_run(tmp_path):
    (tmp_path / "test_painted.py").write_text(SUITE)
    (tmp_path / "mean_policy.py").write_text(POLICY)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    job = {**os.environ, "PATH": path, "POLICY": "mean_policy:make", "DEVICE": "cpu", "SLURM_CPUS_PER_TASK": "2"}
    job |= {"SLURM_ARRAY_TASK_COUNT": "2", "PYTHONPATH": str(tmp_path)}
    typed = ["bash", str(SCRIPT), "test_painted.py", "--vla-episodes=6", "-q", "-p", "no:cacheprovider"]
    for number in ("1", "2", "2"):  # the second one is started again, and has nothing left to do
        done = subprocess.run(
            typed, cwd=tmp_path, env={**job, "SLURM_ARRAY_TASK_ID": number}, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr
    command = [str(Path(sys.executable).parent / "pytest-vla"), "merge", "parts/1", "parts/2", "-o", "union"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    union = read_run(tmp_path / "union")
    assert len(union) == 24
    assert union.completeness(gated=False).finished
