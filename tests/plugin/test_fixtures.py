"""What a test is given is the same in its first item and in all others, whoever provides it."""

GUESS = """
import gymnasium
import pytest_vla as vla


class Level(gymnasium.Env):
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        return {"images": {}, "state": {}, "instruction": "Say one."}, {}

    def step(self, action):
        return self.reset()[0], 0.0, True, False, {"success": bool(action)}


class LevelSuite(vla.Suite):
    name = "level"
    cells = lambda self: [("task", "partition")]
    make_env = lambda self, task: Level()
    step_limit = lambda self, task: 1
"""
BENCHMARK = """
@vla.benchmark(LevelSuite(), episodes=4)
"""


def test_a_fixture_of_the_users_own_replaces_ours_in_every_item(pytester):
    pytester.makepyfile(
        GUESS
        + """
import pytest

class One(vla.Policy):
    def act(self, observations, states):
        return [1 for _ in observations]

@pytest.fixture
def policy(policy):
    return One()
"""
        + BENCHMARK
        + """
def test_level(policy, env, episode):
    assert vla.rollout(policy, env, episode)
"""
    )
    pytester.runpytest("--vla-policy=noop").assert_outcomes(passed=4)


def test_a_fixture_that_asks_for_ours_sees_what_the_test_sees(pytester):
    pytester.makepyfile(
        GUESS
        + """
import pytest

@pytest.fixture
def seen(policy, env, episode):
    return policy, env, episode
"""
        + BENCHMARK
        + """
def test_level(policy, env, episode, seen):
    assert seen[0] is policy and seen[1] is env and seen[2] is episode
    vla.rollout(policy, env, episode)
"""
    )
    pytester.runpytest("--vla-policy=noop").assert_outcomes(passed=4)


def test_every_item_gets_its_own_episode_and_one_environment_is_kept(pytester):
    pytester.makepyfile(
        GUESS
        + "SEEN = []\n"
        + BENCHMARK
        + """
def test_level(policy, env, episode):
    SEEN.append((env, episode))
    vla.rollout(policy, env, episode)

def test_what_was_seen():
    assert [episode.index for _, episode in SEEN] == [0, 1, 2, 3]
    assert len({id(env) for env, _ in SEEN}) == 1
"""
    )
    pytester.runpytest("--vla-policy=noop").assert_outcomes(passed=5)


def test_two_functions_do_not_share_whose_fixtures_they_use(pytester):
    pytester.makepyfile(
        GUESS
        + """
import pytest

@vla.benchmark(LevelSuite(), episodes=3)
def test_level(policy, env, episode):
    assert not vla.rollout(policy, env, episode)

class TestOther:
    @pytest.fixture
    def policy(self):
        class One(vla.Policy):
            def act(self, observations, states):
                return [1 for _ in observations]
        return One()

    class OtherSuite(LevelSuite):
        name = "other"

    @vla.benchmark(OtherSuite(), episodes=3)
    def test_other(self, policy, env, episode):
        assert vla.rollout(policy, env, episode)
"""
    )
    pytester.runpytest("--vla-policy=noop").assert_outcomes(passed=6)
