"""One policy, many episodes: states stay apart, errors stay with their request, fixed shapes give the same bits."""

import time

import numpy as np
import pytest

import pytest_vla as vla
from pytest_vla.episode import EpisodeKey
from pytest_vla.inference.engine import Engine, Episode, Failure, Job


def jobs(*numbers, kind=None):
    return [
        Job(Episode(EpisodeKey("s", "t", "p", i)), {"x": np.array([float(n)])}, kind) for i, n in enumerate(numbers)
    ]


class Counting(vla.Policy):
    """Raises on negative numbers, after it changed all states."""

    def __init__(self):
        self.sizes = []

    def reset(self, episode):
        return {"steps": 0}

    def act(self, observations, states):
        self.sizes.append(len(observations))
        for state in states:
            state["steps"] += 1
        if any(o["x"][0] < 0 for o in observations):
            raise ValueError("negative")
        return [np.array([o["x"][0], s["steps"]]) for o, s in zip(observations, states, strict=True)]


def test_one_bad_observation_fails_only_its_own_request():
    answers = Engine(Counting()).answer(jobs(1, -1, 3))
    assert isinstance(answers[1], Failure)
    assert answers[1].reason == "policy_error"
    assert "ValueError: negative" in answers[1].message
    assert [answers[0][0], answers[2][0]] == [1, 3]


def test_states_are_as_before_when_a_batch_is_tried_again():
    answers = Engine(Counting()).answer(jobs(1, -1, 3))
    assert answers[0][1] == answers[2][1] == 1


def test_one_bad_observation_fails_only_its_own_request_in_a_fixed_batch_too():
    answers = Engine(Counting(), fixed=4).answer(jobs(1, -1, 3))
    assert isinstance(answers[1], Failure)
    assert [tuple(answers[0]), tuple(answers[2])] == [(1, 1), (3, 1)]


def test_a_batch_that_does_not_fit_is_halved_and_stays_so():
    class Small(Counting):
        def act(self, observations, states):
            if len(observations) > 2:
                raise MemoryError
            return super().act(observations, states)

    engine = Engine(Small())
    for _ in range(2):
        assert [a[0] for a in engine.answer(jobs(1, 2, 3, 4))] == [1, 2, 3, 4]
    assert engine.policy.sizes == [2, 2, 2, 2]


def test_observations_of_different_shape_never_share_a_batch():
    policy = Counting()
    answers = Engine(policy).answer([*jobs(1, 2, kind="a"), *jobs(3, kind="b")])
    assert [a[0] for a in answers] == [1, 2, 3]
    assert policy.sizes == [2, 1]


def test_an_error_in_reset_is_the_error_of_that_episode():
    class Picky(Counting):
        def reset(self, episode):
            if episode.index == 1:
                raise KeyError("unknown robot")
            return super().reset(episode)

    answers = Engine(Picky()).answer(jobs(1, 2, 3))
    assert "unknown robot" in answers[1].message
    assert [answers[0][0], answers[2][0]] == [1, 3]


@pytest.mark.parametrize("returned", [[], [1, 2], None, 7])
def test_a_wrong_number_of_actions_is_a_policy_error(returned):
    class Wrong(vla.Policy):
        def act(self, observations, states):
            return returned

    (answer,) = Engine(Wrong()).answer(jobs(1))
    assert answer.reason == "policy_error"
    assert "act()" in answer.message


def test_an_error_keeps_the_reason_it_names():
    class Lost(vla.Policy):
        def act(self, observations, states):
            from pytest_vla.episode import EpisodeError

            raise EpisodeError("server_lost", "the cable is out")

    assert Engine(Lost()).answer(jobs(1)) == [Failure("server_lost", "the cable is out")]


def test_a_fixed_batch_always_has_the_same_number_of_rows():
    policy = Counting()
    engine = Engine(policy, fixed=4)
    policy.act = lambda observations, states: [policy.sizes.append(len(observations)), *observations][1:]
    for count in (1, 3, 4, 6):
        assert len(engine.answer(jobs(*range(count)))) == count
    assert set(policy.sizes) == {4}


def test_a_policy_whose_rows_depend_on_their_place_is_called_row_by_row():
    class Placed(vla.Policy):
        def act(self, observations, states):
            sizes.append(len(observations))
            return [o["x"] + 1e-9 * row for row, o in enumerate(observations)]

    sizes = []
    engine = Engine(Placed(), fixed=4)
    assert [answer.item() for answer in engine.answer(jobs(1, 2, 3))] == [1, 2, 3]
    assert sizes[-3:] == [1, 1, 1]


