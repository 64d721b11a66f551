"""A hunt that is killed, whenever it is, goes on where it stopped: nothing lost, nothing done twice."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest

from pytest_vla.episode import EpisodeKey, Result
from pytest_vla.hunt.resume import Begun, Resumed
from pytest_vla.run import HuntRecord, HuntStart, Record, RunWriter, read_run

HUNT = '''
import os
import time

import numpy as np
import pytest_vla as vla
from test_reach import GoStraight, ReachEnv, ReachSuite


class Seen(ReachEnv):
    """With a camera, so that causes have pictures."""

    def observe(self):
        return {**super().observe(), "images": {"top": np.full((16, 16, 3), 90, np.uint8)}}


class SeenSuite(ReachSuite):
    cameras = ("top",)

    def make_env(self, task):
        return Seen()


class HatesCapitals(GoStraight):
    """Stays where it is when it is shouted at, or told next to nothing."""

    def act(self, observations, states):
        actions = super().act(observations, states)
        return [a * (0 if o["instruction"].isupper() or len(o["instruction"]) < 3 else 1)
                for a, o in zip(actions, observations)]


@vla.hunt(SeenSuite(), axes=["language.case", "language.omit", "robot.action_noise"], task=["near", "far"],
          partition="calm", episodes=90)
def test_robust(policy, env, episode, perturbation):
    with open(f"played-{os.environ['ROUND']}", "a") as log:
        log.write(f"{episode}\\n")
    time.sleep(0.01)
    assert vla.rollout(policy, env, episode, perturbation)
'''
HUNTS, EPISODES = 2, 90


@pytest.fixture
def hunting(reach):
    pytest.importorskip("hypothesis")
    reach.makepyfile(test_robust=HUNT)
    return reach


def command(run, *arguments):
    return [
        *(sys.executable, "-m", "pytest", "test_robust.py", "--vla-policy=test_robust:HatesCapitals"),
        *(f"--vla-run-dir={run}", f"--vla-hunt-database={run}-finds", "--vla-hunt-seed=0", *arguments),
    ]


def hunt(project, run, *arguments, round="whole"):
    """To its end; the exit status."""
    environment = {**os.environ, "ROUND": f"{run}-{round}"}
    done = subprocess.run(command(run, *arguments), cwd=project.path, env=environment, capture_output=True, timeout=200)
    return done.returncode


def hunt_until(project, run, count, *arguments, round):
    """Kill all of it when so many probes are in the run file."""
    environment = {**os.environ, "ROUND": f"{run}-{round}"}
    process = subprocess.Popen(
        command(run, *arguments), cwd=project.path, env=environment, start_new_session=True, stdout=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 100
    while len(probes(project, run)) < count and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.002)
    assert process.poll() is None, "it ended before it was killed"
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return len(probes(project, run))


def lines(project, run):
    path = project.path / run / "run.jsonl"
    text = path.read_text() if path.exists() else ""
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def probes(project, run):
    return [line for line in lines(project, run) if line["type"] == "probe"]


def questions(project, run):
    return Counter((line["task"], line["index"], line["perturbation"]) for line in probes(project, run))


def played(project, run, round):
    path = project.path / f"played-{run}-{round}"
    return len(path.read_text().splitlines()) if path.exists() else 0


def ends(project, run):
    """What the hunts came to."""
    return sorted(read_run(project.path / run).hunts, key=lambda hunt: hunt.name)


@pytest.mark.slow
@pytest.mark.parametrize(("before", "after"), [pytest.param((), ("-n2",), marks=pytest.mark.proof), (("-n2",), ())])
def test_a_hunt_killed_at_any_time_resumes_without_losing_or_repeating_a_probe(hunting, before, after):
    assert hunt(hunting, "whole", *before) == pytest.ExitCode.TESTS_FAILED
    hands = 2 * 2  # two may each have been at a probe when they were killed, with the last one's result on its way
    kept = hunt_until(hunting, "cut", 4, *before, round=1)  # in the control arm
    kept_later = hunt_until(hunting, "cut", kept + 40, *before, "--vla-resume", round=2)  # among the causes
    kept_last = hunt_until(hunting, "cut", EPISODES + 11, *before, "--vla-resume", round=3)  # in the other hunt
    assert played(hunting, "cut", 1) <= kept + hands
    assert played(hunting, "cut", 2) <= kept_later - kept + hands
    assert hunt(hunting, "cut", *after, "--vla-resume", round=4) == pytest.ExitCode.TESTS_FAILED
    assert played(hunting, "cut", 4) == HUNTS * EPISODES - kept_last
    assert ends(hunting, "cut") == ends(hunting, "whole")
    assert all(end.causes for end in ends(hunting, "cut"))
    assert questions(hunting, "cut") == questions(hunting, "whole")
    assert sum(questions(hunting, "cut").values()) == HUNTS * EPISODES
    assert Counter(line["type"] for line in lines(hunting, "cut"))["hunt_start"] == HUNTS
    assert {path.name for path in (hunting.path / "cut").iterdir()} - {"logs"} == {"run.jsonl", "hunts"}


def test_a_finished_hunt_is_not_run_again(hunting):
    assert hunt(hunting, "run", "--vla-task=near") == pytest.ExitCode.TESTS_FAILED
    before = lines(hunting, "run")
    assert hunt(hunting, "run", "--vla-task=near", "--vla-resume", round="again") == pytest.ExitCode.TESTS_FAILED
    assert played(hunting, "run", "again") == 0
    assert [line for line in lines(hunting, "run") if line["type"] in ("probe", "hunt")] == [
        line for line in before if line["type"] in ("probe", "hunt")
    ]


def test_pictures_are_files_in_the_run_folder_named_relative_to_it(hunting):
    pytest.importorskip("PIL")
    hunt(hunting, "run", "--vla-task=near")
    (end,) = ends(hunting, "run")
    folder = hunting.path / "run"
    pictures = {cause.perturbation: cause.picture for cause in end.causes}
    assert pictures["language.case=2"] == "hunts/reach-near-calm-language.case=2.png"
    assert all((folder / picture).read_bytes().startswith(b"\x89PNG") for picture in pictures.values())
    assert {f"hunts/{path.name}" for path in (folder / "hunts").iterdir()} == set(pictures.values())


def probe(outcome, reason, test, *, index=3, perturbation="camera.yaw=1", item=None):
    result = Result(EpisodeKey("s", "t", "p", index, perturbation), outcome, reason)
    return Record(result, test=test, kind="probe", item=item)


def test_recorded_answers_are_those_the_search_was_given_in_their_order(tmp_path):
    writer = RunWriter.create(tmp_path / "run.jsonl", {"type": "run"})
    start = HuntStart("s", "t", "p", batch=4, known=("camera.yaw=2",))
    asked = EpisodeKey("s", "t", "p", 5, "camera.yaw=8")
    for line in (
        HuntStart("s", "done", "p"),
        start,
        probe("solved", None, "passed"),
        probe("unsolved", "step_limit", "failed"),
        probe("solved", None, "failed"),  # the function objected
        probe("unsolved", "step_limit", "passed"),  # the function did not
        probe("error", "env_error", "failed"),
        probe("solved", None, "passed", index=5, perturbation="", item=asked),
        HuntRecord("s", "done", "p"),
    ):
        writer.write(line.to_record())
    writer.close()
    answers = {(3, "camera.yaw=1"): [True, False, False, True, None], (5, "camera.yaw=8"): [True]}
    resumed = Resumed.of(read_run(tmp_path))
    assert resumed == Resumed(frozenset({("s", "done", "p")}), {("s", "t", "p"): Begun(start, answers)})
    assert Resumed.from_dict(json.loads(json.dumps(resumed.to_dict()))) == resumed
