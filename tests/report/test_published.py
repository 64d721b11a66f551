"""A run beside what is published: the same tasks, each counting the same, and never without the caveat."""

import pytest

import pytest_vla as vla
from pytest_vla import registry
from pytest_vla.registry import register
from pytest_vla.report.html import build_report
from pytest_vla.report.published import published_beside, published_lines
from pytest_vla.report.summary import describe_run
from pytest_vla.suite import Published


class Known(vla.Suite):
    name = "s"

    def cells(self):
        return [("t", "seen"), ("other", "seen"), ("t", "unseen")]

    def make_env(self, task):
        raise NotImplementedError

    def step_limit(self, task):
        return 1

    def published(self):
        rates = {
            "Good": {("t", "seen"): 0.9, ("other", "seen"): 0.7, ("t", "unseen"): 0.5},
            "Partly run": {("other", "seen"): 0.2},
        }
        return Published(rates, "A paper.", "Other geometry.", {"old": ["Good"]})


@pytest.fixture(autouse=True)
def known(monkeypatch):
    monkeypatch.setattr(registry, "_registered", dict(registry._registered))
    return register(Known())


def test_only_what_was_run_is_compared_and_each_task_counts_the_same(make_run, record_of):
    run = make_run([record_of(0), record_of(1, "unsolved"), record_of(0, task="other")])
    (beside,) = published_beside(run)
    assert list(beside.cells) == [("t", "seen"), ("other", "seen")]
    assert beside.run_mean("seen") == pytest.approx(0.75)
    assert beside.method_mean("Good", "seen") == pytest.approx(0.8)
    assert beside.method_mean("Partly run", "seen") == pytest.approx(0.2)
    assert beside.below("seen") == (1, 2)


def test_perturbed_episodes_are_left_out(make_run, record_of):
    assert published_beside(make_run([record_of(0, perturbation="camera.yaw=3")])) == []


def test_show_says_it_in_a_line_for_each_partition(make_run, record_of):
    run = make_run([record_of(0), record_of(1, "unsolved"), record_of(0, task="other")])
    assert published_lines(run) == [
        "",
        "s beside 2 published methods. Other geometry.",
        "  seen, 2 tasks: this run 75.0%, above 1 of 2; the best is Good with 80.0%",
    ]
    assert describe_run(run).endswith("the best is Good with 80.0%")


def test_the_page_has_the_caveat_the_ranking_and_every_task(make_run, record_of, tmp_path):
    run = make_run([record_of(0), record_of(1, "unsolved"), record_of(0, task="other")])
    text = build_report(run, tmp_path / "page.html", video="none").read_text()
    part = text[text.index('id="published"') : text.index('id="episodes"')]
    assert "Other geometry." in part
    assert "A paper." in part
    assert part.index("Good") < part.index("this run") < part.index("Partly run")
    assert "not run" in part  # of the task the second method was not run on
    assert '<a href="#published">Published</a>' in text


def test_a_suite_that_knows_of_nothing_has_no_such_part(make_run, record_of, tmp_path, monkeypatch):
    monkeypatch.setattr(Known, "published", vla.Suite.published)
    run = make_run([record_of(0)])
    assert published_lines(run) == []
    assert 'id="published"' not in build_report(run, tmp_path / "page.html", video="none").read_text()


def test_a_run_of_a_suite_that_is_not_installed_has_none_either(make_run, record_of, monkeypatch):
    monkeypatch.setattr(registry, "_registered", {})
    assert published_beside(make_run([record_of(0)])) == []
