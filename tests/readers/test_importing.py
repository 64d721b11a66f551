"""Results of other harnesses become run files, with the same counts as their own summaries, or nothing is written."""

import json

import pytest

from pytest_vla.cli import main
from pytest_vla.run import Tally, read_run

AGGREGATE = {
    "benchmark": "vla_eval.benchmarks.libero.benchmark:LIBEROBenchmark",
    "harness_version": "0.8.0",
    "server_info": {"model": "pi0"},
    "mean_success": 0.5,
    "num_episodes_total": 4,
    "tasks": [
        {
            "task": "put the bowl on the plate",
            "episodes": [
                {"episode_id": 0, "metrics": {"success": True}, "steps": 80, "elapsed_sec": 9.5},
                {"episode_id": 1, "metrics": {"success": True}, "steps": 81, "elapsed_sec": 9.6},
                {"episode_id": 2, "metrics": {"success": False}, "steps": 300, "elapsed_sec": 30},
                {"episode_id": 3, "metrics": {}, "steps": 3, "elapsed_sec": 2, "failure_reason": "timeout"},
            ],
        }
    ],
}
EVAL_INFO = {
    "per_task": [
        {"task_group": "libero_spatial", "task_id": 0, "metrics": {"successes": [True, False], "sum_rewards": [1, 0]}},
        {"task_group": "libero_spatial", "task_id": 1, "metrics": {"successes": [True, True], "sum_rewards": [1, 1]}},
    ],
    "per_group": {"libero_spatial": {"pc_success": 75.0}},
    "overall": {"pc_success": 75.0, "n_episodes": 4},
}
OLD_EVAL_INFO = {
    "per_episode": [
        {"episode_ix": 0, "success": True, "seed": 1000, "sum_reward": 1.0},
        {"episode_ix": 1, "success": False, "seed": 1001, "sum_reward": 0.0},
    ],
    "aggregated": {"pc_success": 50.0},
}
TABLE = "model,suite,task,episode,success,error\nm,s,a,0,1,\nm,s,a,1,0,\nm,s,b,0,0,timeout\n"


def written(folder, data, name):
    path = folder / name
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    return path


@pytest.mark.parametrize(
    ("name", "data", "tally"),
    [
        ("x_aggregate.json", AGGREGATE, Tally(2, 3, 1)),
        ("eval_info.json", EVAL_INFO, Tally(3, 4)),
        ("eval_info.json", OLD_EVAL_INFO, Tally(1, 2)),
        ("episodes.csv", TABLE, Tally(1, 2, 1)),
    ],
    ids=["vla-eval", "lerobot", "older lerobot", "table"],
)
def test_a_result_becomes_a_finished_run_with_errors_apart(tmp_path, capsys, name, data, tally):
    file = written(tmp_path, data, name)
    assert main(["import", str(file), "-o", str(tmp_path / "run"), "--name=mine"]) == 0
    run = read_run(tmp_path / "run")
    assert run.once.tally() == tally
    assert run.completeness(gated=True).finished
    assert run.policy.text == "mine"
    assert f"{tally.measured} measured" in capsys.readouterr().out
    assert main(["show", str(tmp_path / "run")]) == 0


def test_two_imports_of_the_same_benchmark_pair_and_are_compared(tmp_path, capsys):
    other = json.loads(json.dumps(AGGREGATE))
    other["tasks"][0]["episodes"][1]["metrics"]["success"] = False
    other["mean_success"] = 0.25
    for name, data in (("a", AGGREGATE), ("b", other)):
        assert main(["import", str(written(tmp_path, data, f"{name}.json")), "-o", str(tmp_path / name)]) == 0
    assert main(["compare", str(tmp_path / "a"), str(tmp_path / "b")]) == 0
    assert "1 lost, 0 gained" in capsys.readouterr().out


def test_episodes_of_a_benchmark_without_a_seed_pair_with_nothing(tmp_path, capsys):
    unseeded = {**AGGREGATE, "benchmark": "mine:Benchmark"}
    for name in "ab":
        assert main(["import", str(written(tmp_path, unseeded, f"{name}.json")), "-o", str(tmp_path / name)]) == 0
    assert main(["compare", str(tmp_path / "a"), str(tmp_path / "b")]) == 0
    output = capsys.readouterr().out
    assert "unpaired" in output
    assert "takes no seed" in output


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("x.json", {**AGGREGATE, "harness_version": "0.1.0"}, "written by vla-eval 0.1.0; known are"),
        ("x.json", {**AGGREGATE, "mean_success": 1.0}, "says 4 of 4 in its summary, but its episodes are 2 of 4"),
        ("x.json", {"harness_version": "0.8.0"}, "is none"),
        ("x.json", {**EVAL_INFO, "per_task": [{"metrics": {}}]}, "is none"),
        ("x.json", {"anything": 1}, "no result of a harness that is known"),
        ("x.csv", "a,b\n1,2\n", "needs the columns suite, task, success"),
        ("x.csv", TABLE + "m,s,a,0,1,\n", "more than once"),
        ("x.csv", TABLE + "m,s,a,7,perhaps,\n", "line 5"),
        ("x.csv", TABLE + "other,s,a,7,1,\n", "make a file of each"),
        ("x.sqlite", "SQLite format 3\0rubbish", "no recording of vla-eval"),
    ],
)
def test_what_cannot_be_read_whole_is_one_line_and_nothing_is_written(tmp_path, capsys, name, data, message):
    assert main(["import", str(written(tmp_path, data, name)), "-o", str(tmp_path / "run")]) == 4
    error = capsys.readouterr().err.strip()
    assert message in error
    assert len(error.splitlines()) == 1
    assert not (tmp_path / "run").exists()
