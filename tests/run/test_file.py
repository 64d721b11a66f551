"""Reading a run file: line by line, whatever state it is in."""

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up_runs import FIRST, episode, plan, records, write

from pytest_vla.run import Failure, RunFileError, RunWriter, Tally, read_run, run_path
from pytest_vla.run.harmless import harmless


@settings(max_examples=50)
@given(st.lists(records(), max_size=8))
def test_every_record_that_was_written_is_read(tmp_path_factory, written):
    path = tmp_path_factory.mktemp("run") / "run.jsonl"
    writer = RunWriter.create(path, FIRST)
    for record in written:
        writer.write(record.to_record())
    writer.close()
    run = read_run(path)
    last = {record.key: record for record in written if record.kind == "episode"}
    assert {record.key: record.to_record() for record in run.records()} == {
        key: harmless(record.to_record()) for key, record in last.items()
    }
    assert [record.to_record() for record in run.probes()] == [
        harmless(record.to_record()) for record in written if record.kind == "probe"
    ]
    assert {record.planned for record in last.values()} <= set(run.items)
    for record in last.values():
        assert run.find(str(record.key)) is not None


def test_of_a_key_that_was_run_again_the_last_line_counts(tmp_path):
    run = read_run(write(tmp_path, episode(0, "error", "env_error"), episode(1), episode(0)))
    assert run.once.tally() == Tally(2, 2, 0)
    assert [record.outcome for record in run.records()] == ["solved", "solved"]


def test_rows_come_in_the_order_of_the_plan_whatever_came_first(tmp_path):
    lines = [episode(1, task="b"), episode(0, task="a"), episode(0, task="b")]
    run = read_run(write(tmp_path, plan(2, task="b"), *lines))
    assert [(record.key.task, record.key.index) for record in run.records()] == [("b", 0), ("b", 1), ("a", 0)]


def test_records_of_some_rows_are_read_alone(tmp_path):
    run = read_run(write(tmp_path, *map(episode, range(5))))
    assert [record.key.index for record in run.records([3, 1])] == [3, 1]


@pytest.mark.parametrize(
    "damage",
    [
        "{",
        "[]",
        "5",
        "null",
        "{}",
        '{"type": "episode"}',
        '{"type": "plan", "episodes": "many"}',
        '{"type": "plan", "keys": 5}',
        '{"type": "hunt", "causes": []}',
        '{"type": "unrun", "why": "tired", "keys": []}',
        '{"type": "failure"}',
        '{"type": "probe", "index": 1}',
        "\x00",
        json.dumps({**episode(0).to_record(), "progress": float("nan")}),
        json.dumps({**episode(0).to_record(), "note": [float("inf")]}),
        json.dumps({**episode(0).to_record(), "curve": ["a"]}),
        json.dumps({**episode(0).to_record(), "instruction": "\ud800"}),
    ],
)
def test_a_damaged_line_is_named_and_the_rest_is_used(tmp_path, damage):
    path = write(tmp_path, plan(2), episode(0), episode(1))
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:2], damage, *lines[2:]]) + "\n")
    run = read_run(path)
    assert [number for number, _ in run.damaged] == [3]
    assert len(run) == 2


def test_letters_outside_of_unicodes_first_plane_are_no_damage(tmp_path):
    line = {**episode(0).to_record(), "instruction": "\U0001f600 \\ud83d"}
    run = read_run(write(tmp_path, line))
    assert [record.result.instruction for record in run.records()] == [line["instruction"]]


def test_the_half_line_of_a_killed_run_is_damage_at_the_end(tmp_path):
    path = write(tmp_path, plan(2), episode(0), episode(1))
    path.write_bytes(path.read_bytes()[:-20])
    run = read_run(path)
    assert (len(run), [number for number, _ in run.damaged]) == (1, [4])


@pytest.mark.parametrize("content", ["", "\n\n", '{"type": "episode"}\n'])
def test_a_file_without_provenance_is_no_run_file(tmp_path, content):
    (tmp_path / "run.jsonl").write_text(content)
    with pytest.raises(RunFileError, match="is not a run file"):
        read_run(tmp_path)


def test_a_missing_file_is_one_clear_message(tmp_path):
    with pytest.raises(RunFileError, match="cannot read the run file"):
        read_run(tmp_path / "nowhere")


def test_a_folder_stands_for_the_file_in_it(tmp_path):
    path = write(tmp_path)
    assert run_path(tmp_path) == path == run_path(path)


def test_a_test_that_objects_to_a_solved_episode_is_known_from_the_file(tmp_path):
    torn = Failure("test.py::t[x]", "teardown", "OSError: no", episode(1).key)
    run = read_run(write(tmp_path, episode(0, test="failed"), episode(1), torn))
    assert run.objections == 2
    assert run.failures == (torn,)


