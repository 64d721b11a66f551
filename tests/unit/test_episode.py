"""Episode keys and results."""

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_vla.episode import EpisodeKey, Result, builtin

names = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=12)
keys = st.builds(EpisodeKey, names, names, names, st.integers(0, 10_000), st.just(""), names)


@given(keys, keys)
def test_different_keys_have_different_seeds(a, b):
    assert (a.seed() == b.seed()) == ((a, a.version) == (b, b.version))


@given(keys)
def test_each_stream_has_its_own_seed(key):
    assert len({key.seed("scene"), key.seed("policy"), key.seed("perturbation")}) == 3


@given(keys)
def test_a_perturbed_episode_is_the_same_scene(key):
    perturbed = EpisodeKey(key.suite, key.task, key.partition, key.index, "camera.yaw=3", key.version)
    assert perturbed.seed() == key.seed()
    assert perturbed.id == f"{key.id}-camera.yaw=3"


def test_fields_do_not_run_into_each_other():
    assert EpisodeKey("a", "bc", "d", 1).seed() != EpisodeKey("ab", "c", "d", 1).seed()


def test_seeds_are_the_same_in_another_process():
    code = "from pytest_vla.episode import EpisodeKey as K; k = K('s', 't', 'p', 3); print(k.seed(), k.rng().random())"
    key = EpisodeKey("s", "t", "p", 3)
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output.split() == [str(key.seed()), str(key.rng().random())]


def test_the_seed_scheme_is_frozen():
    assert EpisodeKey("vima", "rotate", "train", 0, version="1").seed() == 286928942215549321497545153869807455093


@pytest.mark.parametrize(("outcome", "truth"), [("solved", True), ("unsolved", False), ("error", False)])
def test_a_result_is_true_when_the_task_was_solved(outcome, truth):
    reason = {"solved": None, "unsolved": "step_limit", "error": "timeout"}[outcome]
    assert bool(Result(EpisodeKey("s", "t", "p", 0), outcome, reason)) is truth


def test_a_result_explains_itself():
    result = Result(EpisodeKey("s", "t", "p", 7), "unsolved", "step_limit", steps=5, progress=0.25)
    assert str(result) == "s/t-p-07 unsolved: step_limit after 5 steps, progress 0.25"


def test_records_hold_built_in_types_only():
    np = pytest.importorskip("numpy")
    result = Result(
        EpisodeKey("s", "t", "p", 0),
        "unsolved",
        "step_limit",
        progress=np.float32(0.5),
        steps=np.int64(3),
        timings={"act": np.float64(1)},
        extra={"path": np.array([1.5, 2.5]), "flag": np.bool_(True)},
    )
    record = result.to_record()
    assert json.loads(json.dumps(record)) == record
    assert type(record["progress"]) is float
    assert type(record["steps"]) is int
    assert record["path"] == [1.5, 2.5]
    assert record["flag"] is True


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists))
def test_built_in_values_are_left_as_they_are(value):
    assert builtin(value) == value
