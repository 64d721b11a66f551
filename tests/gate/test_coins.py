"""Coins of a known rate, gated by typed commands: one a mode here, 200 by `python -m benchmarks.gate_e2e`."""

import json
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.proof
def test_every_mode_ends_with_a_verdict():
    command = [sys.executable, "-m", "benchmarks.gate_e2e", "--times=1", "--seed=1"]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["worst_error"] == 0
