"""The same key gives the same bits: physics and pixels, in any process, after anything else."""

import hashlib
import json
import subprocess
import sys

import numpy as np
import pytest
from pytest_vla.suites.vima.env import VimaEnv


def keys(suite, count=1):
    """Every task in turn, each in another of its partitions."""
    for number, task in enumerate(suite.all_tasks.values()):
        partitions = list(task.partitions)
        for index in range(count):
            yield suite.episode(task.name, partitions[(number + index) % len(partitions)], index)


def fingerprint(suite, env, key):
    """A hash of every state, image and mask of an oracle episode, and of its prompt."""
    text = hashlib.blake2b(digest_size=16)

    def add(observation):
        text.update(suite.digest(env).encode())
        for name in ("images", "segmentation"):
            for view in ("front", "top"):
                text.update(observation[name][view].tobytes())

    observation, _ = env.reset(options={"episode": key})
    add(observation)
    text.update(env.prompt.text.encode())
    for asset in env.prompt.assets.values():
        for view in ("front", "top"):
            text.update(asset.rgb[view].tobytes() + asset.segmentation[view].tobytes())
    oracle = suite.oracle(env)
    for _ in range(suite.step_limit(key.task)):
        observation, _, done, _, _ = env.step(oracle.act([observation], [None])[0])
        add(observation)
        if done:
            break
    return text.hexdigest()


def fingerprints(suite, env, chosen):
    return {str(key): fingerprint(suite, env, key) for key in chosen}


@pytest.fixture(scope="module")
def reference(suite):
    """What each episode gives in an environment that has seen nothing else."""
    found = {}
    for key in keys(suite):
        env = suite.make_env(key.task)
        found[str(key)] = fingerprint(suite, env, key)
        env.close()
    return found


def test_a_used_environment_gives_the_same_bits_as_a_fresh_one_in_any_order(suite, env, reference):
    chosen = list(keys(suite))
    assert fingerprints(suite, env, chosen) == reference
    assert fingerprints(suite, env, reversed(chosen)) == reference


def test_another_process_gives_the_same_bits(reference):
    code = (
        f"import sys, json; sys.path.insert(0, {str(__file__.rpartition('/')[0])!r})\n"
        "from test_vima_determinism import keys, fingerprints\n"
        "from pytest_vla.suites.vima.benchmark import VimaSuite\n"
        "suite = VimaSuite(); env = suite.make_env('rotate')\n"
        "print(json.dumps(fingerprints(suite, env, reversed(list(keys(suite))))))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout.splitlines()[-1]) == reference


class Stop(Exception):
    pass


@pytest.mark.parametrize("after_steps", [5, 60, 150])
def test_an_episode_that_was_cut_off_in_mid_motion_leaves_nothing_behind(
    suite, env, reference, monkeypatch, after_steps
):
    chosen = list(keys(suite))[::4]
    for cut, key in zip(reversed(chosen), chosen, strict=True):
        env.reset(options={"episode": cut})
        step, count = env.table.world.p.stepSimulation, [0]

        def interrupted(step=step, count=count, **client):
            count[0] += 1
            if count[0] > after_steps:
                raise Stop
            step(**client)

        with monkeypatch.context() as patch:
            patch.setattr(env.table.world.p, "stepSimulation", interrupted)
            with pytest.raises(Stop):
                env.step(suite.oracle(env).act([{}], [None])[0])
        assert fingerprint(suite, env, key) == reference[str(key)]


def test_a_drawing_that_was_cut_off_leaves_nothing_behind(suite, env, reference, monkeypatch):
    key = next(iter(keys(suite)))
    made = []

    def fail(prop):
        made.append(prop)
        if len(made) > 1:
            raise Stop
        return body(prop)

    body = env.table.stage._body
    with monkeypatch.context() as patch:
        patch.setattr(env.table.stage, "_body", fail)
        with pytest.raises(Stop):
            env.reset(options={"episode": suite.episode("twist", "train", 3)})[0]["images"]["top"]
    assert fingerprint(suite, env, key) == reference[str(key)]


def test_looking_at_the_prompt_changes_nothing_on_the_table(suite, env):
    key = suite.episode("novel_adj", "train", 5)
    env.reset(options={"episode": key})
    before = env.digest()
    assert env.prompt.pieces()
    assert env.digest() == before
    first, _ = env.reset(options={"episode": key})
    env.prompt.pieces()
    again, _ = env.reset(options={"episode": key})
    assert np.array_equal(first["images"]["front"], again["images"]["front"])


def test_object_numbers_are_shuffled_and_follow_from_the_key(suite, env: VimaEnv):
    lowest = []
    for index in range(40):
        env.reset(options={"episode": suite.episode("visual_manipulation", "train", index)})
        assert sorted(env.ids.values()) == [5, 6, 7]
        lowest.append(min(env.ids, key=lambda label: env.ids[label]))
    assert {lowest.count(label) > 4 for label in ("base", "dragged", "distractor")} == {True}
