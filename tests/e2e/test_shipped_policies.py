"""The policies in fixtures/ still do what their cards say, and a gate tells them from damaged ones."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("pybullet")
pytestmark = pytest.mark.slow

REPOSITORY = Path(__file__).parents[2]
POLICY = REPOSITORY / "fixtures" / "policies" / "vima_cross.pt"
BASELINE = REPOSITORY / "fixtures" / "baselines" / "vima_cross"
ASKED = [
    "--vla-suite=vima",
    "--vla-task=visual_manipulation,rotate,novel_noun,same_shape,rearrange",
    "--vla-partition=placement_generalization",
    f"--vla-baseline={BASELINE}",
]


def gate(policy: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *ASKED, f"--vla-policy={policy}", "-n2"]
    (folder / "pyproject.toml").write_text('[tool.pytest_vla.gate]\nby = "partition"\nmargin = 0.15\n')
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def test_the_shipped_policy_passes_the_gate_against_its_baseline(tmp_path: Path) -> None:
    result = gate(POLICY, tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "vla gate: PASS" in result.stdout


def test_a_damaged_policy_fails_the_gate(tmp_path: Path) -> None:
    checkpoint = torch.load(POLICY, weights_only=True)
    torch.manual_seed(0)
    for name, weight in checkpoint["state_dict"].items():
        checkpoint["state_dict"][name] = weight + weight.std(correction=0) * torch.randn_like(weight)
    torch.save(checkpoint, tmp_path / "damaged.pt")
    result = gate(tmp_path / "damaged.pt", tmp_path)
    assert result.returncode == 1, result.stdout + result.stderr
    assert "vla gate: FAIL" in result.stdout
