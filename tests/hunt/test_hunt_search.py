"""The search on simulated policies: it finds planted causes, shrinks them to the minimum, and raises no false alarm."""

import hashlib
import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_vla import run
from pytest_vla.hunt.outcome import Budget, Find, HuntError, Probe
from pytest_vla.hunt.search import MOST_MEASURED, Hunt
from pytest_vla.hunt.shrink import MOST_TESTS
from pytest_vla.hunt.space import Space, active
from pytest_vla.run.hunts import Count

AXES = (
    *("camera.yaw", "light.brightness", "appearance.table_texture", "layout.objects", "object.mass"),
    *("robot.delay", "sensor.noise", "language.typos", "language.paraphrase"),
)
SPACE = Space.of(AXES)
ORDERED = [axis for axis, ordered in enumerate(SPACE.ordered) if ordered]
UNORDERED = [axis for axis, ordered in enumerate(SPACE.ordered) if not ordered]


def point(**levels):
    names = {name.replace(".", "_"): number for number, name in enumerate(AXES)}
    return tuple(next((v for k, v in levels.items() if names[k] == axis), 0) for axis in range(len(AXES)))


class Policy:
    """Fails where a planted cause is; counts and remembers its episodes."""

    def __init__(self, *causes, noise=0.0, seed=0, bad_seeds=()):
        self.causes, self.noise, self.bad_seeds = causes, noise, bad_seeds
        self.draw = random.Random(seed)
        self.asked = []

    def __call__(self, probes):
        self.asked += probes
        return [self.solves(probe) for probe in probes]

    def solves(self, probe: Probe) -> bool:
        fails = probe.seed in self.bad_seeds or any(SPACE.covers(probe.point, cause) for cause in self.causes)
        return fails == (self.draw.random() < self.noise)


def hunt(policy, episodes=300, **options):
    return Hunt(SPACE, policy, Budget(episodes), **options).run()


def found(outcome):
    return {cause.point for cause in outcome.causes}


class Overloaded(Policy):
    """Also fails when too much is off at once."""

    limit = 25

    def solves(self, probe):
        return sum(probe.point) <= self.limit and super().solves(probe)


class Delicate(Overloaded):
    limit = 9


class Breaking(Policy):
    """Some of its episodes end in an error."""

    def solves(self, probe):
        return None if self.draw.random() < 0.1 else super().solves(probe)


PLANTED = (point(camera_yaw=6), point(robot_delay=4, sensor_noise=5), point(language_paraphrase=3, object_mass=2))


@pytest.mark.parametrize(
    ("policy", "options", "digest"),
    [
        (Policy(*PLANTED), {}, "70607f7e"),
        (Policy(*PLANTED, bad_seeds=(2, 5)), {"batch": 4}, "3175d5cc"),
        (
            Policy(*PLANTED, noise=0.12),
            {"known": [Find(PLANTED[1]), Find(point(camera_yaw=8, robot_delay=1), 3)]},
            "186a013b",
        ),
        (Policy(PLANTED[0], noise=0.25, seed=1), {"random_seed": 1}, "2b678fa6"),
        (Overloaded(PLANTED[1]), {"seeds": range(5, 9)}, "fceca332"),
        (Delicate(PLANTED[0]), {}, "6501e9a7"),
        (Breaking(*PLANTED, noise=0.05, seed=2), {"batch": 2}, "16936557"),
    ],
    ids=["reliable", "batch", "noisy", "noisier", "overloaded", "delicate", "breaking"],
)
def test_the_same_answers_lead_to_the_same_questions_in_every_version(policy, options, digest):
    """A hunt resumes by answering again: where the search has changed, recorded probes are of no use.

    A change that is meant changes these digests.
    """
    asked = []

    def ask(probes):
        answers = policy(probes)
        asked.extend((probe.point, probe.seed, answer) for probe, answer in zip(probes, answers, strict=True))
        return answers

    outcome = Hunt(SPACE, ask, **options).run()
    assert outcome.episodes == len(asked) == Budget().episodes
    counts = (outcome.errors, outcome.overloads, outcome.unconfirmed, outcome.tested())
    text = repr((asked, sorted(outcome.causes, key=lambda cause: cause.point), counts))
    assert hashlib.blake2b(text.encode(), digest_size=4).hexdigest() == digest


