"""PushT itself: the contract, and its conventions."""

import numpy as np
from installed import need

from pytest_vla.rollout import rollout
from pytest_vla.testing import check_suite

NAME = "pusht"
need(NAME)
CELL = ("push_t", "random_start")


def test_it_keeps_the_contract(suite):
    check_suite(suite)


def test_an_episode_does_not_depend_on_what_was_played_before(suite, env):
    from pytest_vla.policies.builtin import RandomPolicy

    policy, key = RandomPolicy(env.action_space), suite.episode(*CELL, 5)
    before = rollout(policy, env, key)
    rollout(policy, env, suite.episode(*CELL, 2))
    fresh = suite.make_env(CELL[0])
    elsewhere = rollout(policy, fresh, key)
    fresh.close()
    assert before.digest == rollout(policy, env, key).digest == elsewhere.digest != ""


def test_an_action_is_a_place_with_y_pointing_down_in_the_picture(begin, env):
    begin(*CELL)
    for _ in range(30):
        observation = env.step(np.array([400, 60], np.float32))[0]
    picture, at = observation["images"]["top"], observation["state"]["agent_pos"]
    assert picture.shape == (96, 96, 3)
    assert at[1] < 200, "drawn upwards, unless the T was in the way"
    x, y = (at / 512 * 96).astype(int)
    blue = picture[y, x].astype(int)
    assert blue[2] > blue[0] + 50, f"the blue point is where the state says, got {blue}"


def test_success_is_coverage_and_ends_the_episode(upstream):
    """Upstream's flag is the last step's, not that of any step: an episode ends with it."""
    found = upstream(
        "import numpy as np\n"
        "w = World('push_t', 'x', 96); w.reset(1, {})\n"
        "w.env._set_state(np.array([30., 30., 256., 256., np.pi / 4]))\n"
        "low = w.step(np.array([30, 30], np.float32))\n"
        "goal = w.env.goal_pose; w.env.block.angle = goal[2]; w.env.block.position = goal[:2].tolist()\n"
        "w.env.block.velocity = (0, 0); w.env.block.angular_velocity = 0\n"
        "high = w.step(np.array([30, 30], np.float32))\n"
        "print(json.dumps([low[1], low[2], high[1], high[2], w.progress()]))"
    )
    assert found == [False, {"success": False}, True, {"success": True}, 1.0]
