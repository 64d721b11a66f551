"""`check_suite`: does a suite keep the contract? For the tests of any suite, ours or a third party's."""

from __future__ import annotations

import json
import pickle
import re
from dataclasses import replace
from typing import Any

import numpy as np

from pytest_vla.episode import EpisodeKey
from pytest_vla.perturb import AXES, MAX_LEVEL, Perturbation, perturbed
from pytest_vla.policies import Policy
from pytest_vla.policies.actions import check_action
from pytest_vla.policies.base import pixels
from pytest_vla.policies.builtin import NoopPolicy, RandomPolicy
from pytest_vla.registry import family_of, register
from pytest_vla.rollout import rollout
from pytest_vla.suite import Suite, SuiteError

_NAME = re.compile(r"[^\s\[\]/:]+")


def check_suite(suite: Suite, *, tasks: list[str] | None = None) -> None:
    """Raise AssertionError with one sentence for the first clause of the contract that `suite` breaks.

    One episode per task (or of the named ones) is reset, stepped with valid actions and run twice, in between others.
    Every axis that the suite applies itself must change something in one of them at least, at both of its ends.
    """
    register(suite)
    _check_names(suite)
    without_effect = _ends(suite)
    for task in tasks or suite.tasks():
        partition = next(p for t, p in suite.cells() if t == task)
        env = suite.make_env(task)
        try:
            _check_episode(suite, env, suite.episode(task, partition, 0), suite.episode(task, partition, 1))
            without_effect = _without_effect(suite, env, suite.episode(task, partition, 0), without_effect)
        finally:
            env.close()
    assert not without_effect, f"perturbations that change nothing: {', '.join(without_effect)}"


def _check_names(suite: Suite) -> None:
    cells = list(suite.cells())
    assert cells, f"suite '{suite.name}' lists no cells"
    assert len(set(cells)) == len(cells), f"suite '{suite.name}' lists a (task, partition) twice"
    own = suite.name.replace(":", "") if family_of(suite.name) else suite.name  # of a family: FAMILY:WHAT
    for name in (own, *suite.tasks(), *suite.partitions()):
        assert _NAME.fullmatch(name), f"{name!r} cannot be part of a node id: no spaces, brackets, slashes or colons"
    unknown = set(suite.default_partitions()) - set(suite.partitions())
    assert not unknown, f"default_partitions() names {sorted(unknown)}, which no cell has"
    for task in suite.tasks():
        assert suite.step_limit(task) > 0, f"step_limit('{task}') must be positive"
    axes = list(suite.axes())
    unknown = set(axes) - set(AXES)
    assert not unknown, f"axes() names {sorted(unknown)}, which are no axes"
    assert len(set(axes)) == len(axes), "axes() names an axis twice"


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
    _check_segments(suite, env, observation)
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
    oracle = _oracle(suite, env)
    if oracle is not None:
        result = rollout(oracle, env, key)
        assert result, f"the oracle does not solve its own episode: {result}"


def _check_features(suite: Suite, env: Any, key: EpisodeKey) -> None:
    """The environment stands at the start of that episode."""
    features = dict(suite.features(env))
    for name, value in features.items():
        right = isinstance(name, str) and type(value) in (str, int, float) and json.loads(json.dumps(value)) == value
        assert right, f"features() must map names to texts or finite numbers, got {name!r}: {value!r}"
    axes = [AXES[name] for name in suite.axes()]
    for levels in ({a.name: MAX_LEVEL for a in axes}, {a.name: a.lowest or MAX_LEVEL for a in axes}, {}):
        other = replace(key, perturbation=str(Perturbation.of(levels)))
        env.reset(seed=key.seed(), options={"episode": other})
        same = dict(suite.features(env)) == features
        assert same, f"features() must be those of the scene as drawn: {other} has others than {key}"


def _check_segments(suite: Suite, env: Any, observation: Any) -> None:
    for camera in suite.cameras:
        found = suite.segment(env, camera)
        if found is None:
            continue
        ids, names = found
        size = np.shape(observation["images"][camera])[:2]
        whole = np.shape(ids) == size and np.asarray(ids).dtype.kind in "iu"
        assert whole, f"segment() must give whole numbers for the {pixels(size)} of camera '{camera}'"
        unknown = sorted({int(number) for number in np.unique(ids)} - set(names))
        assert not unknown, f"segment() has no names for {unknown} of camera '{camera}'"


def _without_effect(suite: Suite, env: Any, key: EpisodeKey, perturbations: list[str]) -> list[str]:
    """Those of the perturbations that change nothing in this episode, not even what becomes of it."""
    start = _start(suite, env, key)
    left = [text for text in perturbations if _start(suite, env, replace(key, perturbation=text)) == start]
    if not left:
        return []
    policy = _oracle(suite, env) or RandomPolicy(env.action_space)
    digest = rollout(policy, env, key).digest
    return [text for text in left if rollout(policy, env, key, text).digest == digest]


def _start(suite: Suite, env: Any, key: EpisodeKey) -> tuple[str, bytes]:
    """The state an episode starts from, and what a policy gets to see and to read of it."""
    observation, _ = perturbed(env, suite, key).reset(seed=key.seed(), options={"episode": key})
    return suite.digest(env), pickle.dumps({**observation, "images": dict(observation["images"])})


def _ends(suite: Suite) -> list[str]:
    """Every axis that the suite applies or brings itself, at both ends of each direction."""
    own = {axis.name for axis in suite.own_axes}
    axes = [AXES[name] for name in suite.axes() if AXES[name].stage == "scene" or name in own]
    return [f"{axis.name}={level}" for axis in axes for level in axis.levels if abs(level) in (1, MAX_LEVEL)]


def _oracle(suite: Suite, env: Any) -> Policy | None:
    try:
        return suite.oracle(env)
    except SuiteError:
        return None


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
        size = image.shape[:2]
        declared = suite.image_sizes.get(camera, size)
        assert size == declared, f"image '{camera}' has {pixels(size)}, declared are {pixels(declared)}"
