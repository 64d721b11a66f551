"""What LeRobot's own `lerobot-eval` wrote, on PushT and in LeRobot's interpreter, is imported with its own counts.

It runs where `pytest-vla install lerobot` was done; gym-pusht is laid over that environment, which lacks it.
"""

import json
import os
import subprocess
from pathlib import Path

import pytest

from pytest_vla.cli import main
from pytest_vla.isolate.environment import environment, python_of
from pytest_vla.isolate.family import has_environment
from pytest_vla.run import read_run

if not has_environment("lerobot"):
    pytest.skip("LeRobot is not installed: pytest-vla install lerobot", allow_module_level=True)
pytestmark = pytest.mark.proof

HERE = Path(__file__).parent
EPISODES = 5  # the last batch of two is cut


def said(*command: object) -> str:
    outside = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, env={**outside, "HF_HUB_OFFLINE": "1"})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """LeRobot's interpreter with gym-pusht: what the environment has is seen through, what it lacks is installed."""
    theirs = python_of(environment("lerobot").folder)
    packages, version = said(
        theirs, "-c", "import sysconfig, lerobot; print(sysconfig.get_path('purelib')); print(lerobot.__version__)"
    ).split()
    over = tmp_path_factory.mktemp("over") / "venv"
    said(theirs, "-m", "venv", over)
    mine = over / "lib" / Path(packages).parent.name / "site-packages"
    (mine / "lerobot_environment.pth").write_text(f"{packages}\n")
    said(over / "bin" / "python", "-m", "pip", "install", "--quiet", f"lerobot[pusht]=={version}")
    return over / "bin" / "python"


@pytest.fixture(scope="module")
def folder(python: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("policy") / "act"
    said(python, HERE.parent / "families" / "lerobot_folders.py", "act_on_pusht", made)
    return made


@pytest.mark.parametrize("easier", [False, True], ids=["as it is", "easier"])
def test_a_real_eval_info_is_imported_with_the_counts_of_its_summary(python, folder, tmp_path, capsys, easier):
    program = [HERE / "lerobot_eval_easier.py"] if easier else ["-m", "lerobot.scripts.lerobot_eval"]
    output = tmp_path / "my_act"
    asked = [f"--policy.path={folder}", "--policy.device=cpu", "--env.type=pusht", f"--output_dir={output}"]
    asked += [f"--eval.n_episodes={EPISODES}", "--eval.batch_size=2", "--eval.use_async_envs=false"]
    said(python, *program, *asked, "--env.episode_length=100")
    written = json.loads((output / "eval_info.json").read_text())
    assert main(["import", str(output / "eval_info.json"), "-o", str(tmp_path / "run")]) == 0
    run = read_run(tmp_path / "run")
    tally, overall = run.once.tally(), written["overall"]
    assert (tally.measured, tally.errors) == (overall["n_episodes"], 0)
    assert tally.measured == EPISODES
    assert 100 * tally.rate == pytest.approx(overall["pc_success"])
    (task,) = written["per_task"]
    records = sorted(run.records(), key=lambda each: each.key.index)
    assert [each.outcome == "solved" for each in records] == task["metrics"]["successes"]
    assert (0 < tally.solved < EPISODES) == easier
    assert {(each.key.suite, each.key.task) for each in records} == {("pusht", "task_0")}
    assert run.policy.text == "my_act"
    assert f"{EPISODES} episodes of lerobot-eval" in capsys.readouterr().out


def test_two_runs_of_the_same_seeds_pair(python, folder, tmp_path, capsys):
    for name in "ab":
        asked = [f"--policy.path={folder}", "--policy.device=cpu", "--env.type=pusht", "--eval.n_episodes=2"]
        asked += ["--eval.batch_size=1", "--eval.use_async_envs=false", f"--output_dir={tmp_path / name}"]
        said(python, HERE / "lerobot_eval_easier.py", *asked, "--env.episode_length=60")
        assert main(["import", str(tmp_path / name / "eval_info.json"), "-o", str(tmp_path / f"run_{name}")]) == 0
    assert main(["compare", str(tmp_path / "run_a"), str(tmp_path / "run_b")]) == 0
    assert "0 lost, 0 gained" in capsys.readouterr().out
