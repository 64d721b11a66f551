"""When a run is finished: every planned key has a record, or a line that says why not."""

import json

import pytest
from made_up_runs import FIRST, episode, plan, write

from pytest_vla.run import KeySet, Plan, Unrun, read_run
from pytest_vla.run.hunts import HuntRecord

END = {"type": "end"}


def keys(*indices, **key):
    return KeySet.of(episode(index, **key).key for index in indices)


def done(run, gated=True):
    complete = run.completeness(gated=gated)
    return complete.done, complete.planned, complete.finished


def test_a_run_with_all_that_it_planned_is_finished_even_if_it_was_killed_then(tmp_path):
    run = read_run(write(tmp_path, plan(3), *map(episode, range(3))))
    assert done(run) == (3, 3, True)


@pytest.mark.parametrize("end", [[], [END]])
def test_a_run_that_lacks_an_episode_is_not_finished_whatever_its_last_line_says(tmp_path, end):
    run = read_run(write(tmp_path, plan(4), *map(episode, range(3)), *end))
    assert done(run) == (3, 4, False)
    assert str(run.completeness(gated=True)) == "incomplete: 3 of 4 episodes"
    assert list(run.completeness(gated=True).missing) == [episode(3).key]


def test_an_error_is_a_result_too(tmp_path):
    assert done(read_run(write(tmp_path, plan(1), episode(0, "error", "timeout")))) == (1, 1, True)


@pytest.mark.parametrize("why", ["decided", "budget"])
def test_what_a_gate_needs_no_more_is_excused(tmp_path, why):
    run = read_run(write(tmp_path, plan(3), episode(0), Unrun(why, "so", keys(1, 2))))
    assert done(run) == (3, 3, True)


def test_a_suite_that_could_not_run_leaves_only_a_gated_run_unfinished(tmp_path):
    run = read_run(write(tmp_path, plan(2), Unrun("unavailable", "no simulator", keys(0, 1))))
    assert done(run, gated=False) == (2, 2, True)
    assert done(run, gated=True) == (0, 2, False)


def test_a_shard_owes_its_part_alone_and_the_whole_when_it_is_judged(tmp_path):
    run = read_run(write(tmp_path, plan(2, whole=8), episode(0), episode(1)))
    assert done(run, gated=False) == (2, 2, True)
    assert done(run, gated=True) == (2, 8, False)


def test_plans_of_a_resumed_run_add_up(tmp_path):
    """A second session with a smaller selection does not make the first one's debt go away."""
    run = read_run(write(tmp_path, plan(6), episode(0), plan(2), episode(1)))
    assert done(run) == (2, 6, False)


def test_a_rollout_under_another_key_stands_for_its_item(tmp_path):
    other = episode(0, perturbation="camera.yaw=3", item=episode(0).key)
    run = read_run(write(tmp_path, plan(1), other))
    assert done(run) == (1, 1, True)
    assert len(run) == 1


def test_a_hunt_that_did_not_end_is_unfinished(tmp_path):
    hunted = Plan(hunts=frozenset({("dice", "push", "L1"), ("dice", "stack", "L1")}))
    ended = HuntRecord("dice", "push", "L1")
    run = read_run(write(tmp_path, hunted, ended))
    assert run.completeness(gated=False).hunts == (("dice", "stack", "L1"),)
    assert not run.completeness(gated=False).finished
    skipped = Unrun("unavailable", "no simulator", KeySet(), frozenset({("dice", "stack", "L1")}))
    assert read_run(write(tmp_path / "b", hunted, ended, skipped)).completeness(gated=False).finished


@pytest.mark.parametrize(
    ("lines", "finished"), [([END], True), ([], False), ([{"type": "plan", "episodes": 2}, END], True)]
)
def test_an_older_file_is_finished_when_it_says_so(tmp_path, lines, finished):
    run = read_run(write(tmp_path, episode(0), episode(1), *lines))
    assert run.completeness(gated=True).finished is finished


def test_an_older_file_says_how_much_of_its_plan_it_has(tmp_path):
    run = read_run(write(tmp_path, {"type": "plan", "episodes": 5}, episode(0)))
    assert done(run) == (1, 5, False)
    assert done(read_run(write(tmp_path / "b", episode(0)))) == (1, 2, False)  # one more, or nothing would be missing
    assert done(read_run(write(tmp_path / "c", episode(0), END))) == (1, 1, True)


def test_a_plan_reads_back_from_its_line():
    for one in (plan(3), plan(2, whole=5), Plan(hunts=frozenset({("s", "t", "p")}))):
        assert Plan.from_record(json.loads(json.dumps(one.to_record()))) == one


def test_an_excuse_reads_back_and_a_made_up_one_is_refused():
    excuse = Unrun("decided", "decided: pass after 9 episodes", keys(4, 5))
    assert Unrun.from_record(json.loads(json.dumps(excuse.to_record()))) == excuse
    with pytest.raises(ValueError, match="not 'tired'"):
        Unrun.from_record({**excuse.to_record(), "why": "tired"})


def test_a_merged_file_owes_the_whole_in_every_case(tmp_path):
    first = {**FIRST, "merged": []}
    run = read_run(write(tmp_path, plan(2, whole=8), episode(0), episode(1), first=first))
    assert done(run, gated=False) == (2, 8, False)


def test_a_run_knows_that_its_own_results_stopped_it(tmp_path):
    for why, stopped in (("decided", True), ("budget", True), ("unavailable", False)):
        run = read_run(write(tmp_path / why, plan(2), episode(0), Unrun(why, "so", keys(1))))
        assert run.stopped_early is stopped
    assert read_run(write(tmp_path / "none", plan(1), episode(0))).stopped_early is False


def test_a_verdict_before_the_last_episodes_was_a_look(tmp_path):
    verdict = {"type": "verdict", "verdict": "undecided"}
    assert read_run(write(tmp_path / "a", plan(2), episode(0), episode(1), verdict)).looks == 0
    assert read_run(write(tmp_path / "b", plan(2), episode(0), verdict, episode(1))).looks == 1
    assert read_run(write(tmp_path / "c", plan(3), episode(0), verdict, episode(1), verdict, episode(2))).looks == 2


def test_a_plan_that_was_changed_was_not_declared(tmp_path):
    assert not read_run(write(tmp_path / "a", plan(3), episode(0), plan(3), episode(1))).plan.extended
    assert read_run(write(tmp_path / "b", plan(2), episode(0), plan(3), episode(1))).plan.extended
    assert (plan(2) | plan(3) | plan(3)).extended
    assert (plan(3) | plan(3)).extended is False


def test_an_older_plan_counts_its_episodes():
    assert Plan(count=7).episodes == 7
    assert plan(3).episodes == 3
    assert (Plan(count=7) | Plan(count=4)).count == 7


def test_plans_of_several_sessions_owe_all_their_hunts():
    one, other = (Plan(hunts=frozenset({("s", task, "p")})) for task in ("a", "b"))
    assert (one | other).hunts == {("s", "a", "p"), ("s", "b", "p")}


def test_a_complete_run_says_so(tmp_path):
    run = read_run(write(tmp_path, plan(2), episode(0), episode(1)))
    assert str(run.completeness(gated=True)) == "complete: 2 of 2 episodes"
