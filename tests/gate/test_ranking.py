"""A ranking says who is proven better, at once for all pairs, and who may be first."""

import json
import re
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_vla.cli import main
from pytest_vla.episode import Cell
from pytest_vla.gate.ranking import elo, ranked, score_bound, sections_of, simultaneous


def tables(shape):
    policies, count = shape
    row = st.lists(st.booleans(), min_size=count, max_size=count)
    return st.lists(row, min_size=policies, max_size=policies).map(np.array)


OUTCOMES = st.tuples(st.integers(2, 6), st.integers(1, 40)).flatmap(tables)


@given(OUTCOMES)
def test_a_difference_lies_in_its_interval_and_turned_around_is_its_negative(outcomes):
    found = simultaneous(outcomes, 0.05)
    assert (found.low <= found.effect + 1e-9).all()
    assert (found.effect <= found.high + 1e-9).all()
    assert np.allclose(found.low, -found.high.T)
    assert np.allclose(np.diag(found.high), 0)


@given(OUTCOMES)
def test_the_best_of_a_run_may_be_first_and_nobody_is_proven_better_than_himself(outcomes):
    ranking = ranked("all", [f"p{n}" for n in range(len(outcomes))], outcomes, 0.05)
    best = ranking.best_first()[0]
    assert best.may_be_first
    assert all(1 <= each.first_rank <= each.last_rank <= len(outcomes) for each in ranking.standings)
    assert not (ranking.differences.better() & ranking.differences.better().T).any()


def test_the_score_interval_is_tangos():
    """Its end solves his equation (1998): so many standard deviations at the likeliest share of lost duels."""
    won, lost, count, reach = 9.0, 2.0, 44, 1.959964
    high = float(score_bound(np.array([won]), np.array([lost]), count, reach)[0])
    a, b, c = 2 * count, (2 * count - won + lost) * high - won - lost, -lost * high * (1 - high)
    share = (np.sqrt(b * b - 4 * a * c) - b) / (2 * a)
    assert (won - lost - count * high) / np.sqrt(count * (2 * share + high * (1 - high))) == pytest.approx(-reach)


@pytest.mark.parametrize(("policies", "rates"), [(3, (0.5, 0.5)), (8, (0.3, 0.9))])
def test_all_intervals_hold_at_once_as_often_as_stated(policies, rates):
    draw, trials, missed = np.random.default_rng(5), 300, 0
    for _ in range(trials):
        true = draw.uniform(*rates, policies)
        scene, own = draw.random((1, 60)), draw.random((policies, 60))
        shared = draw.random((policies, 60)) < 0.5  # half of the outcomes follow the scene
        found = simultaneous(np.where(shared, scene, own) < true[:, None], 0.05)
        difference = true[:, None] - true[None, :]
        missed += not ((found.low <= difference + 1e-9) & (difference <= found.high + 1e-9)).all()
    assert missed <= 0.05 * trials + 3 * (0.05 * 0.95 * trials) ** 0.5


def test_ratings_follow_the_duels():
    outcomes = np.array([[1] * 8 + [0] * 2, [1] * 5 + [0] * 5, [0] * 10], dtype=bool)
    first, second, third = elo(outcomes)
    assert first > second > third
    assert np.mean([first, second, third]) == pytest.approx(1000)


def test_sections_are_the_whole_each_suite_each_level_and_each_group_of_perturbations():
    cells = [Cell(suite, "t", level, p) for suite in "ab" for level in "xy" for p in ("", "camera.yaw=3,light.dim=1")]
    found = {name: int(rows.sum()) for name, rows in sections_of(cells).items()}
    assert found == {
        "all": 4, "a": 2, "a/x": 1, "a/y": 1, "b": 2, "b/x": 1, "b/y": 1, "perturbed: camera": 4, "perturbed: light": 4,
    }  # fmt: skip


@pytest.fixture
def runs(reach):
    for name, policy in (("good", "oracle"), ("bad", "noop"), ("luck", "random")):
        reach.runpytest(f"--vla-policy={policy}", "--vla-episodes=8", f"--vla-run-dir={name}")
    return reach


def test_policies_are_ranked_by_the_episodes_all_runs_share(runs, capsys):
    assert main(["rank", "good", "bad", "lucky=luck", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    whole = found["rankings"][0]
    assert found["policies"][2] == "lucky"
    assert whole["episodes"] == 32
    standing = {each["policy"]: each for each in whole["standings"]}
    assert standing["oracle"]["may_be_first"]
    assert not standing["noop"]["may_be_first"]
    assert Counter(each["section"] for each in found["rankings"])["all"] == 1


def test_the_page_names_who_may_be_first(runs, capsys):
    assert main(["rank", "good", "<b>=bad", "-o", "ranking.html"]) == 0
    page = (runs.path / "ranking.html").read_text()
    assert "oracle" in page
    assert "&lt;b&gt;" in page
    assert "<b>=" not in page
    assert "may be first" in capsys.readouterr().out


@pytest.mark.parametrize(("policies", "suites", "downwards"), [(12, 5, "m0"), (2, 5, "all")])
def test_the_map_of_many_has_the_longer_list_downwards(tmp_path, policies, suites, downwards):
    rng, paths = np.random.default_rng(0), []
    for number in range(policies):
        table = [f"m{number},suite{suite},t,{index},{rng.integers(2)}" for suite in range(suites) for index in range(6)]
        file = tmp_path / f"m{number}.csv"
        file.write_text("\n".join(["model,suite,task,episode,success", *table]))
        assert main(["import", str(file), "-o", str(tmp_path / f"m{number}")]) == 0
        paths.append(f"m{number}={tmp_path / f'm{number}'}")
    assert main(["rank", *paths, "-o", str(tmp_path / "ranking.html")]) == 0
    map_of_levels = (tmp_path / "ranking.html").read_text().partition('class="map"')[2].partition("<tbody>")[2]
    heads = [head.strip() for head in re.findall(r"<tr><th>([^<]*)", map_of_levels)]
    assert len(heads) == max(policies, suites + 1)
    assert downwards in heads
    assert map_of_levels.count("<td") == policies * (suites + 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["good"], "rank needs two runs or more"),
        (["good", "nowhere"], "nowhere"),
        (["good", "bad", "--confidence=2"], "must be between 0 and 1"),
        (["good", "far"], "share no episode"),
    ],
)
def test_bad_input_is_one_line(runs, capsys, arguments, message):
    runs.runpytest("--vla-policy=noop", "--vla-episodes=2", "--vla-first-episode=50", "--vla-run-dir=far")
    capsys.readouterr()
    assert main(["rank", *arguments]) == 4
    error = capsys.readouterr().err.strip()
    assert message in error
    assert len(error.splitlines()) == 1
