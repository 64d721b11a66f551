"""The command of the README as typed, with far more workers than cores."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.proof
@pytest.mark.parametrize("where", ["an empty folder", "the repository"])
def test_32_workers_starve_nobody_and_what_the_policy_does_not_fit_is_said(tmp_path, where):
    pytest.importorskip("mujoco")
    pytest.importorskip("torch")
    shutil.copy(ROOT / "fixtures" / "policies" / "bomb_visuomotor.pt", tmp_path / "ckpt.pt")
    folder = ROOT if where == "the repository" else tmp_path
    policy = os.path.relpath(tmp_path / "ckpt.pt", folder)
    command = [sys.executable, "-m", "pytest", f"--vla-policy={policy}", "-n", "32", "--vla-episodes=1"]
    done = subprocess.run([*command, f"--vla-run-dir={tmp_path}/run"], cwd=folder, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stdout[-3000:] + done.stderr[-1000:]
    lines = [json.loads(line) for line in (tmp_path / "run" / "run.jsonl").read_text().splitlines()]
    episodes = [line for line in lines if line["type"] == "episode"]
    assert {line["suite"] for line in episodes} == {"bomb"}
    assert len(episodes) == 10, "five tasks, unperturbed and perturbed"
    assert not [line["message"] for line in episodes if line["outcome"] == "error"]
    for suite in ("vima", "agnostos"):
        left_out = [line for line in done.stdout.splitlines() if f"'{suite}'" in line or f"{suite}:" in line]
        assert left_out, f"nothing says why {suite} was left out"
