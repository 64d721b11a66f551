"""robosuite itself: the contract, and its conventions."""

import numpy as np
import pytest
from installed import need
from pytest_vla.suites.robosuite.tasks import TASKS

from pytest_vla.policies.builtin import RandomPolicy
from pytest_vla.testing import check_suite

NAME = "robosuite"
need(NAME)
CELL = ("Lift", "single_arm")


@pytest.mark.slow
def test_it_keeps_the_contract(suite):
    check_suite(suite, tasks=["Lift"])


def test_the_tasks_are_those_of_the_package(upstream, suite):
    assert upstream("print(json.dumps(sorted(world.robosuite.ALL_ENVIRONMENTS)))") == sorted(suite.tasks())
    assert len(suite.tasks()) == 19


@pytest.mark.slow
@pytest.mark.parametrize("task", sorted(TASKS))
def test_every_task_resets_and_steps_with_the_actions_it_declares(suite, env, task):
    key = suite.episode(task, dict(suite.cells())[task], 0)
    observation, _ = env.reset(seed=key.seed(), options={"episode": key})
    space = suite.action_space(task)
    assert observation["state"]["robot"].size >= 7
    for action in (suite.noop(suite.make_env(task)), space.high):
        observation, _, _, _, info = env.step(np.asarray(action, np.float32))
        assert np.isfinite(observation["state"]["object"]).all()
    assert not info["success"]


def test_an_episode_does_not_depend_on_what_was_played_before(suite, env):
    """Upstream is seeded once, when it is made: its reset() takes no seed, and draws sizes as well as places."""
    policy, key = RandomPolicy(env.action_space), suite.episode(*CELL, 5)
    fresh = suite.make_env("Lift")
    try:
        digests = [_start(suite, where, key, policy) for where in (env, env, fresh)]
        _start(suite, env, suite.episode(*CELL, 2), policy)
        digests.append(_start(suite, env, key, policy))
        other = _start(suite, env, suite.episode(*CELL, 2), policy)
    finally:
        fresh.close()
    assert len(set(digests)) == 1
    assert other != digests[0]


def _start(suite, env, key, policy) -> str:
    observation, _ = env.reset(seed=key.seed(), options={"episode": key})
    state = policy.reset(key)
    for _ in range(5):
        observation = env.step(policy.act([observation], [state])[0])[0]
    return suite.digest(env)


def test_without_us_the_seed_is_used_up_and_no_reset_takes_one(upstream):
    """The trap: two resets of one environment differ, and so do episodes after another number of them."""
    found = upstream(
        "import inspect, numpy as np\n"
        "e = world.robosuite.make('Lift', robots='Panda', has_offscreen_renderer=False, use_camera_obs=False, seed=3)\n"
        "one = e.reset()['cube_pos'].tolist(); two = e.reset()['cube_pos'].tolist()\n"
        "print(json.dumps([list(inspect.signature(e.reset).parameters), one == two]))"
    )
    assert found == [[], False]


def test_the_gripper_closes_at_plus_one_and_an_action_moves_along_the_axes_of_the_base(begin, env):
    start = begin(*CELL)["state"]["robot"]
    assert start.shape == (9,)
    for _ in range(15):
        closed = env.step(np.array([0, 0, 0, 0, 0, 0, 1], np.float32))[0]["state"]["robot"]
    for _ in range(15):
        opened = env.step(np.array([0, 0.5, 0.5, 0, 0, 0, -1], np.float32))[0]["state"]["robot"]
    assert abs(closed[7]) < 0.005 < 0.03 < abs(opened[7])
    moved = opened[:3] - closed[:3]
    assert abs(moved[0]) < 0.03 < min(moved[1], moved[2])


def test_pictures_are_upright_and_not_mirrored(suite, upstream):
    """The red cube is where the camera's own geometry puts it, nearer than a flip or a mirror would put it."""
    options = ", ".join(f"{name}={value!r}" for name, value in suite.options("Lift").items())
    found = upstream(
        f"import numpy as np\nw = World('Lift', {options}); rows = []\n"
        "for seed in range(5):\n"
        "    w.reset(seed, {}); p = w.picture('agentview').astype(int)\n"
        "    red = np.argwhere((p[..., 0] > 60) & (p[..., 0] > 2 * p[..., 1])).mean(axis=0)\n"
        "    data, model = w.env.sim.data._data, w.env.sim.model._model; camera = model.camera('agentview').id\n"
        "    x, y, z = data.cam_xmat[camera].reshape(3, 3).T @ (w.seen['cube_pos'] - data.cam_xpos[camera])\n"
        "    focal = 128 / np.tan(np.radians(model.cam_fovy[camera]) / 2)\n"
        "    rows.append([*red.tolist(), 128 + focal * y / z, 128 - focal * x / z])\n"
        "print(json.dumps(rows))"
    )
    seen, expected = np.array(found)[:, :2], np.array(found)[:, 2:]
    assert np.abs(seen - expected).mean() < 8
    for axis in (0, 1):
        turned = np.abs(255 - seen[:, axis] - expected[:, axis])
        assert np.abs(seen[:, axis] - expected[:, axis]).mean() < turned.mean()
    assert np.corrcoef(seen[:, 1], expected[:, 1])[0, 1] > 0.9, "it moves to the side it is moved to"


def test_success_is_upstreams_own_and_holds_only_while_the_cube_is_up(suite, upstream):
    options = ", ".join(f"{name}={value!r}" for name, value in suite.options("Lift").items())
    found = upstream(
        f"import numpy as np\nw = World('Lift', {options}); w.reset(4, {{}})\n"
        "joint = w.env.cube.joints[0]; q = w.env.sim.data.get_joint_qpos(joint).copy(); hold = np.zeros(7)\n"
        "low = w.step(hold)[2]['success']; q[2] += 0.2; w.env.sim.data.set_joint_qpos(joint, q)\n"
        "high = w.step(hold)[1:]\n"
        "for _ in range(20): last = w.step(hold)\n"
        "print(json.dumps([low, high, last[2]['success']]))"
    )
    assert found == [False, [False, {"success": True}], False]
