"""MetaWorld itself: the contract, and the traps that its users have fallen into."""

import numpy as np
import pytest
from installed import need

from pytest_vla.rollout import rollout
from pytest_vla.testing import check_suite

NAME = "metaworld"
need(NAME)


def test_the_splits_are_upstreams(upstream, suite):
    theirs = upstream(
        "import metaworld.env_dict as d\n"
        "print(json.dumps({'all': sorted(d.ALL_V3_ENVIRONMENTS), 'mt10': sorted(d.MT10_V3), 'mt50': sorted(d.MT50_V3),"
        "'train': sorted(d.ML45_V3['train']), 'test': sorted(d.ML45_V3['test'])}))"
    )
    ours = {name: sorted(t for t, p in suite.cells() if p == name) for name in suite.partitions()}
    assert theirs["all"] == theirs["mt50"] == sorted(suite.tasks()) == ours["mt50"]
    assert (theirs["mt10"], theirs["train"], theirs["test"]) == (ours["mt10"], ours["ml45_train"], ours["ml45_test"])


def test_every_task_runs_once_by_default(suite):
    assert sorted(task for task, _ in suite.select()) == sorted(suite.tasks())


@pytest.mark.slow
def test_it_keeps_the_contract(suite):
    check_suite(suite, tasks=["reach-v3", "drawer-close-v3"])


def test_upstreams_reset_ignores_its_seed_and_ours_does_not(upstream, begin, env):
    """The trap: with a fixed task, any seed gives one scene. Should this fail, upstream has mended it."""
    states = upstream(
        "import metaworld\n"
        "benchmark = metaworld.MT1('push-v3', seed=1)\n"
        "env = benchmark.train_classes['push-v3'](); env.set_task(benchmark.train_tasks[0])\n"
        "print(json.dumps([env.reset(seed=seed)[0].tolist() for seed in (1, 2)]))"
    )
    assert states[0] == states[1]
    first = begin("push-v3", "mt50", 0)["state"]["observation"]
    other = begin("push-v3", "mt50", 1)["state"]["observation"]
    assert not np.array_equal(first, other)
    assert np.array_equal(begin("push-v3", "mt50", 0)["state"]["observation"], first)


def test_an_episode_does_not_depend_on_what_was_played_before(suite, env):
    """Nor on the process: the second one is new."""
    key = suite.episode("hammer-v3", "mt50", 3)
    before = rollout(suite.oracle(env), env, key)
    for task in ("hammer-v3", "box-close-v3"):
        rollout(suite.oracle(env), env, suite.episode(task, "mt50", 1))
    after = rollout(suite.oracle(env), env, key)
    fresh = suite.make_env("hammer-v3")
    elsewhere = rollout(suite.oracle(fresh), fresh, key)
    fresh.close()
    assert before.digest == after.digest == elsewhere.digest != ""


def test_the_goal_is_hidden_in_the_meta_learning_splits_only(begin):
    assert begin("reach-v3", "mt50")["state"]["observation"][-3:].any()
    assert not begin("reach-v3", "ml45_train")["state"]["observation"][-3:].any()


def test_the_oracle_knows_a_hidden_goal(suite, env):
    assert rollout(suite.oracle(env), env, suite.episode("hand-insert-v3", "ml45_test", 0))


def test_a_positive_last_number_closes_the_gripper(begin, env):
    opening = {}
    for effort in (-1.0, 1.0):
        begin("reach-v3", "mt50")
        for _ in range(20):
            observation = env.step(np.array([0, 0, 0, effort], np.float32))[0]
        opening[effort] = observation["state"]["hand"][3]
    assert opening[1.0] < opening[-1.0] - 0.3


def test_the_picture_is_upright_and_not_mirrored(upstream):
    """A puck in a far corner of the table is seen where the camera's geometry puts it, turned by 180 degrees."""
    found = upstream(
        "import mujoco, numpy as np\n"
        "w = World('push-v3', 'x', 256); w.reset(3, {'partition': 'mt50'}); d, m = w.env.data, w.env.model\n"
        "body = m.body('obj').id; first = m.body_geomadr[body]\n"
        "geoms = slice(first, first + m.body_geomnum[body]); w.env._set_obj_xyz(np.array([0.35, 0.8, 0.02]))\n"
        "mujoco.mj_forward(m, d); a = w._picture().astype(int); m.geom_rgba[geoms, 3] = 0\n"
        "b = w._picture().astype(int)\n"
        "ys, xs = np.nonzero(np.abs(a - b).sum(2) > 60); c = m.camera('corner2').id\n"
        "axes = d.cam_xmat[c].reshape(3, 3); x, y, z = axes.T @ (d.geom_xpos[first] - d.cam_xpos[c])\n"
        "f = 128 / np.tan(np.radians(m.cam_fovy[c]) / 2)\n"
        "print(json.dumps({'seen': [float(xs.mean()), float(ys.mean())], 'up': float(axes[2, 1]),"
        "'there': [float(127.5 - f * x / z), float(127.5 + f * y / z)]}))"
    )
    assert found["up"] < 0, "the camera itself is upside down"
    turned = 255 - np.array(found["there"])
    assert np.abs(turned - 127.5).min() > 15, "a mirrored picture must not pass by chance"
    assert np.abs(np.array(found["seen"]) - turned).max() < 6, found
