"""The protocol: cells, variations, actions, what is refused, and what is published."""

import ast
import statistics
from pathlib import Path

import numpy as np
import pytest
from pytest_vla.suites.agnostos import published
from pytest_vla.suites.agnostos import tasks as task_files
from pytest_vla.suites.agnostos.protocol import ROOM

from pytest_vla.kit.hand import HOME, down
from pytest_vla.kit.keyframe_actions import action_of
from pytest_vla.registry import get_suite
from pytest_vla.suite import SuiteError
from pytest_vla.testing import check_suite


def test_18_seen_13_and_10_unseen_tasks_are_run_when_nothing_is_named(suite):
    cells = suite.select()
    counts = {partition: sum(p == partition for _, p in cells) for partition in suite.default_partitions()}
    assert counts == {"seen": 18, "unseen_level1": 13, "unseen_level2": 10}


def test_every_variation_can_be_named_and_no_other(suite):
    per_task = {task.name: task.variations for task in suite.templates.values()}
    seen = [name for name, partition in suite.select() if partition == "seen"]
    assert sum(per_task[name] for name in seen) == 249
    assert sum(per_task.values()) == 249 + 27
    assert suite.select(["close_jar"], ["variation_19"]) == [("close_jar", "variation_19")]
    with pytest.raises(SuiteError, match="variation_9"):
        suite.select(["close_jar"], ["variation_99"])


def test_a_full_table_is_drawn_until_there_is_room(suite):
    key = suite.episode("stack_blocks", "seen", 1034)  # takes more than 200 draws
    assert suite.templates["stack_blocks"].instance(key, 0, strict=False).instruction


def test_the_index_is_the_variation_where_all_are_run(suite):
    assert [suite.variation(suite.episode("turn_tap", "variations", n)) for n in range(4)] == [0, 1, 0, 1]
    assert suite.variation(suite.episode("turn_tap", "seen", 3)) == 0
    assert suite.variation(suite.episode("stack_blocks", "variation_59", 0)) == 59


def test_instructions_of_variation_0_are_the_published_ones(suite, env, split_of):
    said = {}
    for task, split in split_of.items():
        observation, _ = env.reset(options={"episode": suite.episode(task, split, 0)})
        said[task] = observation["instruction"]
    assert said["close_jar"] == "close the red jar"
    assert said["stack_blocks"] == "stack 2 red blocks"
    assert said["put_books_on_bookshelf"] == "put 1 books on bookshelf"
    assert said["place_cups"] == "place 1 cup on the cup holder"
    assert said["take_plate_off_colored_dish_rack"] == "take plate off the black colored rack"
    assert all(words and "{" not in words for words in said.values())


BAD = {
    "outside": action_of(ROOM, down(0.9, 0.0, 0.1), 1.0),
    "under the table": action_of(ROOM, down(0.3, 0.0, -0.1), 1.0),
    "no rotation": np.array([0.3, 0, 0.9, 0, 0, 0, 0, 1, 1], np.float32),
    "not of length 1": np.array([0.3, 0, 0.9, 0, 1.2, 0, 0, 1, 1], np.float32),
    "out of reach": action_of(ROOM, down(0.7, 0.6, 0.9), 1.0),
    "not a number": np.full(9, np.nan, np.float32),
}


@pytest.mark.parametrize("name", BAD)
def test_an_impossible_action_ends_the_episode_with_a_reason(suite, env, name):
    env.reset(options={"episode": suite.episode("close_jar", "seen", 0)})
    _, _, over, _, info = env.step(BAD[name])
    assert over
    assert info["failure"] == "invalid_action"
    assert info["message"]


def test_the_arm_moves_first_and_the_gripper_then(suite, env):
    env.reset(options={"episode": suite.episode("close_jar", "seen", 0)})
    target = down(0.35, 0.2, 0.3)
    observation, *_ = env.step(action_of(ROOM, target, 0.0))
    assert observation["state"]["ee"][:3] == pytest.approx(action_of(ROOM, target, 0)[:3], abs=3e-3)
    assert observation["state"]["ee"][7] < 0.05


def test_home_is_where_the_table_counts_from(suite, env):
    observation, _ = env.reset(options={"episode": suite.episode("close_jar", "seen", 0)})
    assert observation["state"]["ee"] == pytest.approx(action_of(ROOM, HOME, 1.0)[:8], abs=0.01)
    assert observation["state"]["ee"][2] == pytest.approx(1.472, abs=0.01)


