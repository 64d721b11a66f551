"""A run inside the spread of what papers report, computed from the rows of a public leaderboard."""

import json
from pathlib import Path

import pytest

from pytest_vla.cli import main
from pytest_vla.report.distributions import ALL, SHIPPED, distributions, load


@pytest.fixture(autouse=True)
def own_data(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def rows(values, benchmark="libero", method="pi", suite="libero_goal"):
    return [
        {
            "model": method if number == 0 else f"{method}__paper{number}",
            "display_name": method.title() if number == 0 else f"{method.title()} (from Paper {number})",
            "benchmark": benchmark,
            "overall_score": value,
            "suite_scores": {suite: value - 1},
            "reported_paper": f"paper{number}",
        }
        for number, value in enumerate(values)
    ]


def test_five_numbers_of_every_method_that_enough_papers_measured():
    found = {
        (each.suite, each.method): each for each in distributions([*rows(range(50, 61)), *rows([1, 2], method="x")])
    }
    assert set(found) == {("", "Pi"), ("", ALL), ("libero_goal", "Pi"), ("libero_goal", ALL)}
    pi = found["", "Pi"]
    assert (pi.papers, pi.least, pi.p10, pi.median, pi.p90, pi.most) == (11, 50, 51, 55, 59, 60)
    assert found["", ALL].papers == 13


def test_the_shipped_ones_are_distributions_and_no_copy_of_rows():
    known = load()
    pi = next(each for each in known.of("libero", "") if each.papers > 50 and each.method != ALL)
    assert (pi.least, pi.median, pi.most) == (37.4, 93.8, 96.8)
    assert set(json.loads(SHIPPED.read_text())) == {"format", "source", "updated", "distributions"}


@pytest.fixture
def imported(tmp_path):
    lines = [
        f"m,libero_goal,task,{number},{int(number < 57)},{'timeout' if number > 95 else ''}" for number in range(100)
    ]
    (tmp_path / "e.csv").write_text("\n".join(["model,suite,task,episode,success,error", *lines]))
    assert main(["import", "e.csv", "-o", "run"]) == 0


def test_a_run_stands_in_the_spread_with_what_weakens_the_comparison(own_data, imported, capsys):
    (own_data / "board.json").write_text(json.dumps({"last_updated": "2026-01-02", "results": rows(range(50, 61))}))
    assert main(["published", "update", "board.json"]) == 0
    assert main(["compare", "run", "--published"]) == 0
    output = capsys.readouterr().out
    assert "libero/libero_goal: this run 59.4%" in output
    assert "above all" in output
    assert "few episodes" in output
    assert "errors are left out" in output
    assert main(["published", "--benchmark=libero"]) == 0
    assert "Pi" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["published", "update"], "name the leaderboard"),
        (["published", "update", "e.csv"], "no leaderboard of the known schema"),
        (["published", "update", "other.json"], "no leaderboard of the known schema"),
        (["published", "--benchmark=libre"], "libero"),
        (["published", "nowhere"], "nowhere"),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_written(own_data, imported, capsys, arguments, message):
    (own_data / "other.json").write_text(json.dumps({"results": [{"score": 1}]}))
    capsys.readouterr()
    assert main(arguments) == 4
    error = capsys.readouterr().err.strip()
    assert message in error
    assert len(error.splitlines()) == 1
    assert not (own_data / "data").exists()


def page_of(run):
    assert main(["report", run, "-o", "page.html", "--video=none"]) == 0
    return Path("page.html").read_text()


def test_the_page_shows_the_interval_inside_each_spread(own_data, imported):
    (own_data / "board.json").write_text(json.dumps({"last_updated": "2026-01-02", "results": rows(range(50, 61))}))
    assert main(["published", "update", "board.json"]) == 0
    page = page_of("run")
    part = page[page.index('id="spread"') : page.index('id="episodes"')]
    assert "this run <strong>59.4%</strong>" in part  # 57 of the 96 that are no errors
    assert "--least:49.0%;--p10:50.0%;--median:54.0%;--p90:58.0%;--most:59.0%" in part
    assert "above all" in part
    assert "errors are left out of this run" in part


def test_an_average_number_of_subtasks_is_not_put_beside_a_rate(own_data, imported):
    board = {"last_updated": "2026-01-02", "results": rows([2.0, 2.5, 3.0, 3.5, 4.0])}
    (own_data / "board.json").write_text(json.dumps(board))
    assert main(["published", "update", "board.json"]) == 0
    assert 'id="spread"' not in page_of("run")
