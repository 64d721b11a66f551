"""A repeated episode is no second measurement, whoever speaks of it; every list of records has it all the same."""

import csv
import json

import pytest

from pytest_vla.report.exports import markdown, model_index, write_csv
from pytest_vla.report.film import choose
from pytest_vla.report.html.episodes import episodes_view
from pytest_vla.report.html.page import Page, Side
from pytest_vla.report.html.success import success_view
from pytest_vla.report.html.verdict import overview
from pytest_vla.report.running import RunningRates
from pytest_vla.report.summary import summary_lines


@pytest.fixture
def repeated(make_run, record_of):
    """Ten episodes, each twice; three of the second times were unsolved."""
    first = [record_of(index) for index in range(10)]
    second = [record_of(index, "solved" if index > 2 else "unsolved", repeat=1) for index in range(10)]
    return make_run([*first, *second])


@pytest.fixture
def page(repeated, tmp_path):
    return Page((Side(repeated, {}),), tmp_path)


def test_the_summary_and_its_table_count_once(repeated):
    text = "\n".join(summary_lines(repeated))
    assert "10 of 10 episodes solved, 0 errors" in text
    assert "[72, 100]   10" in text
    assert "unsolved" not in text


def test_the_page_counts_once(page):
    tally = overview(page).rate.tally
    assert (tally.solved, tally.measured) == (10, 10)
    data = success_view(page)
    (cell,) = data.maps[0].rows[0].cells
    assert (cell.tally.solved, cell.tally.measured, data.maps[0].total.tally.measured) == (10, 10, 10)
    assert data.levels["s"][0].rate.tally.measured == 10
    assert data.reasons["unsolved"] == []


def test_exports_of_rates_count_once(repeated):
    text = markdown(repeated)
    assert "| s/t | seen | 100.0% | [72, 100] | 10 |  |" in text
    assert "10 of 10 episodes solved, 0 errors." in text
    assert "10 of 10 episodes" in model_index(repeated)


def test_running_rates_count_once(repeated):
    assert RunningRates(records=repeated.records()).rows() == [("s", "seen", 10, 10)]


def test_films_of_unsolved_episodes_are_of_first_times(repeated):
    assert choose(repeated, "unsolved") == []
    assert len(choose(repeated, "all")) == 20


def test_a_csv_lists_every_record_with_its_repeat_and_verdict(repeated, tmp_path):
    write_csv(repeated, tmp_path / "out.csv")
    rows = list(csv.DictReader((tmp_path / "out.csv").open(newline="")))
    assert [(row["index"], row["repeat"], row["test"]) for row in rows[:4]] == [
        ("0", "0", "passed"),
        ("0", "1", "failed"),
        ("1", "0", "passed"),
        ("1", "1", "failed"),
    ]
    assert len(rows) == 20


def test_every_id_on_the_page_names_its_episode_to_other_commands(page, repeated):
    columns = json.loads(episodes_view(page).data)["runs"][0]["columns"]
    assert len(columns["id"]) == 20
    for name, index, repeat in zip(columns["id"], columns["index"], columns["repeat"], strict=True):
        key = repeated.find(name).key
        assert (key.index, key.repeat) == (index, repeat)


def test_the_pages_list_counts_once_too(page, repeated, open_page, tmp_path):
    from pytest_vla.report.html import build_report

    shown = open_page(build_report(repeated, tmp_path / "page.html", video="none"))
    assert shown.locator("#count").inner_text() == "20 of 20 episodes: 10 of 10 solved, 100.0% [72, 100]"
