"""A program written for VIMABench runs on the suite, by changing one import."""

import doctest
import re
from pathlib import Path

import numpy as np
import pytest
from pytest_vla.suites.vima import upstream as vima_bench
from pytest_vla.suites.vima_upstream import suite as vima_upstream

import pytest_vla as vla


@pytest.fixture
def env():
    specs = vima_bench.PARTITION_TO_SPECS["test"]["placement_generalization"]
    env = vima_bench.make("rotate", task_kwargs=specs["rotate"], modalities=["segm", "rgb"], seed=1, hide_arm_rgb=False)
    yield env
    env.close()


def test_observations_have_the_shapes_of_the_original(env):
    observation = env.reset()
    assert set(observation) == {"rgb", "segm", "ee"}
    for view in ("front", "top"):
        assert observation["rgb"][view].shape == (3, 128, 256)
        assert observation["segm"][view].shape == (128, 256)
    assert observation["ee"] == 0


def test_prompt_and_assets_have_the_form_of_the_original(env):
    env.reset()
    prompt, assets = env.get_prompt_and_assets()
    assert prompt == env.prompt
    assert "{dragged_obj}" in prompt
    (asset,) = assets.values()
    assert asset["placeholder_type"] == "object"
    assert asset["rgb"]["top"].shape == (3, 128, 256)
    assert set(asset["segm"]["obj_info"]) == {"obj_id", "obj_name", "obj_color"}
    scene = vima_bench.make("rearrange", partition="train")
    scene.reset()
    assert scene.prompt_assets["scene"]["placeholder_type"] == "scene"
    assert isinstance(scene.prompt_assets["scene"]["segm"]["obj_info"], list)
    scene.close()


def test_meta_info_names_every_object_in_the_segmentation(env):
    observation = env.reset()
    info = env.meta_info["obj_id_to_info"]
    seen = set(np.unique(observation["segm"]["top"])) - {0, 1, 255}
    assert seen == set(info)
    assert all({"obj_name", "texture_name"} <= set(facts) for facts in info.values())
    assert env.meta_info["action_bounds"]["low"].tolist() == [0.25, -0.5]


def test_seeding_gives_the_same_episode_again(env):
    env.seed(5)
    first = env.reset()["rgb"]["top"]
    other = env.reset()["rgb"]["top"]
    env.global_seed = 5
    assert np.array_equal(env.reset()["rgb"]["top"], first)
    assert not np.array_equal(other, first)


def test_the_oracle_of_the_task_solves_and_step_returns_four_things(env):
    observation = env.reset()
    oracle = env.task.oracle(env)
    for _ in range(env.task.oracle_max_steps):
        observation, reward, done, info = env.step(oracle.act(observation))
        if done:
            break
    assert reward == 0
    assert info == {"prompt": env.prompt, "success": True, "failure": False}


def test_own_lists_of_names_replace_those_of_the_partition():
    kwargs = {"possible_dragged_obj": ["letter A"], "possible_dragged_obj_texture": ["red", "blue"]}
    env = vima_bench.make("instruction_following/rotate", task_kwargs=kwargs)
    env.reset()
    names = {(facts["obj_name"], facts["texture_name"]) for facts in env.meta_info["obj_id_to_info"].values()}
    env.close()
    assert names == {("letter A", "red"), ("letter A", "blue")}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"task_name": "rotat"}, "unknown task 'rotat'; did you mean"),
        ({"task_name": "rotate", "modalities": ["depth"]}, "unknown modality 'depth'"),
        ({"task_name": "rotate", "partition": "novel_task_generalization"}, "unknown partition"),
        ({"task_name": "same_texture", "partition": "combinatorial_generalization"}, "novel_task_generalization"),
        ({"task_name": "rotate", "task_kwargs": {"num_dragged": 3}}, "unknown task argument 'num_dragged'"),
    ],
)
def test_what_does_not_exist_is_refused_with_what_does(arguments, message):
    with pytest.raises(ValueError, match=message):
        vima_bench.make(**arguments)


def test_the_example_in_the_module_is_true():
    assert doctest.testmod(vima_bench).failed == 0


def test_the_loop_in_the_readme_runs_and_solves(capsys):
    readme = (Path(vima_bench.__file__).parent / "README.md").read_text()
    (loop,) = re.findall(r"```python\n(from pytest_vla.suites.vima import upstream.*?)```", readme, re.DOTALL)
    exec(compile(loop, "README.md", "exec"), {})
    out = capsys.readouterr().out
    assert out.startswith("This is a ")
    assert out.endswith("True\n")


def test_without_arguments_every_shape_is_drawn_from():
    shapes = set()
    for seed in range(40):
        env = vima_bench.make("visual_manipulation", seed=seed)
        env.reset()
        shapes |= {facts["obj_name"] for facts in env.meta_info["obj_id_to_info"].values()}
        env.close()
    assert shapes & {"letter A", "block", "cross", "heart"}
    assert shapes & {"letter R", "star", "round", "pallet", "pan"}


def test_windows_that_cannot_be_opened_are_one_line_each(monkeypatch, capsys):
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    env = vima_bench.make("rotate", render_prompt=True, display_debug_window=True)
    env.reset()
    for _ in range(2):
        assert env.render() is None
    picture = env.render("rgb_array")
    env.close()
    lines = [line for line in capsys.readouterr().err.splitlines() if "display" in line]
    assert [line.partition(":")[0] for line in lines] == ["display_debug_window", "render_prompt"]
    assert picture.shape[2] == 3
    assert len(np.unique(picture)) > 2


def test_what_wrappers_and_scripts_of_the_original_look_at_is_there(env):
    assert env.spec is None
    env.global_seed = 7
    assert env.global_seed == (7, 7)
    assert env.unwrapped.task.seed == 7
    observation = env.reset()
    assert env.observation_space.contains(observation)
    action = {name: np.clip(v, env.action_space[name].low, env.action_space[name].high)
              for name, v in env.task.oracle(env).act(observation).items()}  # fmt: skip
    assert env.step(action=action, skip_oracle=False)[3]["success"]
    with pytest.raises(ValueError, match="--vla-report"):
        vima_bench.make("rotate", record_gui=True)


def test_the_original_as_a_suite_has_our_cells_and_says_what_it_needs(monkeypatch, tmp_path):
    monkeypatch.setenv("PYTEST_VLA_ENVS", str(tmp_path))
    suite = vima_upstream()
    assert suite.cells() == vla.get_suite("vima").cells()
    assert suite.missing().install == "pytest-vla install vima_upstream"
    assert vla.PolicySpec(suites=("vima",)).mismatch(suite) is None
    assert "acts in bomb" in vla.PolicySpec(suites=("bomb",)).mismatch(suite)
