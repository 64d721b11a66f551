"""Chunks are executed where the simulator is: how often the policy is asked, and what overlapping chunks become."""

import numpy as np
import pytest

import pytest_vla as vla
from pytest_vla.episode import EpisodeKey
from pytest_vla.policies.chunking import Chunked


class Planner(vla.Policy):
    """The chunk asked for at step t is t*100, t*100 + 1, ...: each action says which request it came from."""

    spec = vla.PolicySpec(chunk=4)

    def __init__(self, length=4):
        self.length = length
        self.asked = []

    def act(self, observations, states):
        self.asked.append([o["step"] for o in observations])
        return [np.array([[100.0 * o["step"] + i] for i in range(self.length)]) for o in observations]


def run(policy, steps, **options):
    chunked = Chunked(policy, **options)
    state = chunked.reset(EpisodeKey("s", "t", "p", 0))
    return [chunked.act([{"step": step}], [state])[0].item() for step in range(steps)]


def test_a_chunk_is_executed_to_its_end_with_one_request():
    policy = Planner()
    assert run(policy, 6) == [0, 1, 2, 3, 400, 401]
    assert policy.asked == [[0], [4]]


def test_a_horizon_asks_again_before_the_end():
    policy = Planner()
    assert run(policy, 5, horizon=2) == [0, 1, 200, 201, 400]
    assert policy.asked == [[0], [2], [4]]


def test_a_horizon_beyond_the_chunk_asks_when_the_chunk_is_used_up():
    policy = Planner(length=2)
    assert run(policy, 4, horizon=10) == [0, 1, 200, 201]


def test_mean_averages_every_chunk_that_covers_the_step():
    assert run(Planner(), 3, horizon=1, ensemble="mean") == pytest.approx([0, (1 + 100) / 2, (2 + 101 + 200) / 3])


def test_mean_forgets_chunks_that_are_over():
    assert run(Planner(), 6, horizon=2, ensemble="mean")[4:] == pytest.approx([301, 302])


def test_exponential_weighs_the_oldest_most():
    weights = np.exp(-0.5 * np.arange(3))
    expected = np.dot(weights, [2, 101, 200]) / weights.sum()
    assert run(Planner(), 3, horizon=1, ensemble="exponential", decay=0.5)[2] == pytest.approx(expected)


def test_the_three_ensembles_differ():
    results = {name: tuple(run(Planner(), 5, horizon=2, ensemble=name)) for name in ("newest", "mean", "exponential")}
    assert len(set(results.values())) == 3


def test_episodes_are_at_their_own_step():
    policy = Planner()
    chunked = Chunked(policy)
    a = chunked.reset(EpisodeKey("s", "t", "p", 0))
    chunked.act([{"step": 0}], [a])
    b = chunked.reset(EpisodeKey("s", "t", "p", 1))
    actions = chunked.act([{"step": 1}, {"step": 7}], [a, b])
    assert [action.item() for action in actions] == [1, 700]
    assert policy.asked == [[0], [7]]


def test_whole_numbers_are_not_averaged():
    class Picks(vla.Policy):
        def act(self, observations, states):
            step = observations[0]["step"]
            return [{"where": np.full((3, 2), float(step)), "gripper": np.full(3, step)}]

    chunked = Chunked(Picks(), horizon=1, ensemble="mean")
    state = chunked.reset(EpisodeKey("s", "t", "p", 0))
    chunked.act([{"step": 0}], [state])
    (action,) = chunked.act([{"step": 1}], [state])
    assert action["gripper"] == 1
    assert action["where"].tolist() == [0.5, 0.5]


def test_the_type_of_an_action_survives_averaging():
    class Single(vla.Policy):
        def act(self, observations, states):
            return [np.zeros((3, 2), np.float32) for _ in observations]

    chunked = Chunked(Single(), horizon=1, ensemble="mean")
    state = chunked.reset(EpisodeKey("s", "t", "p", 0))
    assert [chunked.act([{}], [state])[0].dtype for _ in range(2)] == [np.float32] * 2


@pytest.mark.parametrize(
    ("chunk", "words"),
    [
        (np.float32(3), "leading time axis"),
        (np.zeros((0, 7)), "at least one step"),
        ({"a": np.zeros(3), "b": np.zeros(4)}, "different lengths"),
    ],
)
def test_what_is_no_chunk_is_a_policy_error(chunk, words):
    class Bad(vla.Policy):
        def act(self, observations, states):
            return [chunk]

    chunked = Chunked(Bad())
    with pytest.raises(vla.PolicyError, match=words):
        chunked.act([{}], [chunked.reset(EpisodeKey("s", "t", "p", 0))])


@pytest.mark.parametrize("options", [{"horizon": 0}, {"ensemble": "median"}])
def test_impossible_options_are_refused(options):
    with pytest.raises(vla.PolicyError):
        Chunked(Planner(), **options)
