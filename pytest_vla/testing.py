"""`check_suite`: does a suite keep the contract? For the tests of any suite, ours or a third party's."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import numpy as np

from pytest_vla.episode import EpisodeKey
from pytest_vla.perturb import AXES, MAX_LEVEL
from pytest_vla.policies.actions import check_action
from pytest_vla.policies.builtin import NoopPolicy, RandomPolicy
from pytest_vla.rollout import rollout
from pytest_vla.suite import Suite, SuiteError, register

_NAME = re.compile(r"[^\s\[\]/:]+")


def check_suite(suite: Suite, *, tasks: list[str] | None = None) -> None:
    """Raise AssertionError with one sentence for the first clause of the contract that `suite` breaks.

    One episode per task (or of the named ones) is reset, stepped with valid actions and run twice, in between others.
    """
    register(suite)
    _check_names(suite)
    for task in tasks or suite.tasks():
        partition = next(p for t, p in suite.cells() if t == task)
        env = suite.make_env(task)
        try:
            _check_episode(suite, env, suite.episode(task, partition, 0), suite.episode(task, partition, 1))
        finally:
            env.close()


def _check_names(suite: Suite) -> None:
    cells = list(suite.cells())
    assert cells, f"suite '{suite.name}' lists no cells"
    assert len(set(cells)) == len(cells), f"suite '{suite.name}' lists a (task, partition) twice"
    for name in (suite.name, *suite.tasks(), *suite.partitions()):
        assert _NAME.fullmatch(name), f"{name!r} cannot be part of a node id: no spaces, brackets, slashes or colons"
    unknown = set(suite.default_partitions()) - set(suite.partitions())
    assert not unknown, f"default_partitions() names {sorted(unknown)}, which no cell has"
    for task in suite.tasks():
        assert suite.step_limit(task) > 0, f"step_limit('{task}') must be positive"


def _check_episode(suite: Suite, env: Any, key: EpisodeKey, other: EpisodeKey) -> None:
    observation, info = env.reset(seed=key.seed(), options={"episode": key})
    _check_observation(suite, observation)
    assert isinstance(info, dict), "reset() must return (observation, info)"
    first = suite.digest(env)
    env.reset(seed=other.seed(), options={"episode": other})
    assert not first or suite.digest(env) != first, f"{key} and {other} start from the same state"
    env.reset(seed=key.seed(), options={"episode": key})
    assert suite.digest(env) == first, f"{key} starts from another state after another episode"

    _check_features(suite, env, key)
    noop = suite.noop(env)
    info = env.step(check_action(noop, env.action_space))[4]
    assert isinstance(info.get("success", False), bool), "info['success'] must be a bool"
    assert not (info.get("success") and info.get("failure")), "a step cannot be a success and a failure"
    progress = suite.progress(env)
    assert progress is None or 0 <= progress <= 1, f"progress() must be None or within 0..1, got {progress}"

    for policy in (RandomPolicy(env.action_space), NoopPolicy(noop)):
        one, two = rollout(policy, env, key), rollout(policy, env, key)
        assert one.outcome != "error", f"{type(policy).__name__} ended in an error: {one}"
        assert one.digest == two.digest, f"{key} came out differently the second time under {type(policy).__name__}"
        assert one.outcome == two.outcome, f"{key} came out differently the second time under {type(policy).__name__}"
    try:
        oracle = suite.oracle(env)
    except SuiteError:
        return
    result = rollout(oracle, env, key)
    assert result, f"the oracle does not solve its own episode: {result}"


def _check_features(suite: Suite, env: Any, key: EpisodeKey) -> None:
    """The environment stands at the start of that episode."""
    features = dict(suite.features(env))
    for name, value in features.items():
        right = isinstance(name, str) and type(value) in (str, int, float) and json.loads(json.dumps(value)) == value
        assert right, f"features() must map names to texts or finite numbers, got {name!r}: {value!r}"
    for name in suite.axes():
        for level in {AXES[name].lowest, MAX_LEVEL} - {0}:
            other = replace(key, perturbation=f"{name}={level}")
            env.reset(seed=key.seed(), options={"episode": other})
            same = dict(suite.features(env)) == features
            assert same, f"features() must be those of the scene as drawn, but {other} has others than {key}"
    env.reset(seed=key.seed(), options={"episode": key})
    assert dict(suite.features(env)) == features, f"features() of {key} came out differently the second time"


def _check_observation(suite: Suite, observation: Any) -> None:
    assert isinstance(observation, dict), f"an observation must be a dict, got {type(observation).__name__}"
    for name in ("images", "state", "instruction"):
        assert name in observation, f"an observation must have '{name}'"
    assert isinstance(observation["instruction"], str), "observation['instruction'] must be a text"
    for camera in suite.cameras:
        assert camera in observation["images"], f"camera '{camera}' is declared but not in observation['images']"
    for key in suite.state_keys:
        assert key in observation["state"], f"state key '{key}' is declared but not in observation['state']"
    for camera, image in observation["images"].items():
        right = isinstance(image, np.ndarray) and image.dtype == np.uint8 and image.ndim == 3 and image.shape[2] == 3
        assert right, f"image '{camera}' must be uint8 of shape (height, width, 3)"