def test_an_id_of_two_suites_is_refused_and_a_node_id_is_not(tmp_path):
    one, other = (episode(0, suite=suite).to_record() for suite in ("dice", "cards"))
    one["nodeid"], other["nodeid"] = "a.py::a[push-L1-00]", "b.py::b[push-L1-00]"
    run = read_run(write(tmp_path, one, other))
    with pytest.raises(RunFileError, match="several suites"):
        run.find("push-L1-00")
    assert run.find("cards/push-L1-00").key.suite == "cards"
    assert run.find("a.py::a[push-L1-00]").key.suite == "dice"
    assert run.find("push-L1-77") is None
    assert run.find("nonsense") is None


def test_a_probe_is_found_by_its_name_and_no_other_is(tmp_path):
    asked = [replace(episode(index, perturbation="camera.yaw=3"), kind="probe") for index in (1, 2)]
    run = read_run(write(tmp_path, episode(0), *asked))
    assert run.find(str(asked[1].key)).key == asked[1].key
    assert run.find("push-L1-02") is None


def test_of_an_episode_that_was_run_twice_each_is_found(tmp_path):
    run = read_run(write(tmp_path, *(episode(index, repeat=repeat) for index in (0, 1) for repeat in (0, 1))))
    for record in run.records():
        assert run.find(str(record.key)).key == record.key


def test_what_was_planned_and_ended_in_an_error_is_known(tmp_path):
    odd = episode(1, "error", "timeout", perturbation="camera.yaw=3", item=episode(1).key)
    run = read_run(
        write(tmp_path, episode(0), odd, episode(2, "unsolved", "step_limit"), episode(3, "error", "timeout"))
    )
    assert set(run.error_items) == {episode(1).key, episode(3).key}


@pytest.mark.parametrize(("digits", "fits"), [(299, True), (300, False)])
def test_a_number_that_no_float_could_hold_is_damage(tmp_path, digits, fits):
    line = {"type": "note", "number": int("1" * digits), "text": "7" * 400}
    run = read_run(write(tmp_path, line))
    assert run.of_type("note") == ([line] if fits else [])
    assert bool(run.damaged) is not fits


def test_lines_of_other_rooms_are_kept_as_they_are(tmp_path):
    line = {"type": "gate", "rules": {"by": "task"}}
    run = read_run(write(tmp_path, line, {"type": "end"}))
    assert run.of_type("gate") == [line]
    assert run.ended
    assert not read_run(write(tmp_path / "b", {"type": "end"}, episode(0))).ended


def test_a_file_that_changes_while_it_is_read_is_said_to(tmp_path):
    path = write(tmp_path, episode(0))
    run = read_run(path)
    path.write_text(json.dumps(FIRST) + "\n")
    with pytest.raises(RunFileError, match="has changed"):
        list(run.records())


def test_every_line_is_on_disk_as_soon_as_it_is_written(tmp_path):
    path = tmp_path / "run.jsonl"
    writer = RunWriter.create(path, FIRST)
    writer.write(episode(0).to_record())
    assert len(read_run(path)) == 1
    writer.close()


def test_time_that_was_spent_adds_up_also_for_what_was_run_twice(tmp_path):
    lines = [
        {**episode(index).to_record(), "seconds": 1.5, "timings": {"act": 0.25, "step": 0.5}} for index in (0, 0, 1)
    ]
    assert read_run(write(tmp_path, *lines)).spent == {"episode": 4.5, "act": 0.75, "step": 1.5}


def test_where_a_hunt_began_is_no_line_of_another_room(tmp_path):
    from pytest_vla.run.hunts import HuntStart

    start = HuntStart("dice", "push", "L1", batch=3, known=("camera.yaw=2",))
    run = read_run(write(tmp_path, start))
    assert run.hunt_starts == (start,)
    assert run.lines == ()


@pytest.mark.parametrize(("options", "known"), [({"seed": 3}, {"seed": 3}), ([1], {}), (None, {}), ("a", {})])
def test_options_are_a_table_or_unknown(tmp_path, options, known):
    assert read_run(write(tmp_path, first={**FIRST, "options": options})).options == known


def test_only_verdicts_before_the_last_episode_were_looks(tmp_path):
    verdict = {"type": "verdict"}
    lines = [verdict, episode(0), verdict, verdict, episode(1), verdict]
    assert read_run(write(tmp_path / "a", *lines)).looks == 3
    assert read_run(write(tmp_path / "b", episode(0), verdict)).looks == 0


@pytest.mark.parametrize(
    ("said", "first"),
    [
        *((3, 3), (0, 0), (2**31 - 1, 2**31 - 1), (2**31, 0), (-1, 0), (10**18, 0)),
        *((None, 0), ("evil:Policy", 0), ([], 0), (1.5, 0)),
    ],
)
def test_the_first_episode_is_a_number_whatever_the_file_says(tmp_path, said, first):
    path = write(tmp_path, episode(0), first={**FIRST, "options": {"first_episode": said}})
    assert read_run(path).first_episode == first


def test_tasks_that_leaked_are_named_once(tmp_path):
    lines = ({"type": "leaked", "tasks": tasks} for tasks in (["s/a", "s/b"], ["s/b", "s/c"]))
    assert read_run(write(tmp_path, *lines)).leaked == ["s/a", "s/b", "s/c"]
    assert read_run(write(tmp_path / "none", episode(0))).leaked == []