def test_a_policy_whose_rows_depend_on_their_neighbours_is_called_row_by_row():
    class Padding(vla.Policy):
        """As tokenisers do: to the longest text of the batch."""

        def act(self, observations, states):
            longest = max(len(o["instruction"]) for o in observations)
            return [np.array([len(observations), longest]) for _ in observations]

    def job(text):
        return Job(Episode(EpisodeKey("s", "t", "p", 0)), {"instruction": text})

    answers = Engine(Padding(), fixed=4).answer([job("go"), job("go there")])
    assert [answer.tolist() for answer in answers] == [[1, 2], [1, 8]]


def test_a_padded_row_changes_no_state_and_no_observation():
    class InPlace(Counting):
        def act(self, observations, states):
            for observation in observations:
                observation["x"] *= 2
            return super().act(observations, states)

    engine = Engine(InPlace(), fixed=3)
    episode = Episode(EpisodeKey("s", "t", "p", 0))
    for step in range(1, 4):
        (answer,) = engine.answer([Job(episode, {"x": np.array([5.0])})])
        assert tuple(answer) == (10, step)


@pytest.mark.parametrize("outputs", [2, 7, 64])
def test_the_same_row_gives_the_same_bits_in_any_company(torch, outputs):
    torch.manual_seed(0)
    network = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 5, 2), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(8 * 14 * 14, outputs)
    )

    class Net(vla.Policy):
        def act(self, observations, states):
            return list(network(torch.from_numpy(np.stack([o["x"] for o in observations]))).numpy())

    def job(index):
        image = np.random.default_rng(index).random((3, 32, 32), np.float32)
        return Job(Episode(EpisodeKey("s", "t", "p", index)), {"x": image})

    engine = Engine(Net(), fixed=8)
    alone = [engine.answer([job(i)])[0].tobytes() for i in range(16)]
    for count in range(2, 17):
        order = np.random.default_rng(count).permutation(16)[:count]
        together = engine.answer([job(i) for i in order])
        assert [a.tobytes() for a in together] == [alone[i] for i in order]


def test_a_policy_that_draws_from_a_global_generator_is_seeded_by_episode_and_step(torch):
    class Dice(vla.Policy):
        def act(self, observations, states):
            return [np.append(torch.rand(3).numpy(), np.random.rand()) for _ in observations]

    def drawn(order):
        engine = Engine(Dice(), fixed=4)
        episodes = [Episode(EpisodeKey("s", "t", "p", i)) for i in range(3)]
        got = {}
        for batch in order:
            answers = engine.answer([Job(episodes[i], {"x": np.zeros(1)}) for i in batch])
            for i, answer in zip(batch, answers, strict=True):
                got[i, episodes[i].step] = answer.tobytes()
        return got

    together, apart = drawn([[0, 1, 2], [0, 1, 2]]), drawn([[2], [2], [1, 0], [0], [1]])
    assert together == apart
    assert len(set(together.values())) == 6


def test_a_dear_state_is_copied_once_and_not_before_every_call():
    copies = []

    class Dear:
        steps = 0

        def __deepcopy__(self, memo):
            copies.append(1)
            time.sleep(0.01)
            made = Dear()
            made.steps = self.steps
            return made

    class Heavy(Counting):
        def reset(self, episode):
            return Dear()

        def act(self, observations, states):
            for state in states:
                state.steps += 1
            if any(o["x"][0] < 0 for o in observations):
                raise ValueError("negative")
            return [np.array([state.steps]) for state in states]

    engine, asked = Engine(Heavy()), jobs(1, 2, 3)
    for _ in range(5):
        engine.answer(asked)
    assert len(copies) == 3
    asked[1].observation = {"x": np.array([-1.0])}
    assert {answer.reason for answer in engine.answer(asked)} == {"server_lost"}, "all of them begin again"
    again = jobs(1, -2, 3)
    for _ in range(2):
        answers = engine.answer(again)
        assert [isinstance(answer, Failure) for answer in answers] == [False, True, False]
    assert answers[0].tolist() == [2], "now there is a copy to go back to"


def test_a_state_that_refers_to_the_policy_does_not_copy_it():
    class Whole(Counting):
        def __deepcopy__(self, memo):
            raise AssertionError("the model was copied")

        def reset(self, episode):
            return {"steps": 0, "model": self}

    answers = Engine(Whole()).answer(jobs(1, -1, 3))
    assert [isinstance(answer, Failure) for answer in answers] == [False, True, False]


class Drawing(vla.Policy):
    def act(self, observations, states):
        return [np.random.normal(size=2) for _ in observations]


def test_a_policy_that_draws_from_a_global_generator_gives_the_same_answers_alone():
    found = [[Engine(Drawing()).answer([job])[0].tolist() for job in jobs(1, 2)] for _ in range(2)]
    assert found[0] == found[1]
    assert found[0][0] != found[0][1], "episodes differ"


def test_draws_that_depend_on_company_are_counted():
    engine = Engine(Drawing())
    engine.answer(jobs(1, 2, 3))
    assert engine.unseeded == 3
    calm = Engine(Counting())
    calm.answer(jobs(1, 2, 3))
    assert calm.unseeded == 0
