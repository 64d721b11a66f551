"""A LeRobot ACT for the reach suite: a folder that LeRobot's own interpreter made of the oracle's demonstrations."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.reach_policy import CHUNK, demonstrations, plain, trained
from benchmarks.reach_suite import Reach
from pytest_vla.isolate.environment import environment, python_of
from pytest_vla.isolate.family import has_environment
from pytest_vla.policies.kinds import load_policy

TRAINING = Path(__file__).parent / "reach_act_training.py"
EPISODES = 800
STEPS, FEW_STEPS = 1000, 20


def act_is_trainable() -> bool:
    """Whether `pytest-vla install lerobot` was done."""
    return has_environment("lerobot")


def told_by_pictures(home: Path, well: bool = True) -> Any:
    """The policy of `reach_red`: an ACT that runs beside LeRobot's packages, or without them that of `reach`."""
    if not act_is_trainable():
        return plain(trained(home) if well else trained(home, 60))
    source: Any = load_policy(str(trained_act(home, STEPS if well else FEW_STEPS)))
    return source.policy


def trained_act(home: Path, steps: int = STEPS) -> Path:
    """The folder after so many steps, kept beside other trained policies."""
    folder = home.resolve() / f"reach_act_{steps}"
    if not folder.is_dir():
        home.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=home) as scratch:
            shown, made = Path(scratch) / "demonstrations.npz", Path(scratch) / "policy"
            save_demonstrations(shown)
            command = [str(python_of(environment("lerobot").folder)), str(TRAINING), str(shown), str(made), str(steps)]
            subprocess.run(command, check=True, env={**os.environ, "HF_HUB_OFFLINE": "1"})
            made.rename(folder)
    return folder


def save_demonstrations(path: Path) -> None:
    """Arrays by LeRobot's names of features: pictures as bytes, and the next CHUNK actions of each moment."""
    suite = Reach("reach_red", goal="red")
    seen, chunks = demonstrations(EPISODES, suite=suite)
    assert chunks.shape[1] == CHUNK
    arrays = {f"observation.images.{name}": np.stack([o["images"][name] for o in seen]) for name in suite.cameras}
    arrays["observation.state"] = np.stack([o["state"]["ee"] for o in seen])
    np.savez(path, action=chunks, **arrays)
