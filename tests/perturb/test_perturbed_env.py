"""The wrapper around any environment: only what is perturbed changes, and the key decides every draw."""

import gymnasium
import numpy as np
import pytest

import pytest_vla as vla
from pytest_vla.perturb import AXES, PerturbationError, perturbed
from pytest_vla.registry import register


class RoomEnv(gymnasium.Env):
    """Two cameras, an instruction, a prompt; it remembers what was done."""

    action_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
    observation_space = gymnasium.spaces.Dict({})

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.frame = self.np_random.integers(0, 256, (2, 24, 32, 3)).astype(np.uint8)
        self.done = []
        self.prompt = {"text": "pick up the red cube", "images": {}}
        return self.observe(), {}

    def step(self, action):
        self.done.append(np.asarray(action).tolist())
        self.frame = np.roll(self.frame, 1, axis=1)
        return self.observe(), 0.0, False, False, {"success": len(self.done) == 4}

    def observe(self):
        images = {"front": self.frame[0], "wrist": self.frame[1]}
        state = {"time": np.float32([len(self.done)])}
        return {"images": images, "state": state, "instruction": "pick up the red cube", "prompt": self.prompt}


class RoomSuite(vla.Suite):
    name = "room"
    cameras = ("front", "wrist")

    def cells(self):
        return [("look", "here")]

    def make_env(self, task):
        return RoomEnv()

    def step_limit(self, task):
        return 6

    def digest(self, env):
        return env.frame.tobytes().hex()[:64] + str(env.done)


@pytest.fixture
def suite():
    return register(RoomSuite())


def run(suite, perturbation, steps=4):
    """All observations of an episode, and what the robot did."""
    env = RoomEnv()
    key = suite.episode("look", "here", 0, perturbation)
    outer = perturbed(env, suite, key)
    seen = [outer.reset(seed=key.seed(), options={"episode": key})[0]]
    seen += [outer.step(np.float32([0.1 * n, -0.5]))[0] for n in range(steps)]
    return seen, env.done


def same(a, b):
    return all(np.array_equal(a["images"][name], b["images"][name]) for name in a["images"])


def test_without_a_perturbation_the_environment_is_the_very_same_object(suite):
    env = RoomEnv()
    assert perturbed(env, suite, suite.episode("look", "here", 0)) is env
    assert perturbed(env, suite, suite.episode("look", "here", 0, "sensor.blur=0")) is env


@pytest.mark.parametrize("axis", [a for a in AXES.values() if a.stage == "image"], ids=lambda a: a.name)
def test_a_sensor_axis_changes_frames_and_nothing_else(suite, axis):
    pytest.importorskip("PIL")
    plain, did = run(suite, "")
    seen, done = run(suite, f"{axis.name}=8")
    assert not all(same(a, b) for a, b in zip(plain, seen, strict=True))
    assert done == did
    assert [o["instruction"] for o in seen] == [o["instruction"] for o in plain]
    assert [o["state"] for o in seen] == [o["state"] for o in plain]


@pytest.mark.parametrize("axis", [a for a in AXES.values() if a.stage == "instruction"], ids=lambda a: a.name)
def test_a_language_axis_changes_words_and_nothing_else(suite, axis):
    plain, did = run(suite, "")
    seen, done = run(suite, f"{axis.name}=8")
    assert len({o["instruction"] for o in seen}) == 1
    assert seen[0]["instruction"] != plain[0]["instruction"]
    assert seen[0]["prompt"]["text"] == seen[0]["instruction"]
    assert plain[0]["prompt"]["text"] == "pick up the red cube"
    assert all(same(a, b) for a, b in zip(plain, seen, strict=True))
    assert done == did


@pytest.mark.parametrize("axis", [a for a in AXES.values() if a.stage == "action"], ids=lambda a: a.name)
def test_a_robot_axis_changes_actions_and_nothing_else(suite, axis):
    plain, did = run(suite, "")
    seen, done = run(suite, f"{axis.name}=8", steps=6)
    assert done[:4] != did
    assert same(plain[0], seen[0])


def test_the_same_key_is_perturbed_in_the_same_way_every_time(suite):
    text = "robot.action_noise=8,sensor.noise=5,language.typos=4"
    (one, did), (two, done) = run(suite, text), run(suite, text)
    assert did == done
    assert all(same(a, b) for a, b in zip(one, two, strict=True))
    assert one[0]["instruction"] == two[0]["instruction"]


def test_what_one_axis_draws_does_not_depend_on_the_others(suite):
    alone, _ = run(suite, "sensor.patch=3")
    among, _ = run(suite, "sensor.patch=3,language.typos=4,robot.action_noise=2")
    assert all(same(a, b) for a, b in zip(alone, among, strict=True))


def test_rollout_applies_the_perturbation_of_the_key_or_the_one_it_is_given(suite):
    class Steady(vla.Policy):
        def act(self, observations, states):
            return [np.zeros(2) for _ in observations]

    env, key = RoomEnv(), suite.episode("look", "here", 0)
    plain = vla.rollout(Steady(), env, key)
    given = vla.rollout(Steady(), env, key, "robot.action_noise=8,language.case=2")
    own = vla.rollout(Steady(), env, suite.episode("look", "here", 0, "language.case=2,robot.action_noise=8"))
    assert given.digest == own.digest != plain.digest
    assert given.initial_digest == plain.initial_digest
    assert given.instruction == "PICK UP THE RED CUBE"
    assert vla.rollout(Steady(), env, key, "sensor.blur=0").digest == plain.digest


def test_an_axis_that_the_suite_does_not_support_is_refused(suite):
    with pytest.raises(PerturbationError, match=r"suite 'room' does not support axis 'camera\.yaw'"):
        perturbed(RoomEnv(), suite, suite.episode("look", "here", 0, "camera.yaw=1"))


def test_rollout_refuses_a_perturbation_that_cannot_be_before_anything_runs(suite):
    key = suite.episode("look", "here", 0)
    for text, message in (("sensor.blr=1", "unknown axis"), ("camera.yaw=1", "does not support")):
        with pytest.raises(PerturbationError, match=message):
            vla.rollout(vla.Policy(), RoomEnv(), key, text)
