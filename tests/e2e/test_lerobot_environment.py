"""In an environment that LeRobot 0.6 made (Python 3.12, no constraints of ours) its ACT folder is a policy at once.

`LEROBOT_PYTHON` is that environment's interpreter: `python3.12 -m venv DIR && DIR/bin/pip install lerobot==0.6.1`. What
is tested is installed into it.
"""

import json
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PYTHON = os.environ.get("LEROBOT_PYTHON")
MAKE = """
import sys
import torch
from lerobot.configs.types import FeatureType, PolicyFeature
from lerobot.policies.act.configuration_act import ACTConfig
from lerobot.policies.act.modeling_act import ACTPolicy
from lerobot.policies.factory import make_pre_post_processors

side = int(sys.argv[2])
config = ACTConfig(
    input_features={
        "observation.images.front": PolicyFeature(type=FeatureType.VISUAL, shape=(3, side, side)),
        "observation.state": PolicyFeature(type=FeatureType.STATE, shape=(4,)),
    },
    output_features={"action": PolicyFeature(type=FeatureType.ACTION, shape=(4,))},
    chunk_size=10, n_action_steps=5, dim_model=64, n_heads=4, dim_feedforward=128, n_encoder_layers=1,
    n_decoder_layers=1, use_vae=False, pretrained_backbone_weights=None, device="cpu",
)
stats = {
    "observation.images.front": {"mean": torch.full((3, 1, 1), 0.5), "std": torch.full((3, 1, 1), 0.25)},
    "observation.state": {"mean": torch.zeros(4), "std": torch.ones(4)},
    "action": {"mean": torch.tensor([0.0, 0.0, 0.05, 0.5]), "std": torch.tensor([0.05, 0.05, 0.01, 0.2])},
}
for part in (ACTPolicy(config), *make_pre_post_processors(config, dataset_stats=stats)):
    part.save_pretrained(sys.argv[1])
"""

if PYTHON is None:
    pytest.skip("LEROBOT_PYTHON names no interpreter of a LeRobot environment", allow_module_level=True)
pytestmark = pytest.mark.proof


@pytest.fixture(scope="module")
def python() -> str:
    assert PYTHON is not None
    subprocess.run([PYTHON, "-m", "pip", "install", "--quiet", f"{ROOT}[mujoco]", "pytest-xdist"], check=True)
    return PYTHON


@pytest.mark.parametrize("workers", [[], ["-n2"]], ids=["alone", "n2"])
def test_an_act_folder_acts_in_bomb(python: str, tmp_path: Path, workers: list[str]) -> None:
    subprocess.run([python, "-c", MAKE, "act", "256"], cwd=tmp_path, check=True)
    asked = ["--vla-policy=act", "--vla-suite=bomb", "--vla-task=place_stone", "--vla-partition=unperturbed"]
    command = [python, "-m", "pytest", *asked, "--vla-episodes=2", "--vla-run-dir=run", *workers]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    lines = [json.loads(line) for line in (tmp_path / "run" / "run.jsonl").read_text().splitlines()]
    outcomes = [line["outcome"] for line in lines if line["type"] == "episode"]
    assert len(outcomes) == 2
    assert "error" not in outcomes, done.stdout


def test_pictures_of_another_size_are_refused_before_the_first_episode(python: str, tmp_path: Path) -> None:
    subprocess.run([python, "-c", MAKE, "act", "96"], cwd=tmp_path, check=True)
    command = [python, "-m", "pytest", "--vla-policy=act", "--vla-suite=bomb", "--vla-episodes=1"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 4
    assert "96" in done.stderr
