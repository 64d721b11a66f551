"""The page is a list of views: each shows what the run has, and the list says what it cannot hold."""

import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from pytest_vla.report.html import build, build_report, episodes, success
from pytest_vla.report.html.comparison import comparison_view
from pytest_vla.report.html.episodes import episodes_view, listed_rows
from pytest_vla.report.html.page import Page, Side
from pytest_vla.report.html.success import PHASES
from pytest_vla.report.html.verdict import warnings_view
from pytest_vla.report.html.views import VIEWS, View
from pytest_vla.run import Table, read_run


def page_of(tmp_path, *runs):
    return Page(tuple(Side(run, {}) for run in runs), tmp_path)


def test_every_view_has_a_name_of_its_own_and_a_template():
    assert len({view.name for view in VIEWS}) == len(VIEWS)
    assert all((build.ASSETS / view.template).is_file() for view in VIEWS)


@pytest.mark.parametrize("view", [view for view in VIEWS if view.title], ids=lambda view: view.name)
def test_the_navigation_leads_to_every_view_with_a_title(view):
    assert f'id="{view.name}"' in (build.ASSETS / view.template).read_text()


def test_a_new_view_is_one_row(make_run, record_of, tmp_path, monkeypatch):
    assets = shutil.copytree(build.ASSETS, tmp_path / "assets")
    (assets / "lengths.html").write_text('<p id="lengths">{{ data }} steps</p>')
    monkeypatch.setattr(build, "ASSETS", assets)
    row = View("lengths", "Lengths", "lengths.html", lambda page: len(page.run) or None)
    monkeypatch.setattr(build, "VIEWS", (*VIEWS, row))
    text = build_report(make_run([record_of(0), record_of(1)]), tmp_path / "page.html", video="none").read_text()
    assert '<p id="lengths">2 steps</p>' in text
    assert '<a href="#lengths">Lengths</a>' in text
    empty = build_report(make_run([], "empty"), tmp_path / "empty.html", video="none").read_text()
    assert "lengths" not in empty


def test_runs_of_different_renderers_do_not_pair_on_the_page(make_run, record_of, tmp_path):
    new = make_run([record_of(i, "unsolved", made_with={"renderer": "egl"}) for i in range(4)], "new")
    old = make_run([record_of(i, made_with={"renderer": "osmesa"}) for i in range(4)], "old")
    page = page_of(tmp_path, new, old)
    comparison = comparison_view(page)
    assert (comparison.total.counts.pairs, comparison.rows) == (0, [])
    assert comparison.left_out == [(4, "made with another renderer or simulator")]
    data = json.loads(episodes_view(page).data)
    assert {data["words"][code] for code in data["runs"][0]["flips"]} == {"made with another renderer or simulator"}


def test_the_list_names_the_flip_of_each_episode(make_run, record_of, tmp_path):
    new = [record_of(0), record_of(1, "unsolved"), record_of(2), record_of(2, "unsolved", repeat=1), record_of(3)]
    old = [record_of(0, "unsolved"), record_of(1), record_of(2), record_of(4)]
    data = json.loads(episodes_view(page_of(tmp_path, make_run(new, "new"), make_run(old, "old"))).data)
    flips = [data["words"][code] for code in data["runs"][0]["flips"]]
    assert flips == ["gained", "lost", "same", "", "only in the new run"]
    assert data["runs"][1]["columns"]["id"] == ["s/t-seen-00", "s/t-seen-01", "s/t-seen-02"]


def test_perturbed_episodes_are_compared_apart(make_run, record_of, tmp_path):
    new = [record_of(0), record_of(0, perturbation="camera.yaw=3")]
    old = [record_of(0), record_of(0, "unsolved", perturbation="camera.yaw=3")]
    comparison = comparison_view(page_of(tmp_path, make_run(new, "new"), make_run(old, "old")))
    assert [(row.name, row.counts.pairs, row.counts.gained) for row in comparison.rows] == [
        ("s / seen", 1, 0),
        ("s / seen camera.yaw=3", 1, 1),
    ]
    assert "perturbation=none" in comparison.rows[0].links[0]


def test_a_long_run_lists_errors_and_unsolved_episodes_first_and_some_of_every_cell(record_of):
    outcomes = ["solved"] * 6 + ["unsolved"] * 3 + ["error"]
    table = Table.of(record_of(i, outcomes[i], task=task) for task in "abc" for i in range(10))
    assert listed_rows(table, 30) == list(range(30))
    nine = [table.key(row) for row in listed_rows(table, 9)]
    assert [(key.task, key.index) for key in nine] == [(t, i) for t in "abc" for i in (6, 7, 9)]
    fifteen = [table.key(row) for row in listed_rows(table, 15)]
    assert [(key.task, key.index) for key in fifteen] == [(t, i) for t in "abc" for i in (0, 6, 7, 8, 9)]


def test_a_page_that_cannot_list_all_says_so_and_gives_no_rate_of_its_list(
    make_run, record_of, tmp_path, open_page, monkeypatch
):
    monkeypatch.setattr(episodes, "LISTED", 12)
    run = make_run([record_of(i, "unsolved" if i < 10 else "solved") for i in range(1000)])
    page = open_page(build_report(run, tmp_path / "page.html", video="none"))
    assert "990 of 1000 episodes" in page.locator(".headline").inner_text()
    assert page.locator("#count").inner_text() == "12 of 12 listed episodes"
    assert "The list holds 12 of 1,000 episodes" in page.locator("#episodes").inner_text()
    assert page.locator("#list .row .outcome.unsolved").count() == 10


def test_objections_are_on_the_page(make_run, record_of, tmp_path):
    run = make_run([record_of(0, test="failed", objection="too slow", nodeid="test_x.py::test[0]"), record_of(1)])
    (warning,) = warnings_view(page_of(tmp_path, run))
    assert warning.objections == [
        "1 test failed although its episode was solved:",
        "  test_x.py::test[0]: too slow",
    ]
    assert warnings_view(page_of(tmp_path, make_run([record_of(0)], "fine"))) is None


def test_a_finding_without_numbers_ends_with_its_fault(make_run, record_of, tmp_path):
    flipped = {"fault": "gripper flipped", "before": "0 of 3", "after": "3 of 3"}
    examined = {"type": "doctor", "suite": "s", "findings": [{"fault": "act() raises", "before": ""}, flipped]}
    line = SimpleNamespace(to_record=lambda: examined)
    text = build_report(make_run([record_of(0)], lines=[line]), tmp_path / "page.html", video="none").read_text()
    assert "<strong>act() raises</strong></p>" in text
    assert "<strong>gripper flipped</strong>: 0 of 3 → 3 of 3</p>" in text


@pytest.mark.parametrize("phase", [*PHASES, "other"])
def test_every_phase_of_an_episode_has_a_colour(phase):
    style = (Path(success.__file__).parent / "assets" / "style.css").read_text()
    assert f".phase-{phase} {{ --phase: var(--phase-{phase}); }}" in style
    assert style.count(f" --phase-{phase}: #") == 2, "by day and by night"


def test_the_speed_of_a_page_is_of_all_lines(make_run, record_of, tmp_path):
    from pytest_vla.report.html.success import speed

    run = make_run([record_of(i, seconds=1.0, timings={"act": 0.5, "step": 0.25}) for i in range(4)])
    found = speed(run)
    assert (found.total, found.median, found.shares) == (4.0, 1.0, [("act", 0.5), ("step", 0.25), ("other", 0.25)])
    assert speed(read_run(make_run([], "empty").path)) is None
