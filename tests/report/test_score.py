"""A suite's own score stands in the summary, the page and the exports, and is the same number in all of them."""

import pytest

from pytest_vla.episode import EpisodeKey, Result
from pytest_vla.report.exports import markdown
from pytest_vla.report.html.build import build_report
from pytest_vla.report.score import scores
from pytest_vla.report.summary import summary_lines
from pytest_vla.run import Record

LINE = "calvin: average length 2.250 of 5 [0.08, 4.42] over 4 episodes"


def chain(index, done, outcome=None, perturbation=""):
    outcome = outcome or ("solved" if done == 5 else "unsolved")
    reason = {"solved": None, "unsolved": "step_limit", "error": "env_error"}[outcome]
    key = EpisodeKey("calvin", "chain", "abc_d", index, perturbation)
    return Record(Result(key, outcome, reason, progress=done / 5, initial_digest="same"), test="failed")


@pytest.fixture
def run(make_run):
    return make_run(
        [
            *(chain(index, done) for index, done in enumerate((5, 1, 3, 0))),
            chain(4, 2, "error"),
            chain(0, 5, perturbation="sensor.noise=3"),
        ]
    )


def test_errors_and_perturbed_episodes_do_not_count(run):
    (scored,) = scores(run)
    assert str(scored) == LINE
    assert scored.value == pytest.approx((5 + 1 + 3 + 0) / 4)


def test_it_is_in_the_summary_the_markdown_and_the_page(run, tmp_path):
    assert LINE in summary_lines(run)
    assert LINE in markdown(run)
    assert LINE in build_report(run, tmp_path / "page.html", video="none").read_text(encoding="utf-8")


def test_a_suite_whose_score_is_its_success_rate_has_no_such_line(make_run, record_of):
    assert scores(make_run([record_of(0), record_of(1)])) == []
