"""What a hunt found is a regression test: the very episode is kept, tried first, and dropped only when it is mended."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_vla.hunt.ledger import find_text, read_find
from pytest_vla.hunt.outcome import Find
from pytest_vla.hunt.space import Space
from pytest_vla.run import read_run

pytest.importorskip("hypothesis")
SUITE = Path(__file__).parents[2] / "benchmarks" / "planted_suite.py"
SPACE = Space.of(("camera.yaw", "light.brightness"))


@pytest.mark.parametrize(
    ("text", "find"),
    [
        ("12 camera.yaw=4", Find((4, 0), 12)),
        ("0 camera.yaw=-4,light.brightness=2", Find((-4, 2), 0)),
        ("camera.yaw=4", Find((4, 0))),  # as older ones are kept
        ("3 robot.delay=4", None),  # not hunted now
        ("3 nothing.known=4", None),
        ("nonsense", None),
    ],
)
def test_a_find_is_a_scene_and_a_perturbation(text, find):
    assert read_find(text, SPACE) == find


def test_a_find_reads_back_as_it_was_kept():
    assert read_find(find_text(7, "camera.yaw=-3"), SPACE) == Find((-3, 0), 7)


@pytest.fixture
def project(tmp_path):
    shutil.copy(SUITE, tmp_path / "test_planted.py")
    return tmp_path


def hunt(project, run, *options, task="yaw60own0-00"):
    words = [
        sys.executable,
        "-m",
        "pytest",
        "test_planted.py",
        "--vla-policy=oracle",
        "--vla-hunt",
        "-p",
        "no:cacheprovider",
    ]
    environment = {**os.environ, "PLANTED_TASKS": task}
    done = subprocess.run(
        [*words, f"--vla-run-dir={run}", *options],
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return read_run(project / run), done.stdout


def kept(project):
    return sorted(
        path.read_text() for path in (project / ".vla-hunts").rglob("*") if path.is_file() and "=" in path.read_text()
    )


def test_a_find_is_kept_with_its_scene_replayed_first_and_not_erased_by_a_hunt_that_does_not_come_to_it(project):
    run, text = hunt(project, "one", "--vla-hunt-seed=0")
    (record,) = run.hunts
    before = kept(project)
    assert before == sorted(f"{cause.index} {cause.perturbation}" for cause in record.causes)
    assert {record.causes[0].perturbation, *record.causes[0].also} == {"camera.yaw=-4", "camera.yaw=4"}, (
        "the same scenes"
    )
    assert "against 0% [0%, " in text
    assert re.search(r"one level lower, camera.yaw=-?3: 0% \[0%, ", text), text
    hunt(project, "two", "--vla-hunt-episodes=10")
    assert kept(project) == before
    again, text = hunt(project, "three", "--vla-hunt-episodes=40")
    probes = [record.planned for record in again.probes()]
    assert f"{probes[10].index} {probes[10].perturbation}" in before
    assert kept(project) == before
    assert "earlier finds: 1 of the 1 episodes tried again still fail" in text


def test_a_mended_find_is_dropped(project):
    hunt(project, "one", "--vla-hunt-seed=0", task="yaw100own0-00")
    assert len(kept(project)) == 2
    source = (project / "test_planted.py").read_text().replace("BREAKS_FROM = 4", "BREAKS_FROM = 9")
    (project / "test_planted.py").write_text(source)
    _, text = hunt(project, "two", "--vla-hunt-episodes=40", task="yaw100own0-00")
    assert "earlier finds: 0 of the 2 episodes tried again still fail" in text
    assert not kept(project)


def test_a_hunt_draws_a_seed_and_keeps_it(project):
    seeds = [
        hunt(project, f"run{n}", "--vla-hunt-episodes=12", task="yaw0own0-00")[0].hunt_starts[0].seed for n in range(2)
    ]
    assert seeds[0] != seeds[1]
    run, _ = hunt(project, "typed", "--vla-hunt-episodes=12", "--vla-hunt-seed=5", task="yaw0own0-00")
    assert run.hunt_starts[0].seed == 5


def test_a_condition_on_the_scene_is_in_the_text_the_run_file_and_the_page(project):
    run, text = hunt(project, "run", "--vla-hunt-seed=0", "--vla-report=page", task="yaw0own0left-00")
    condition = run.hunts[0].causes[0].condition
    assert str(condition) == "side = left"
    assert condition.inside.rate > 0.9 > 0.1 > condition.outside.rate
    assert "    where side = left: 100% [" in text
    cause = run.hunts[0].causes[0]
    name = f"planted/yaw0own0left-00-all-{cause.index:02d}-{cause.perturbation}"
    words = [sys.executable, "-m", "pytest_vla.cli", "replay", "run", name, "--trust"]
    environment = {**os.environ, "PLANTED_TASKS": "yaw0own0left-00"}
    replayed = subprocess.run(words, cwd=project, env=environment, capture_output=True, text=True, timeout=100)
    assert "scene     side=left, x=" in replayed.stdout, replayed.stderr
    pytest.importorskip("jinja2")
    assert "where side = left: 100%" in (project / "page" / "report.html").read_text()


def test_a_policy_that_fails_by_itself_is_not_accused_and_what_failed_is_said(project):
    run, text = hunt(project, "run", "--vla-hunt-seed=0", task="yaw0own35-00")
    assert not run.hunts[0].causes
    assert run.hunts[0].unconfirmed
    assert "  unconfirmed: " in text
