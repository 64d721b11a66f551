"""The documented 18th task works as printed, and the README's pictures come from its command."""

import re
from pathlib import Path

from pytest_vla.suites.vima.tasks import TASKS

from pytest_vla.registry import register
from pytest_vla.report import gallery
from pytest_vla.rollout import rollout

REPOSITORY = Path(__file__).parents[3]
SUITE = REPOSITORY / "suites" / "vima"


def test_the_documented_task_can_be_solved_in_every_level():
    first, _ = re.findall(r"```python\n(.*?)```", (REPOSITORY / "docs" / "vima_task.md").read_text(), re.DOTALL)
    names: dict[str, object] = {}
    exec(first, names)
    suite = register(names["suite"])
    assert suite.name == "my_vima"
    env = suite.make_env("visit_then_put")
    for task, partition in suite.cells():
        for index in range(3):
            result = rollout(suite.oracle(env), env, suite.episode(task, partition, index))
            assert result, result
            assert result.steps == 2
    env.close()


def test_the_readme_shows_every_task_and_its_pictures_are_small():
    readme = (SUITE / "README.md").read_text()
    pictures = re.findall(r"\(pictures/(\w+)\.png\)", readme)
    assert pictures == list(TASKS)
    files = [SUITE / "pictures" / f"{name}.png" for name in pictures]
    assert sum(path.stat().st_size for path in files) < 1_000_000
    for name, task in TASKS.items():
        assert f"| `{name}` | {task.step_limit} |" in readme


def test_the_gallery_command_draws_one_picture_per_task(tmp_path, suite):
    paths = gallery.draw(suite, tmp_path / "out", index=1)
    assert {path.stem for path in paths} == set(TASKS)
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in paths)
