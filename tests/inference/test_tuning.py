"""Supply, demand and the point between them."""

import time

import gymnasium
import numpy as np
import pytest

import pytest_vla as vla
from pytest_vla.cli import main
from pytest_vla.episode import EpisodeKey
from pytest_vla.inference.demand import Asked, play, steps_an_answer
from pytest_vla.inference.engine import Engine, Episode, Job
from pytest_vla.inference.tuning import Tuner, draw, measure_supply, operating_point, sizes_up_to
from pytest_vla.kit.images import LazyImages

SUPPLY = {1: 100.0, 2: 180.0, 4: 300.0, 8: 310.0}


@pytest.mark.parametrize(
    ("demand", "batch"), [(10.0, 1), (80.0, 1), (90.0, 2), (200.0, 4), (1000.0, 4)]
)  # at 1000 the model cannot follow, and 8 gives hardly more than 4
def test_the_smallest_batch_that_satisfies_the_demand_is_chosen(demand, batch):
    assert operating_point(SUPPLY, demand) == batch


@pytest.mark.parametrize(("largest", "sizes"), [(1, [1]), (2, [1, 2]), (6, [1, 2, 4, 6]), (8, [1, 2, 4, 8])])
def test_batch_sizes_double_up_to_the_number_of_clients(largest, sizes):
    assert sizes_up_to(largest) == sizes


class Fixed(vla.Policy):
    """A call takes 10 ms whatever its size, and more than four rows do not fit."""

    def reset(self, episode):
        return {"steps": 0}

    def act(self, observations, states):
        if len(observations) > 4:
            raise MemoryError
        for state in states:
            state["steps"] += 1
        time.sleep(0.01)
        return [np.zeros(2) for _ in observations]


def job():
    return Job(Episode(EpisodeKey("s", "t", "p", 0), {"steps": 0}, begun=True), {"x": np.zeros(3)})


def test_supply_is_measured_up_to_what_fits_and_touches_no_episode():
    measured = job()
    supply = measure_supply(Engine(Fixed()), measured, 16)
    assert list(supply) == [1, 2, 4]
    assert 2.5 < supply[4] / supply[1] < 5
    assert measured.episode.state == {"steps": 0}


def test_a_tuner_decides_once_it_has_seen_enough():
    told = []
    tuner = Tuner(Engine(Fixed()), 2, told.append)
    tuner.measure_supply(job())
    for _ in range(30):
        for client in ("a", "b"):
            tuner.answered(client, time.monotonic())
    assert tuner.found
    assert told[0]["batch"] == tuner.batch
    assert set(told[0]) == {"batch", "supply", "demand"}


def test_both_curves_are_drawn_on_one_scale():
    lines = draw({1: 10.0, 2: 20.0}, {1: 40.0}, width=40).splitlines()
    assert [line.count("█") for line in lines] == [0, 10, 20, 0, 40]


def test_the_tune_command_refuses_what_lives_in_the_simulators(capsys):
    assert main(["tune", "oracle", "--suite=vima"]) == 4
    assert "nothing to tune" in capsys.readouterr().err


@pytest.mark.slow
def test_the_tune_command_measures_a_suite_and_says_what_to_type(tmp_path, monkeypatch, capsys):
    pytest.importorskip("pybullet")
    (tmp_path / "still.py").write_text(
        "import numpy as np, pytest_vla as vla\n"
        "class Still(vla.Policy):\n"
        "    def act(self, observations, states):\n"
        "        return [np.zeros(2) for _ in observations]\n"
    )
    monkeypatch.chdir(tmp_path)
    assert main(["tune", "still:Still", "--suite=vima", "-n", "1"]) == 0
    output = capsys.readouterr().out
    assert "supply (answers/s) by batch size" in output
    assert "use --vla-batch=1 with -n 1" in output


class Cells(vla.Suite):
    """Ten steps under a camera that counts how often it is looked through."""

    name, cameras = "cells", ("front",)

    def __init__(self):
        self.drawn = 0

    def cells(self):
        return [("go", "plain")]

    def step_limit(self, task):
        return 10

    def make_env(self, task):
        suite = self

        class Env(gymnasium.Env):
            action_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)

            def reset(self, *, seed=None, options=None):
                return self.observe(), {}

            def step(self, action):
                return self.observe(), 0.0, False, False, {}

            def observe(self):
                return {"images": LazyImages(("front",), self.draw), "state": {}, "instruction": ""}

            def draw(self, camera):
                suite.drawn += 1
                return np.zeros((4, 4, 3), np.uint8)

        return Env()


@pytest.mark.parametrize(
    ("spec", "requests"),
    [
        (vla.PolicySpec(), 10),
        (vla.PolicySpec(chunk=5), 2),
        (vla.PolicySpec(chunk=5, horizon=2), 5),
        (vla.PolicySpec(chunk=1000), 1),
    ],
)
def test_demand_draws_what_is_sent_and_asks_once_a_chunk(spec, requests):
    suite = Cells()
    asked = Asked.from_text(Asked("cells", spec, steps_an_answer(spec)).to_text())
    assert asked.spec == spec
    assert play(suite, suite.make_env("go"), suite.episode("go", "plain", 0), asked, time.monotonic() + 60) == requests
    assert suite.drawn == requests
