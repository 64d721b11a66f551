"""What servers and workers print is kept in the run folder, and shown where an episode failed."""

import pytest

from pytest_vla.logs import LIMIT, Log

TALKS = """
import numpy as np
import pytest_vla as vla

print("THE MODULE TALKS")


class Talks(vla.Policy):
    def act(self, observations, states):
        print("THE POLICY TALKS", flush=True)
        return [np.zeros(2) for _ in observations]


class Fails(Talks):
    def act(self, observations, states):
        super().act(observations, states)
        raise RuntimeError("the model fell over")
"""
NOISY = """
import pytest_vla as vla
from test_reach import ReachSuite


@vla.benchmark(ReachSuite())
def test_noisy(policy, env, episode):
    print("THE TEST TALKS")
    assert vla.rollout(policy, env, episode)
"""
OPTIONS = ["test_reach.py", "--vla-task=near", "--vla-episodes=2", "--vla-run-dir=run"]


@pytest.fixture
def talking(reach):
    (reach.path / "talking.py").write_text(TALKS)
    return reach


def test_what_a_served_policy_prints_is_kept(talking):
    talking.runpytest(*OPTIONS, "--vla-policy=talking:Talks", "-n1")
    said = (talking.path / "run" / "logs" / "server-0.log").read_text()
    assert said.count("THE MODULE TALKS") == 1
    assert said.count("THE POLICY TALKS") > 1


def test_what_the_server_said_is_shown_where_an_episode_failed(talking):
    result = talking.runpytest(*OPTIONS, "--vla-policy=talking:Fails", "-n1")
    result.stdout.fnmatch_lines(
        ["*the model fell over*", "*server-0: last lines of run/logs/server-0.log*", "THE POLICY TALKS"]
    )
    assert result.stdout.str().count("last lines of") == 1, "equal errors are shown once"


def test_what_workers_print_is_kept_by_item(talking):
    (talking.path / "test_noisy.py").write_text(NOISY)
    talking.runpytest("test_noisy.py", *OPTIONS[1:], "--vla-policy=oracle", "-n1")
    said = "".join(path.read_text() for path in (talking.path / "run" / "logs").glob("gw*.log"))
    assert "--- test_noisy.py::test_noisy[near-calm-00] (call)\nTHE TEST TALKS\n" in said


def test_who_says_nothing_leaves_no_file(talking):
    talking.runpytest(*OPTIONS, "--vla-policy=bad:Slow", "-n1")
    assert not (talking.path / "run" / "logs").exists()


def test_a_log_keeps_the_end_and_stays_small(tmp_path):
    log = Log(tmp_path / "logs" / "a.log")
    with log.open() as output:  # as a process has it
        for number in range(40):
            output.write(f"{number:04d} {'x' * (LIMIT // 8)}\n".encode())
            output.flush()
            log.bound()
    log.write("the end\n")
    assert sum(file.stat().st_size for file in log.path.parent.iterdir()) <= 3 * LIMIT
    assert log.tail().endswith("the end")
    assert "0039" in log.path.read_text() or "0039" in log.path.with_suffix(".old.log").read_text()