causes = st.one_of(
    st.tuples(st.sampled_from(ORDERED), st.integers(1, 8)).map(lambda c: {c[0]: c[1]}),
    st.tuples(st.sampled_from(UNORDERED), st.integers(1, 8)).map(lambda c: {c[0]: c[1]}),
    st.dictionaries(st.sampled_from(ORDERED), st.integers(2, 6), min_size=2, max_size=2),
).map(lambda levels: tuple(levels.get(axis, 0) for axis in range(len(AXES))))


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(causes, st.integers(0, 100))
def test_any_single_cause_is_found_and_is_exactly_minimal(cause, seed):
    outcome = hunt(Policy(cause), random_seed=seed)
    assert found(outcome) == {cause}


def test_several_causes_are_found_one_after_the_other():
    planted = {point(camera_yaw=6), point(robot_delay=4, sensor_noise=5), point(language_paraphrase=3, object_mass=2)}
    outcome = hunt(Policy(*planted), 400)
    assert found(outcome) == planted
    assert outcome.episodes <= 400


def test_every_reported_cause_is_locally_minimal():
    policy = Policy(point(camera_yaw=6), point(robot_delay=4, sensor_noise=5))
    outcome = hunt(policy)
    assert len(outcome.causes) == 2
    for cause in outcome.causes:
        assert not policy.solves(Probe(cause.point, 0))
        for axis in active(cause.point):
            less = tuple(level - (number == axis) for number, level in enumerate(cause.point))
            assert policy.solves(Probe(less, 0))


def test_a_cause_comes_with_its_rate_and_an_episode_that_fails():
    policy = Policy(point(camera_yaw=6))
    (cause,) = hunt(policy).causes
    assert cause.failed == cause.asked >= 3
    assert cause.seed in {probe.seed for probe in policy.asked if probe.point == cause.point}


def test_a_robust_policy_yields_no_find_and_the_outcome_says_what_was_tested():
    outcome = hunt(Policy(), 600)
    assert not outcome.causes
    assert outcome.episodes == 600
    tested = outcome.tested()
    assert tested.points > 500
    assert tested.most_axes == len(AXES)
    assert tested.pairs > 0.9


@pytest.mark.parametrize("seed", range(3))
def test_noise_alone_is_no_find(seed):
    outcome = hunt(Policy(noise=0.1, seed=seed), 600, random_seed=seed)
    assert not outcome.causes
    assert outcome.unconfirmed > 10


@pytest.mark.parametrize("seed", range(5))
def test_causes_are_found_through_noise(seed):
    planted = {point(camera_yaw=5), point(robot_delay=4, sensor_noise=4)}
    outcome = hunt(Policy(*planted, noise=0.1, seed=seed), 500, random_seed=seed)
    assert {frozenset(active(cause)) for cause in found(outcome)} == {frozenset(active(cause)) for cause in planted}


def test_scenes_that_fail_unperturbed_are_not_searched_in_but_count_in_the_base_rate():
    policy = Policy(point(camera_yaw=5), bad_seeds=(0, 3, 4))
    outcome = hunt(policy, 150)
    assert [seed for seed, solved in outcome.control.items() if not solved] == [0, 3, 4]
    assert not {probe.seed for probe in policy.asked if any(probe.point)} & {0, 3, 4}
    assert outcome.base == Count(3, len(outcome.control))
    assert found(outcome) == {point(camera_yaw=5)}


def test_a_hunt_with_nothing_solved_unperturbed_is_refused_with_what_to_do():
    with pytest.raises(HuntError, match=r"solved none of 10 episodes unperturbed\. Choose a task it can do"):
        hunt(Policy(bad_seeds=range(10)))


@pytest.mark.parametrize("episodes", [0, 1, 7, 10, 11, 33])
def test_the_budget_is_never_overrun(episodes):
    policy = Policy(point(camera_yaw=5))
    outcome = hunt(policy, episodes)
    assert len(policy.asked) == outcome.episodes == episodes


def test_time_is_a_budget_too():
    assert Hunt(SPACE, Policy(), Budget(10**9, seconds=0.2)).run().episodes < 10**6


def test_episodes_that_break_say_nothing_about_the_policy():
    draw = random.Random(0)
    policy = Policy(point(camera_yaw=5))
    outcome = hunt(lambda probes: [None if draw.random() < 0.2 else solved for solved in policy(probes)])
    assert outcome.errors > 20
    assert found(outcome) == {point(camera_yaw=5)}


