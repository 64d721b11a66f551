"""The parts of the page that need no browser: safe data, views, verdicts, comparisons."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_vla.episode import EpisodeKey, Result
from pytest_vla.replay import suite_of
from pytest_vla.report.html import ReportError, build_report, report_path
from pytest_vla.report.html.brittleness import brittleness, parse_levels
from pytest_vla.report.html.comparison import compare_runs
from pytest_vla.report.html.episodes import embed
from pytest_vla.report.html.success import heat_maps, levels
from pytest_vla.report.html.verdict import missing, verdict_of
from pytest_vla.report.order import in_suite_order
from pytest_vla.run import Plan, Record, Table, Why, pair, read_run
from pytest_vla.run.intervals import unpaired_interval

REASONS = {"unsolved": "step_limit", "error": "env_error"}


def record(index, outcome="solved", partition="seen", perturbation="", **more):
    key = EpisodeKey("s", "t", partition, index, perturbation)
    return Record(Result(key, outcome, REASONS.get(outcome), **{"initial_digest": "same", **more}))


@given(st.recursive(st.text() | st.integers(), st.lists) | st.dictionaries(st.text(), st.text()))
def test_embedded_data_reads_back_and_cannot_leave_its_element(value):
    text = str(embed(value))
    assert json.loads(text) == value
    assert not set(text) & set("<>&\u2028\u2029")


def test_a_folder_gets_a_report_html(tmp_path):
    assert report_path("some/folder").name == "report.html"
    assert report_path("a.HTML").name == "a.HTML"


def test_a_report_that_cannot_be_written_is_one_clear_error(in_camera_folder):
    with pytest.raises(ReportError, match="cannot write the report"):
        build_report(read_run("run"), "run/run.jsonl/page.html", video="none")


def test_many_perturbations_do_not_make_many_columns():
    perturbed = [record(0, perturbation=f"camera.yaw={level}") for level in range(1, 9)]
    assert heat_maps(Table.of([record(0), *perturbed]))[0].columns[:2] == ["seen", "seen camera.yaw=1"]
    more = [record(0, perturbation=f"light.brightness={level}") for level in range(1, 9)]
    assert heat_maps(Table.of([record(0), *perturbed, *more]))[0].columns == ["seen"]


def test_gaps_are_measured_from_the_first_level():
    records = [record(i) for i in range(4)] + [record(i, "unsolved", "unseen") for i in range(4)]
    first, second = levels(Table.of(records))["s"]
    assert first.gap is None
    assert second.gap == -1.0
    low, high = second.gap_interval
    assert (low, high) == unpaired_interval((4, 4), (0, 4))
    assert -1.0 <= low < -0.5
    assert -0.5 < high < 0.0


def test_perturbed_rates_stand_next_to_their_own_control():
    records = [record(i) for i in range(4)]
    records += [record(i, "unsolved", perturbation="camera.yaw=3") for i in range(2)]
    records += [record(3, "unsolved", perturbation="camera.yaw=3,light.brightness=2")]
    found = brittleness(Table.of(records))
    point = found.curves[0].points[3]
    assert (point.rate.tally.solved, point.rate.tally.measured) == (0, 2)
    assert (point.control.solved, point.control.measured) == (2, 2)
    assert found.mixed == 1
    assert brittleness(Table.of(records[:4])) is None


@given(st.text())
def test_any_text_may_stand_for_a_perturbation(text):
    assert all(isinstance(level, int) for level in parse_levels(text).values())


def test_runs_pair_only_over_the_same_scenes():
    old = [record(0), record(1, "unsolved"), record(2), record(3, "error"), record(5)]
    new = [record(0, "unsolved"), record(1), record(2, initial_digest="other"), record(3), record(4)]
    pairs = pair(Table.of(new), Table.of(old))
    total = compare_runs(pairs).total
    assert (total.counts.pairs, total.counts.gained, total.counts.lost) == (2, 1, 1)
    assert pairs.why() == {Why.SCENE: 1, Why.ONLY_NEW: 1, Why.ONLY_OLD: 1, Why.ERROR: 1}


def test_a_complete_run_misses_nothing_and_an_incomplete_one_names_its_cells(in_camera_folder, tmp_path):
    assert missing(read_run("run")).episodes == 0
    run = read_run("run")
    suite_of(next(run.records()), trust=True)  # makes the suite of the test file known
    keys = in_suite_order(run).table.keys()
    first, _, *episodes = (in_camera_folder / "run" / "run.jsonl").read_text().splitlines()
    plan = json.dumps(Plan(keys, keys).to_record())
    (tmp_path / "run.jsonl").write_text("\n".join([first, plan, *episodes[:8]]) + "\n")
    lack = missing(read_run(tmp_path))
    assert (lack.episodes, lack.ended) == (16, False)
    assert lack.cells[0] == "camera/push/unseen_level: 2 of 6"


def test_a_gated_run_shows_its_verdict(in_camera_folder, tmp_path):
    lines = (in_camera_folder / "run" / "run.jsonl").read_text().splitlines()
    gate = {
        "type": "gate", "cells": [["camera", "push", "seen", "", 6]], "first": 0, "comparisons": 1, "early_stop": False,
        "rules": {"success": {"camera/push/seen": [0.95, 0.95]}, "margin": 0.1, "confidence": 0.95,
                  "superiority": False, "by": "task"},
    }  # fmt: skip
    (tmp_path / "run.jsonl").write_text("\n".join([*lines, json.dumps(gate)]) + "\n")
    verdict = verdict_of(read_run(tmp_path))
    assert verdict.kind == "fail"
    assert "4 errors, 0 allowed" in verdict.headline
    assert verdict_of(read_run("run")) is None


def test_a_gate_whose_baseline_is_gone_says_so(in_camera_folder, tmp_path):
    lines = (in_camera_folder / "run" / "run.jsonl").read_text().splitlines()
    first = json.loads(lines[0])
    first["options"]["baseline"] = "nowhere"
    gate = {"type": "gate", "cells": [], "first": 0, "comparisons": 0, "early_stop": False, "rules": {}}
    (tmp_path / "run.jsonl").write_text("\n".join([json.dumps(first), *lines[1:], json.dumps(gate)]) + "\n")
    verdict = verdict_of(read_run(tmp_path))
    assert verdict.kind == "none"
    assert "nowhere" in verdict.remarks[0]
