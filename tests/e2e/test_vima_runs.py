"""The real thing: VIMA episodes through the plugin, with real workers."""

import subprocess
import sys
from pathlib import Path

import pytest

from pytest_vla.cli import main

pytest.importorskip("pybullet")
pytestmark = pytest.mark.slow

TASKS = "visual_manipulation,rotate,follow_order,sweep_without_exceeding"
MEASURED = ("outcome", "reason", "steps", "progress", "digest", "initial_digest", "instruction")


def run_vima(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--vla-suite=vima", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def measured(episodes):
    return {key: tuple(record[name] for name in MEASURED) for key, record in episodes.items()}


@pytest.mark.parametrize("policy", ["oracle", "random"])
def test_vima_gives_the_same_bits_at_any_n_and_in_any_order(tmp_path, read_episodes, policy):
    (tmp_path / "backwards.py").write_text("def pytest_collection_modifyitems(items): items.reverse()")
    (tmp_path / "conftest.py").write_text("import sys; sys.path.insert(0, '.')")
    variants = {"alone": [], "two": ["-n2", "-p", "backwards"]}
    for name, extra in variants.items():
        arguments = [f"--vla-policy={policy}", f"--vla-task={TASKS}", "--vla-episodes=2", f"--vla-run-dir={name}"]
        result = run_vima(tmp_path, *arguments, *extra)
        assert result.returncode == (0 if policy == "oracle" else 1), result.stdout + result.stderr
    runs = {name: measured(read_episodes(tmp_path / name)) for name in variants}
    assert len(runs["alone"]) == 22
    assert all(len(digest) == 32 for _, _, _, _, digest, _, _ in runs["alone"].values())
    for name in variants:
        assert runs[name] == runs["alone"], name


def test_doing_nothing_solves_nothing(tmp_path):
    result = run_vima(tmp_path, "--vla-policy=noop", "--vla-episodes=1", "-n2")
    assert result.returncode == 1
    assert "0 of 42 episodes solved, 0 errors" in result.stdout


def test_an_unsolved_episode_can_be_replayed_from_the_printed_command(tmp_path, monkeypatch, capsys):
    result = run_vima(tmp_path, "--vla-policy=noop", "--vla-task=rotate", "--vla-episodes=1")
    (line,) = [line for line in result.stdout.splitlines() if line.startswith("replay the first unsolved")]
    arguments = line.partition("pytest-vla ")[2].split()
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 0
    assert "the digest matches" in capsys.readouterr().out


READS_ITS_PROMPT = """
import numpy as np
import pytest_vla as vla

class Reader(vla.Policy):
    spec = vla.PolicySpec(suites=("vima",), cameras=("top",), prompt=True)

    def act(self, observations, states):
        for o in observations:
            assert o["prompt"]["text"] == o["instruction"]
            for asset in o["prompt"]["assets"].values():
                assert asset["rgb"]["top"].shape == (128, 256, 3)
                assert asset["rgb"]["top"].std() > 0
                assert asset["objects"]
        stay = {"position": np.array([0.3, -0.45], np.float32), "rotation": np.array([0, 0, 0, 1], np.float32)}
        return [{f"pose{i}_{name}": stay[name] for i in (0, 1) for name in stay} for _ in observations]
"""


@pytest.mark.parametrize("workers", [[], ["-n2"]], ids=["alone", "served"])
def test_a_policy_that_asks_for_the_prompt_gets_its_pictures(tmp_path, workers):
    (tmp_path / "reader.py").write_text(READS_ITS_PROMPT)
    tasks = "--vla-task=visual_manipulation,twist,follow_order"
    result = run_vima(tmp_path, "--vla-policy=reader:Reader", tasks, "--vla-episodes=1", *workers)
    assert "0 of 9 episodes solved, 0 errors" in result.stdout, result.stdout + result.stderr