def test_everything_off_at_once_is_no_cause():
    outcome = hunt(Overloaded(point(camera_yaw=6)), 400, random_seed=1)
    assert found(outcome) == {point(camera_yaw=6)}
    assert outcome.overloads >= 1


def test_known_finds_are_tried_first():
    cause = point(robot_delay=4, sensor_noise=5)
    policy = Policy(cause)
    outcome = hunt(policy, 40, known=[Find(cause)])
    assert [probe.point for probe in policy.asked[10:13]] == [cause] * 3
    assert found(outcome) == {cause}


def test_a_known_find_that_is_mended_is_not_reported():
    assert not hunt(Policy(), 60, known=[Find(point(camera_yaw=8))]).causes


@pytest.mark.parametrize("batch", [2, 8])
def test_a_batch_is_filled_all_the_time_and_finds_the_same(batch):
    planted = {point(camera_yaw=6), point(robot_delay=4, sensor_noise=5)}
    sizes = []
    policy = Policy(*planted)

    def ask(probes):
        sizes.append(len(probes))
        return policy(probes)

    outcome = hunt(ask, 600, batch=batch)
    assert found(outcome) == planted
    assert set(sizes[1:-1]) == {batch}


def test_the_same_seed_asks_the_same_questions():
    one, two = Policy(point(camera_yaw=5)), Policy(point(camera_yaw=5))
    hunt(one, random_seed=3)
    hunt(two, random_seed=3)
    assert one.asked == two.asked


def test_a_hunt_ends_when_nothing_is_left_to_try():
    space = Space.of(["robot.delay"])
    outcome = Hunt(space, lambda probes: [not any(probe.point) for probe in probes], Budget(500)).run()
    assert [cause.point for cause in outcome.causes] == [(1,)]
    assert outcome.causes[0].rate == Count(MOST_MEASURED, MOST_MEASURED)
    assert outcome.episodes < 30 + 2 * MOST_MEASURED


def test_a_cause_is_announced_as_soon_as_it_is_found():
    policy = Policy(point(camera_yaw=6), point(robot_delay=4, sensor_noise=5))
    announced = []
    outcome = hunt(policy, on_cause=lambda cause: announced.append((cause, len(policy.asked))))
    assert {cause.point for cause, _ in announced} == {cause.point for cause in outcome.causes}
    assert len(announced) == 2
    assert all(asked < outcome.episodes for _, asked in announced)


def test_shrinking_that_learns_nothing_is_given_up():
    whole = point(camera_yaw=5, robot_delay=5, sensor_noise=5, object_mass=5)

    def ask(probes):
        return [True if not any(probe.point) else False if probe.point == whole else None for probe in probes]

    outcome = hunt(ask, 10 + 3 + MOST_TESTS + 2, known=[Find(whole)])
    assert (outcome.errors, outcome.overloads, outcome.causes) == (MOST_TESTS, 1, [])


def test_a_hunt_that_saw_its_control_arm_only_has_tested_nothing():
    assert hunt(Policy(), 10).tested() == run.Tested()


def test_few_axes_are_tried_one_at_a_time_first():
    asked = []
    space = Space.of(["camera.yaw", "robot.delay"])
    Hunt(space, lambda probes: asked.extend(probes) or [True] * len(probes), Budget(10 + 8)).run()
    assert [len(active(probe.point)) for probe in asked[10:]] == [1] * 8


# --- causes are effects -----------------------------------------------------------------------------------------------


class Partly(Policy):
    """A cause breaks a share of the scenes only; the policy also fails by itself, anew each time."""

    def __init__(self, *causes, share=1.0, own=0.0, seed=0):
        super().__init__(*causes, seed=seed)
        self.share, self.own = share, own

    def breaks(self, scene):
        return random.Random(f"scene {scene}").random() < self.share

    def solves(self, probe):
        broken = self.breaks(probe.seed) and any(SPACE.covers(probe.point, cause) for cause in self.causes)
        return not broken and self.draw.random() >= self.own


