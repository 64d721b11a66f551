"""LeRobot's real classes in LeRobot's own environment: the actions of its own loop, and a lab's folder on two suites.

They run where `pytest-vla install lerobot` was done.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from lerobot_interpreter import lerobots_python

from pytest_vla.episode import EpisodeKey
from pytest_vla.isolate.family import HOME, has_environment
from pytest_vla.policies import load_policy

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs"
KINDS = ["act", "act_ensemble", "diffusion", "diffusion_ddim", "vqbet", "smolvla", "pi0", "pi05"]
QUICK = ("act", "diffusion", "smolvla")


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=() if kind in QUICK else pytest.mark.proof) for kind in KINDS]
)
def test_a_folder_gives_the_bits_of_lerobots_own_loop(kind: str, tmp_path: Path) -> None:
    said = lerobots_python(HERE / "lerobot_own_loop.py", kind, tmp_path / kind, HOME / "lerobot" / "guest.py")
    found = json.loads(said.splitlines()[-1])
    assert found["compared"] == 20
    assert found["differ"] == 0, found
    assert found["spread"] > 0.01, "the actions say something"
    assert found["batched"] < 1e-4, "noise of a row does not depend on its company"


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """SmolVLA folders as somebody has them: two cameras by number, and the state and actions of a suite."""
    home = tmp_path_factory.mktemp("lab")
    for suite in ("bomb", "libero"):
        lerobots_python(HERE / "lerobot_folders.py", f"lab_{suite}", home / suite / "my_smolvla")
    return home


def test_a_smolvla_folder_is_loaded_beside_lerobots_packages_and_repeats_itself(lab: Path) -> None:
    import numpy as np

    assert "lerobot" not in sys.modules
    source = load_policy(str(lab / "libero" / "my_smolvla"))
    assert source.verified
    images = {name: np.full((64, 64, 3), 90, np.uint8) for name in source.spec.cameras}
    seen = {"images": images, "state": {"robot": np.ones(8, np.float32)}, "instruction": "put the stone"}
    answers = []
    for index in (0, 0, 1):
        state = source.policy.reset(EpisodeKey("libero", "t", "p", index))
        answers.append(source.policy.act([seen], [state])[0].tolist())
    assert answers[0] == answers[1]
    assert answers[0] != answers[2], "noise is of the episode"
    source.policy.close()


def test_a_folder_of_another_suites_numbers_is_refused_before_the_first_episode(lab: Path) -> None:
    done = ran(lab / "libero", "--vla-policy=my_smolvla", "--vla-suite=bomb", "--vla-episodes=1")
    assert done.returncode == 4
    assert "the policy's state has 8 numbers; that of 'bomb' has 4" in done.stderr


def commands() -> list[str]:
    """Those of the page, of somebody who has a SmolVLA folder."""
    page = (DOCS / "policies.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"### A LeRobot folder, start to end\n.*?```\n(.*?)```", page, re.DOTALL)
    return [line.partition("  #")[0].strip() for line in block.splitlines() if line.strip()]


def ran(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", *words]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1"}
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment)


def test_a_labs_path_is_three_commands() -> None:
    assert len(commands()) == 3
    assert commands()[0] == "pytest-vla install lerobot libero"


@pytest.mark.parametrize("suite", ["bomb", "libero"])
def test_a_lab_runs_its_smolvla_folder(lab: Path, suite: str) -> None:
    if suite == "libero" and not (has_environment("libero") and "LIBERO_ASSETS" in os.environ):
        pytest.skip("LIBERO is not installed, or LIBERO_ASSETS names no folder")
    (command,) = [line for line in commands() if f"--vla-suite={suite}" in line]
    words = [word for word in command.split()[1:] if not word.startswith("--vla-data")]
    few = {
        "bomb": ["--vla-task=place_stone", "--vla-partition=unperturbed"],
        "libero": ["--vla-partition=libero_spatial"],
    }
    if suite == "libero":
        words.append(f"--vla-data=libero={os.environ['LIBERO_ASSETS']}")
    done = ran(lab / suite, *words, *few[suite], "--vla-episodes=1", "--vla-run-dir=run", "-x")
    records = [json.loads(line) for line in (lab / suite / "run" / "run.jsonl").read_text().splitlines()]
    outcomes = [record["outcome"] for record in records if record["type"] == "episode"]
    assert outcomes, done.stdout + done.stderr
    assert "error" not in outcomes, done.stdout
