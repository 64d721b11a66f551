"""What a person reads after a run: each episode once, every rate with its interval, and what is not in order."""

import pytest

from pytest_vla.episode import EpisodeKey
from pytest_vla.report.summary import describe_run, partition_rows, summary_lines, summary_rows
from pytest_vla.run import Failure, KeySet, Table, Tally, Unrun


def test_errors_stand_beside_the_rate_and_never_inside(record_of):
    tally = Tally.of([record_of(0), record_of(1, "unsolved"), record_of(2, "error")])
    assert (tally.rate, tally.measured, tally.errors) == (0.5, 2, 1)
    assert Tally.of([record_of(0, "error")]).texts() == ("-", "-", "0", "1")


@pytest.mark.parametrize(
    ("solved", "n", "low", "high"), [(0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (5, 10, 0.2366, 0.7634)]
)
def test_the_interval_is_wilsons(solved, n, low, high):
    assert Tally(solved, n).interval() == pytest.approx((low, high), abs=1e-4)


def test_the_table_has_a_row_per_cell_and_one_per_partition(record_of):
    records = [record_of(i, task=t, partition=p) for t in ("b", "a") for p in ("x", "y") for i in range(2)]
    table = Table.of(records)
    assert [row[:2] for row in summary_rows(table)] == [("s/a", "x"), ("s/a", "y"), ("s/b", "x"), ("s/b", "y")]
    assert [(*row[:2], row[4]) for row in partition_rows(table)] == [("s", "x", "4"), ("s", "y", "4")]


def test_an_unknown_suite_is_shown_in_the_order_of_its_plan(make_run, record_of):
    run = make_run([record_of(task=task) for task in "bca"])
    assert [row[0] for row in summary_rows(run.once)] == ["s/b", "s/c", "s/a"]


@pytest.mark.parametrize("width", [80, 200])
def test_many_axes_off_neutral_leave_room_for_the_numbers(make_run, record_of, width):
    axes = ",".join(f"camera.axis{number}={number}" for number in range(20))
    lines = summary_lines(make_run([record_of(index, perturbation=axes) for index in range(40)]), width=width)
    assert sum("100.0%  " in line and "[91, 100]" in line for line in lines) == 1
    assert all(f"camera.axis{number}={number}" in "\n".join(lines) for number in range(20))


def test_a_finished_run_has_nothing_to_complain_of(make_run, record_of):
    told = describe_run(make_run([record_of(0), record_of(1)], verified=True))
    assert "2 of 2 episodes solved, 0 errors" in told
    assert not any(word in told for word in ("incomplete", "unverified", "although", "not run", "skipped", "damaged"))


def test_a_test_that_failed_although_its_episode_was_solved_is_named(make_run, record_of):
    said = "assert 3 < 2\n +  where 3 = steps"
    objections = [record_of(i, nodeid=f"test_x.py::test[{i}]", test="failed", objection=said) for i in range(7)]
    told = describe_run(make_run([*objections, record_of(7), record_of(8, "unsolved")]))
    assert "7 tests failed although their episodes were solved:" in told
    assert "  test_x.py::test[4]: assert 3 < 2" in told
    assert "test_x.py::test[5]" not in told
    assert "  and 2 more" in told
    one = describe_run(make_run(objections[:1], "one"))
    assert "1 test failed although its episode was solved:" in one


def test_a_failure_that_no_episode_explains_is_named(make_run, record_of):
    failure = Failure("test_x.py::test[0]", "teardown", "OSError: busy\n(while it was closed)")
    assert "  test_x.py::test[0] (teardown): OSError: busy" in describe_run(make_run([record_of(0)], lines=[failure]))


def test_an_unfinished_run_says_how_far_it_came(make_run, record_of):
    run = make_run([record_of(0)], planned=[EpisodeKey("s", "t", "seen", 1)])
    assert "incomplete: 1 of 2 episodes; go on with --vla-resume" in describe_run(run)
    empty = make_run([], "empty", planned=[EpisodeKey("s", "t", "seen", 1)])
    assert describe_run(empty).endswith("incomplete: 0 of 1 episodes; go on with --vla-resume\nno episode was finished")


def test_what_need_not_and_what_cannot_run_is_told_apart(make_run, record_of):
    spared, absent = (KeySet.of([EpisodeKey("s", "t", "seen", index)]) for index in (1, 2))
    unrun = [Unrun("decided", "the gate has decided", spared), Unrun("unavailable", "no simulator here", absent)]
    told = describe_run(make_run([record_of(0)], planned=[*spared, *absent], lines=unrun))
    assert "not run: 1 episode, the gate has decided" in told
    assert "skipped 1: no simulator here" in told
    assert "incomplete" not in told


def test_a_policy_whose_content_cannot_be_known_is_called_unverified(make_run, record_of):
    assert "unverified: what answers behind policy 'made_up'" in describe_run(make_run([record_of(0)], verified=False))


def test_the_first_unsolved_episode_can_be_replayed_as_printed(make_run, record_of):
    run = make_run([record_of(3, "unsolved", "b"), record_of(2, "unsolved", "a", repeat=1), record_of(2, task="a")])
    assert summary_lines(run)[-1].endswith("run.jsonl s/b-seen-03 --trust")


def test_rates_on_other_data_than_the_published_are_marked_in_table_page_and_exports(make_run, record_of):
    from pytest_vla.report.exports import markdown
    from pytest_vla.report.html.provenance import facts

    made = {"assets": "x", "not comparable": "2 of 9 files are not the published ones"}
    run = make_run([record_of(0, made_with=made), record_of(1, "unsolved", made_with=made)])
    told = describe_run(run)
    assert "s*/t" in told
    assert "* not comparable: s: 2 of 9 files are not the published ones" in told
    assert ("not comparable", "s: 2 of 9 files are not the published ones") in facts(run)
    assert "Not comparable: s: 2 of 9 files" in markdown(run)
    plain = make_run([record_of(0)], "plain")
    assert "*" not in describe_run(plain).partition("run file")[0]
