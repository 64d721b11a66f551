"""Exports hold what the run file holds, in other people's formats."""

import csv
import json
from types import SimpleNamespace

import pytest

from pytest_vla.cli import main
from pytest_vla.episode import EpisodeKey, Result
from pytest_vla.report.exports import markdown, model_index, rates
from pytest_vla.report.summary import describe_run
from pytest_vla.run import Record, RunWriter, read_run
from pytest_vla.run.provenance import provenance

MARKUP = "<script>document.title='broken'</script>"


@pytest.fixture
def export(in_camera_folder, tmp_path):
    def write(kind, *more):
        path = tmp_path / f"out.{kind}"
        return main(["export", "run", f"--format={kind}", "-o", str(path), *more]), path

    return write


def test_csv_has_a_row_per_episode(export, camera_records):
    code, path = export("csv")
    assert code == 0
    rows = list(csv.DictReader(path.open(newline="")))
    episodes = [record for record in camera_records if record["type"] == "episode"]
    assert len(rows) == len(episodes) == 24
    by_key = {(row["task"], row["partition"], int(row["index"])): row for row in rows}
    for record in episodes:
        row = by_key[(record["task"], record["partition"], record["index"])]
        assert (row["outcome"], row["digest"]) == (record["outcome"], record["digest"])
        assert float(row["progress"]) == record["progress"]
        assert row["message"] == record["message"]


def test_parquet_keeps_types_and_provenance(export):
    parquet = pytest.importorskip("pyarrow.parquet", reason='needs pyarrow: pip install "pytest-vla[parquet]"')
    code, path = export("parquet")
    assert code == 0
    table = parquet.read_table(path)
    assert table.num_rows == 24
    assert str(table.schema.field("progress").type) == "double"
    assert json.loads(table.schema.metadata[b"pytest_vla"])["policy"]["text"] == "test_camera:Half"


@pytest.mark.parametrize(("kind", "module"), [("parquet", "pyarrow"), ("rrd", "rerun")])
def test_a_format_whose_package_is_missing_says_what_to_install(export, capsys, monkeypatch, kind, module):
    monkeypatch.setitem(__import__("sys").modules, module, None)
    code, _ = export(kind, "--episode=camera/push-seen-01")
    assert code == 4
    assert f'pip install "pytest-vla[{ {"parquet": "parquet", "rrd": "rerun"}[kind] }]"' in capsys.readouterr().err


def test_markdown_shows_the_table_and_escapes_names(export):
    code, path = export("markdown")
    assert code == 0
    text = path.read_text()
    assert "| camera/push | seen | 60.0% | [23, 88] | 5 | 1 |" in text
    assert "<script>" not in text.replace("\\<script\\>", "")
    assert "12 of 20 episodes solved, 4 errors." in text


def test_markdown_tells_the_cost_and_what_the_doctor_found(make_run, record_of):
    cost = {"type": "cost", "parameters": 223149, "calls": {}, "hz": 40.0, "control_hz": {"bomb": 10.0}}
    found = {"fault": "gripper flipped", "before": "0 of 12", "after": "3 of 3", "cure": "add `gripper = -1`"}
    hostile = {"type": "doctor", "suite": "<b>", "findings": ["nothing", {"fault": "<script>"}]}
    examined = {"type": "doctor", "suite": "bomb", "findings": [found]}
    lines = [SimpleNamespace(to_record=lambda line=line: line) for line in (cost, examined, hostile)]
    text = markdown(make_run([record_of()], lines=lines))
    assert "\nCost: 223 k parameters, 40.0 Hz (the robot takes 10).\n" in text
    assert "\nDoctor, bomb: gripper flipped: 0 of 12 -\\> 3 of 3; add \\`gripper = -1\\`.\n" in text
    assert "<b>" not in text
    assert "<script>" not in text


def test_a_model_index_has_one_result_per_partition(in_camera_folder):
    text = model_index(read_run("run"), "my/model")
    assert text.count("type: success_rate") == 2
    assert 'name: "my/model"' in text
    assert 'split: "unseen_level"' in text
    assert "value: 0.6000" in text


def test_an_rrd_file_is_about_one_episode(export, capsys):
    code, _ = export("rrd")
    assert code == 4
    assert "add --episode=" in capsys.readouterr().err


def test_an_rrd_file_holds_an_episode(export):
    pytest.importorskip("rerun", reason='needs rerun: pip install "pytest-vla[rerun]"')
    code, path = export("rrd", "--episode=camera/push-seen-01")
    assert code == 0
    assert path.read_bytes().startswith(b"RRF2")
    assert path.stat().st_size > 10_000


def test_what_cannot_be_written_is_one_line(export, in_camera_folder, capsys):
    assert main(["export", "run", "--format=csv", "-o", "run/run.jsonl/x.csv"]) == 4
    assert "cannot write" in capsys.readouterr().err


def test_groups_of_tasks_stand_in_the_table_and_in_its_data(tmp_path):
    tasks = {"rotate": "solved", "rearrange": "unsolved", "twist": "solved"}
    keys = {task: EpisodeKey("vima", task, "placement_generalization", 0) for task in tasks}
    results = [
        Result(keys[task], outcome, "step_limit" if outcome == "unsolved" else None) for task, outcome in tasks.items()
    ]
    writer = RunWriter.create(tmp_path / "run.jsonl", provenance({"text": "oracle", "digest": "x"}, {}, {}))
    for result in results:
        writer.write(Record(result).to_record())
    writer.close()
    run = read_run(tmp_path)
    groups = {group["group"]: (group["solved"], group["measured"]) for group in rates(run)["groups"]}
    assert groups == {
        "simple object manipulation": (1, 1),
        "visual goal reaching": (0, 1),
        "novel concept grounding": (1, 1),
    }
    assert "**visual goal reaching** | **0.0%**" in markdown(run)
    assert "visual goal reaching" in describe_run(run)
