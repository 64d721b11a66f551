"""`vla.evaluate` plays the episodes that pytest plays, and leaves the same run."""

import sys

import numpy as np
import pytest

import pytest_vla as vla
from pytest_vla.cli import main
from pytest_vla.run import read_run


class Still(vla.Policy):
    """Does nothing, over and over."""

    def act(self, observations, states):
        return [np.zeros(2, np.float32) for _ in observations]


class Choosy(Still):
    spec = vla.PolicySpec(cameras=("nowhere",))


@pytest.fixture
def suite(reach, monkeypatch):
    """The example suite, imported as a program of one's own would."""
    monkeypatch.syspath_prepend(str(reach.path))
    monkeypatch.delitem(sys.modules, "test_reach", raising=False)
    import test_reach

    return next(
        made() for made in vars(test_reach).values() if isinstance(made, type) and issubclass(made, vla.Suite)
    )  # fmt: skip


def digests(run):
    return {record.key: (record.outcome, record.result.digest) for record in run.records()}


def test_the_same_episodes_as_pytest_plays(reach, suite):
    run = vla.evaluate("oracle", suite, episodes=3, run_dir="mine")
    reach.runpytest("--vla-policy=oracle", "--vla-episodes=3", "--vla-run-dir=theirs")
    assert digests(run) == digests(read_run(reach.path / "theirs"))
    assert run.completeness(gated=True).finished
    assert main(["compare", "mine", "theirs"]) == 0


def test_a_policy_object_is_asked_and_every_episode_is_heard_of(suite):
    heard = []
    run = vla.evaluate(Still(), suite, episodes=2, run_dir="still", on_result=heard.append)
    assert len(heard) == len(run)
    assert run.once.tally().solved == sum(map(bool, heard))
    assert run.policy.text.endswith(":Still")


def test_scalars_are_rates_with_both_ends_of_their_intervals(suite):
    run = vla.evaluate("oracle", suite, episodes=4, task=suite.tasks()[0], run_dir="run")
    found = vla.scalars(run)
    name = f"vla/{suite.name}"
    assert found[f"{name}/success"] == 1.0
    assert found[f"{name}/low"] < 1.0 == found[f"{name}/high"]
    assert found[f"{name}/episodes"] == len(run)
    assert {key.split("/")[2] for key in found if key.count("/") == 3} == set(suite.partitions())


def test_another_first_episode_is_another_scene(suite):
    one = vla.evaluate("noop", suite, episodes=1, run_dir="one")
    two = vla.evaluate("noop", suite, episodes=1, first_episode=1, run_dir="two")
    starts = [{record.result.initial_digest for record in run.records()} for run in (one, two)]
    assert not starts[0] & starts[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"policy": Choosy()}, "cannot act in suite"),
        ({"task": "nothing"}, "nothing"),
        ({"episodes": 0}, "1 or more"),
        ({"suite": "no_such_suite"}, "no_such_suite"),
    ],
)
def test_bad_input_is_told_before_anything_is_written(reach, suite, arguments, message):
    with pytest.raises((vla.SuiteError, vla.PolicyError), match=message):
        vla.evaluate(**{"policy": "noop", "suite": suite, "run_dir": "run", **arguments})
    assert not (reach.path / "run").exists()


def test_films_are_drawn_from_the_actions_without_asking_the_policy_again(tmp_path):
    class Once(vla.Policy):
        asked = 0

        def act(self, observations, states):
            Once.asked += len(observations)
            up = np.array([0, 0, 0, 1], np.float32)
            there = np.array([0.5, 0.0], np.float32)
            move = {"pose0_position": there, "pose0_rotation": up, "pose1_position": there, "pose1_rotation": up}
            return [move for _ in observations]

    options = {"task": "rotate", "partition": "placement_generalization", "episodes": 2, "keep_actions": True}
    run = vla.evaluate(Once(), "vima", run_dir=tmp_path / "run", **options)
    asked = Once.asked
    ((name, path),) = vla.films(run).items()
    assert Once.asked == asked
    assert name == "vla/vima/rotate-placement_generalization-00"
    assert path.parent == tmp_path / "run" / "films"
    assert path.read_bytes()[4:8] == b"ftyp"
    assert set(vla.films(run, "unsolved", prefix="x")) == {
        f"x/vima/rotate-placement_generalization-0{i}" for i in (0, 1)
    }