def test_five_cameras_and_a_size_that_is_an_option(suite, env):
    from pytest_vla.suites.agnostos.benchmark import AgnostosSuite

    observation, _ = env.reset(options={"episode": suite.episode("close_jar", "seen", 0)})
    assert set(observation["images"]) == {"front", "left_shoulder", "right_shoulder", "overhead", "wrist"}
    assert {image.shape for image in observation["images"].values()} == {(256, 256, 3)}
    small = AgnostosSuite("agnostos_small", mode="floating", image_px=64).make_env("close_jar")
    observation, _ = small.reset(options={"episode": suite.episode("close_jar", "seen", 0)})
    assert observation["images"]["wrist"].shape == (64, 64, 3)
    small.close()


@pytest.mark.parametrize(
    "name",
    ["agnostos", "agnostos_strict", "agnostos_floating", pytest.param("agnostos_delta", marks=pytest.mark.proof)],
)
def test_each_suite_keeps_the_contract(name):
    check_suite(get_suite(name), tasks=["stack_blocks", "push_buttons", "take_lid_off_saucepan"])


def test_the_published_table_has_19_methods_and_its_own_means(suite):
    table = published.published()
    assert len(table) == 19
    names = {split: [task for task, partition in suite.select() if partition == split] for split in suite.partitions()}
    assert set(table["PerAct"]) == {*names["unseen_level1"], *names["unseen_level2"]}
    assert published.level_mean("X-ICM-7B", names["unseen_level1"]) == pytest.approx(0.286, abs=1e-3)
    assert published.level_mean("X-ICM-72B", names["unseen_level2"]) == pytest.approx(0.203, abs=1e-3)
    assert "close_fridge" not in table["3D-LOTUS"]


def test_a_task_is_a_short_file():
    files = [Path(task_files.__file__).with_name(f"{name}.py") for name in task_files.NAMES]
    assert statistics.median(_lines_of_code(path) for path in files) <= 45


def _lines_of_code(path: Path) -> int:
    """Without blanks, comments and docstrings."""
    text = path.read_text(encoding="utf-8")
    quiet = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.FunctionDef) and ast.get_docstring(node):
            quiet |= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    lines = enumerate(text.splitlines(), 1)
    return sum(number not in quiet and bool(line.split("#")[0].strip()) for number, line in lines)


def test_the_42nd_task_of_the_docs_runs_as_it_is_written():
    import re

    import pytest_vla as vla
    from pytest_vla.registry import register

    page = Path(__file__).parents[3] / "docs" / "agnostos_task.md"
    names: dict = {}
    for block in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
        exec(block, names)
    suite = register(names["suite"])
    env = suite.make_env("put_ball_in_bowl")
    for partition, index in (("unseen_level1", 0), ("unseen_level1", 1), ("variation_7", 0)):
        assert vla.rollout(suite.oracle(env), env, suite.episode("put_ball_in_bowl", partition, index))
    env.close()


class InEulerAngles:
    """The oracle, heard by a policy that gives seven numbers."""

    def __init__(self, oracle, **spec):
        from pytest_vla.policies.base import PolicySpec

        self.oracle, self.spec = oracle, PolicySpec(**spec)

    def reset(self, episode):
        return self.oracle.reset(episode)

    def act(self, observations, states):
        from scipy.spatial.transform import Rotation

        keyframes = self.oracle.act(observations, states)
        return [[*frame[:3], *Rotation.from_quat(frame[3:7]).as_euler("xyz"), frame[7]] for frame in keyframes]


def test_a_policy_may_give_euler_angles_where_its_spec_says_so(suite, env):
    import pytest_vla as vla
    from pytest_vla.policies.base import PolicySpec

    key = suite.episode("take_lid_off_saucepan", "unseen_level2", 0)
    assert vla.rollout(InEulerAngles(suite.oracle(env), rotation="euler"), env, key)
    assert vla.rollout(InEulerAngles(suite.oracle(env)), env, key).reason == "policy_error"
    assert "rotation" in PolicySpec(rotation="euler").mismatch(get_suite("agnostos_delta"))


def test_the_state_in_euler_angles_is_the_published_home(suite, env):
    observation, _ = env.reset(options={"episode": suite.episode("close_jar", "seen", 0)})
    x, y, z, *angles, gripper = observation["state"]["euler"]
    assert (x, y, z) == pytest.approx((0.278, 0.0, 1.472), abs=0.01)
    assert [abs(angle) for angle in angles] == pytest.approx([np.pi, np.radians(10), np.pi], abs=0.02)
    assert gripper == pytest.approx(1.0, abs=0.05)


def test_whatever_is_lacking_one_command_installs_all_that_the_arm_needs():
    needed = {each.module: each.install for each in get_suite("agnostos").requires}
    assert needed == dict.fromkeys(("mujoco", "mink", "ompl"), 'pip install "pytest-vla[agnostos]"')
    assert [each.module for each in get_suite("agnostos_floating").requires] == ["mujoco"]
