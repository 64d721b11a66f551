"""Runs of a folder are a series, and a change is what chance does not explain."""

import numpy as np
import pytest

from pytest_vla.cli import main
from pytest_vla.report.history import changes
from pytest_vla.run import Tally


def test_a_drop_and_the_way_back_are_marked_once_each():
    rates = [80, 82, 79, 40, 42, 41, 85, 83]
    assert changes([Tally(rate, 100) for rate in rates]) == [0, 0, 0, -1, 0, 0, 1, 0]


def test_a_series_without_a_change_shows_one_as_rarely_as_stated():
    draw = np.random.default_rng(1)
    shown = [any(changes([Tally(int(n), 50) for n in draw.binomial(50, 0.7, 10)])) for _ in range(200)]
    assert np.mean(shown) <= 0.05 + 3 * (0.05 * 0.95 / 200) ** 0.5


def test_the_runs_of_a_folder_are_read_by_age_and_drawn(reach, capsys):
    for name, policy in (("a", "noop"), ("b", "oracle")):
        reach.runpytest(f"--vla-policy={policy}", "--vla-episodes=10", f"--vla-run-dir=runs/{name}")
    capsys.readouterr()
    assert main(["history", "runs", "-o", "history.html"]) == 0
    output = capsys.readouterr().out
    assert output.index("noop") < output.index("oracle")
    assert "changed: better" in output
    page = (reach.path / "history.html").read_text()
    assert "better from here" in page
    assert page.count("<circle") == 2


@pytest.mark.parametrize("folder", ["nowhere", "."])
def test_a_folder_without_runs_is_one_line(reach, capsys, folder):
    assert main(["history", folder]) == 4
    assert "there is no run with episodes" in capsys.readouterr().err