@pytest.mark.parametrize("share", [0.3, 0.6])
@pytest.mark.parametrize("seed", range(3))
def test_a_cause_that_breaks_a_share_of_the_scenes_is_found_and_measured(share, seed):
    outcome = hunt(Partly(point(robot_delay=4), share=share), 500, random_seed=seed)
    (cause,) = outcome.causes
    assert cause.point == point(robot_delay=4)
    assert cause.rate.rate == pytest.approx(share, abs=0.2)
    assert cause.lower == (point(robot_delay=3), Count(0, cause.asked))


@pytest.mark.parametrize("seed", range(3))
def test_a_cause_is_told_from_the_policys_own_failures(seed):
    outcome = hunt(Partly(point(robot_delay=4), own=0.2, seed=seed), 500, random_seed=seed)
    assert [active(cause.point) for cause in outcome.causes] == [active(point(robot_delay=4))]
    assert 0.05 < outcome.base.rate < 0.4


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("own", [0.35, 0.5])
def test_a_policy_that_fails_often_by_itself_is_not_accused(own, seed):
    outcome = hunt(Partly(own=own, seed=seed), 500, random_seed=seed)
    assert not outcome.causes
    assert outcome.unconfirmed


def test_rates_are_measured_on_scenes_in_which_nothing_was_asked_before():
    policy = Partly(point(robot_delay=4), share=0.5)
    (cause,) = hunt(policy, 400).causes
    scenes = [probe.seed for probe in policy.asked if probe.point == cause.point][-cause.asked :]
    first = next(number for number, probe in enumerate(policy.asked) if probe.seed == scenes[0])
    assert len(set(scenes)) == cause.asked
    assert not set(scenes) & {probe.seed for probe in policy.asked[:first]}
    assert cause.failed == sum(map(policy.breaks, scenes))


def test_a_cause_is_confirmed_on_scenes_in_which_nothing_was_asked_before():
    policy = Policy(point(robot_delay=4))
    moments = []
    hunt(policy, 100, on_cause=lambda cause: moments.append((cause, len(policy.asked))))
    ((cause, moment),) = moments
    confirming = [number for number in range(moment) if policy.asked[number].point == cause.point][
        -cause.confirmed.asked :
    ]
    before = {probe.seed for probe in policy.asked[: confirming[0]]}
    assert not before & {policy.asked[number].seed for number in confirming}


def test_both_directions_of_an_axis_are_searched_and_shrink_towards_neutral():
    space = Space.of(("camera.yaw", "robot.delay", "sensor.noise"))

    def ask(probes):
        return [-3 < probe.point[0] < 5 for probe in probes]

    causes = Hunt(space, ask, Budget(200)).run().causes
    assert {(cause.point, cause.lower) for cause in causes} == {
        ((-3, 0, 0), ((-2, 0, 0), Count(0, causes[0].asked))),
        ((5, 0, 0), ((4, 0, 0), Count(0, causes[0].asked))),
    }


@pytest.mark.parametrize("seed", range(3))
def test_a_feature_of_the_scene_is_part_of_the_cause(seed):
    def scene(number):
        draw = random.Random(f"features {number}")
        return {"side": draw.choice(["left", "right"]), "x": draw.random(), "object": draw.choice("abcd")}

    policy = Partly(point(robot_delay=4))
    policy.breaks = lambda number: scene(number)["side"] == "left"
    (cause,) = hunt(policy, 500, random_seed=seed, scene=scene).causes
    assert str(cause.condition) == "side = left"
    assert cause.condition.inside.rate == 1
    assert cause.condition.outside.rate == 0


def test_an_earlier_find_is_tried_in_its_very_scene_and_is_mended_when_that_is_solved():
    broken, mended = Find(point(robot_delay=8), 77), Find(point(sensor_noise=8), 88)
    policy = Policy(point(robot_delay=4))
    outcome = hunt(policy, 11, known=[broken, mended])
    assert policy.asked[10] == Probe(broken.point, 77)
    assert outcome.known == {broken: True}, "the other was not tried again"
    assert hunt(policy, 60, known=[mended, broken]).known == {mended: False, broken: True}


def test_another_seed_asks_other_questions():
    one, two = Policy(), Policy()
    hunt(one, 40, random_seed=1)
    hunt(two, 40, random_seed=2)
    assert one.asked[:10] == two.asked[:10]
    assert not {probe.point for probe in one.asked[10:]} & {probe.point for probe in two.asked[10:]} - {SPACE.neutral}
