"""What a policy costs, against measurements of our own; drawing pictures is counted by itself."""

import json
import time
from pathlib import Path

import numpy as np
import pytest

import pytest_vla as vla
from pytest_vla.drawing import LazyImages, drawing
from pytest_vla.inference.cost import cost_lines, peak_memory, weights_of
from pytest_vla.inference.status import Statistics, StatusPage

REPOSITORY = Path(__file__).parents[2]
POLICY = """
import time
import numpy as np
import pytest_vla as vla


class Sleeps(vla.Policy):
    spec = vla.PolicySpec(cameras=("main",))

    def act(self, observations, states):
        pixels = [np.asarray(observation["images"]["main"]).sum() for observation in observations]
        time.sleep(0.03)
        return [np.zeros(4, np.float32) for _ in pixels]
"""
SUITE = """
import time
import pytest_vla as vla
from benchmarks.reach_suite import Reach, ReachEnv
from pytest_vla.drawing import LazyImages


class SlowToDraw(ReachEnv):
    def _seen(self):
        seen = super()._seen()
        pictures = seen["images"]

        def draw(name):
            time.sleep(0.02)
            return pictures[name]

        return {**seen, "images": LazyImages(("main", "wrist"), draw)}


class Slow(Reach):
    def make_env(self, task):
        return SlowToDraw(False)


@vla.benchmark(vla.register(Slow("slow")), episodes=1)
def test_slow(policy, env, episode):
    vla.rollout(policy, env, episode)
"""


@pytest.mark.parametrize("workers", [[], ["-n1"]], ids=["here", "served"])
def test_calls_are_timed_without_what_is_drawn_for_them(pytester, monkeypatch, workers):
    monkeypatch.setenv("PYTHONPATH", f"{REPOSITORY}:{pytester.path}")
    pytester.makepyfile(test_slow=SUITE, sleeps=POLICY)
    pytester.runpytest_subprocess("--vla-policy=sleeps:Sleeps", "--vla-run-dir=run", *workers)
    lines = [json.loads(line) for line in (pytester.path / "run" / "run.jsonl").read_text().splitlines()]
    (cost,) = [line for line in lines if line["type"] == "cost"]
    (episode,) = [line for line in lines if line["type"] == "episode"]
    assert cost["calls"]["1"]["count"] == episode["steps"] == 24
    assert 28 <= cost["calls"]["1"]["p50_ms"] <= 60
    assert cost["hz"] == pytest.approx(1e3 / cost["calls"]["1"]["p50_ms"], rel=0.01)
    assert cost["control_hz"] == ({} if workers else {"slow": 10.0}), "with -n only workers know a suite of one's own"
    timings = episode["timings"]
    assert timings["draw"] >= 24 * 0.02
    assert timings["act"] >= 24 * 0.03
    assert timings["act"] + timings["draw"] <= episode["seconds"]
    if workers:
        assert timings["transport"] < 24 * 0.02, "drawing is no transport"


def test_percentiles_are_those_of_the_times_themselves():
    rng = np.random.default_rng(0)
    times = rng.lognormal(-4, 1, 2000)
    counted, page = Statistics(), StatusPage.create()
    for seconds in times:
        for statistics in (counted, page.live):
            statistics.batch(1, 0, 0.0, float(seconds), 0)
    for found in (counted.calls()["1"], page.read().calls()["1"]):
        assert found["p50_ms"] == pytest.approx(1e3 * np.percentile(times, 50), rel=0.05)
        assert found["p95_ms"] == pytest.approx(1e3 * np.percentile(times, 95), rel=0.05)


def test_parameters_and_weights_are_those_of_the_model(torch, tmp_path):
    class Model(torch.nn.Module, vla.Policy):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(10, 7)

    path = tmp_path / "model.pt"
    torch.save(Model().state_dict(), path)
    assert weights_of(Model(), str(path)) == {"parameters": 77, "weights_bytes": path.stat().st_size}
    assert weights_of(object(), "ws://somewhere") == {}
    assert peak_memory() > 10e6
    assert "77 parameters" in cost_lines({"parameters": 77})[0]


def test_a_picture_made_of_another_is_drawn_once_and_counted_once():
    inner = LazyImages(("a",), lambda name: time.sleep(0.02) or name)
    outer = LazyImages(("b",), lambda name: inner["a"])
    before = drawing.seconds
    assert outer["b"] == outer["b"] == "a"
    assert 0.02 <= drawing.seconds - before < 0.04
