"""VIMABench itself, where VIMA_BENCH_ROOT names a checkout of vimalabs/VIMABench and its environment is installed."""

import numpy as np
import pytest
from installed import need

import pytest_vla as vla

NAME = "vima_upstream"
need(NAME)
L1, L4 = "placement_generalization", "novel_task_generalization"


def test_the_expert_solves_also_what_only_an_expert_may_clear_away(suite, env):
    oracle = suite.oracle(env)
    for task, partition in (("rotate", L1), ("rearrange", L1), ("same_texture", L4)):
        for index in range(2):
            result = vla.rollout(oracle, env, suite.episode(task, partition, index))
            assert result, result


def test_an_episode_is_the_same_bits_again_whatever_came_before(suite, env):
    oracle, key = suite.oracle(env), suite.episode("same_shape", L1, 1)
    digests = []
    for _ in range(2):
        result = vla.rollout(oracle, env, key)
        digests.append((result.initial_digest, result.digest))
        vla.rollout(oracle, env, suite.episode("visual_manipulation", L1, 0))
    assert digests[0] == digests[1]


def test_the_prompt_is_one_that_policies_for_vima_read(begin):
    first = begin("novel_adj_and_noun", L4)
    tree = first["prompt"].to_tree()
    assert tree["text"] == first["instruction"]
    assert {"dragged_obj", "base_obj", "demo_blicker_obj_1"} <= set(tree["assets"])
    asset = first["prompt"].assets["base_obj"]
    assert asset.kind == "object"
    assert asset.rgb["top"].shape == (128, 256, 3)
    assert [piece.image is None for piece in first["prompt"].pieces()].count(False) == 8


def test_positions_outside_are_clipped_and_a_push_without_direction_is_refused(suite, env, begin):
    up = np.array([0, 0, 0, 1], np.float32)

    def step(start, end):
        spots = {"pose0_position": np.array(start, np.float32), "pose1_position": np.array(end, np.float32)}
        return env.step({**spots, "pose0_rotation": up, "pose1_rotation": up})[4]

    begin("rotate", L1)
    assert "failure" not in step((0.76, -0.6), (0.25, -0.49))
    begin("sweep_without_touching", L4)
    assert step((0.5, 0.1), (0.5, 0.1))["failure"] == "invalid_action"


@pytest.mark.slow
def test_an_action_that_would_descend_for_ever_ends(env, begin):
    begin("visual_manipulation", L1)
    tilted = np.array([1, 0, 0, 0.2], np.float32)
    spot = np.array([0.5, 0.0], np.float32)
    _, _, over, _, info = env.step(
        {"pose0_position": spot, "pose0_rotation": tilted, "pose1_position": spot, "pose1_rotation": tilted}
    )
    assert over
    assert not info["success"]
    begin("visual_manipulation", L1)  # and the next episode has a world again
