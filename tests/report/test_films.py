"""Films are drawn from the run file alone, show the episode that was recorded, and say so when they cannot."""

import json
import shutil
import subprocess
from dataclasses import replace

import imageio_ffmpeg
import pytest

from pytest_vla.replay import Replayer
from pytest_vla.report.film import choose, make_film, make_films
from pytest_vla.report.order import in_suite_order
from pytest_vla.run import pair, read_run


@pytest.fixture
def run(in_camera_folder):
    return in_suite_order(read_run("run"))


def row_of(run, index):
    keys = [run.table.key(row) for row in range(len(run))]
    return next(row for row, key in enumerate(keys) if (key.task, key.partition, key.index) == ("push", "seen", index))


def record_of(run, index, **changes):
    (record,) = run.records([row_of(run, index)])
    return replace(record, result=replace(record.result, **changes))


def film_of(run, record, folder):
    with Replayer(run, trust=True) as replayer:
        return make_film(replayer, record, folder)


def probe(path):
    """Codec, pixel format and number of frames as ffmpeg tells them."""
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-i", str(path), "-map", "0:v", "-f", "null", "-"]
    return subprocess.run(command, capture_output=True, text=True).stderr


def test_a_film_is_h264_and_has_a_frame_for_every_state(run, tmp_path):
    record = record_of(run, 1)
    film = film_of(run, record, tmp_path)
    told = probe(tmp_path / film.video)
    assert "h264" in told
    assert "yuv420p" in told
    held = 2  # the last frame stays for a second
    assert f"frame={record.result.steps + 1 + held:5d}" in told
    assert film.note == ""
    assert film.progress == record.result.curve
    assert film.shown == [0, 1, 2, 3, 5, 6, 7, 8]
    assert [piece.get("text") or piece["name"] for piece in film.prompt] == ["Push ", "square"]


def test_recorded_actions_make_a_film_independent_of_the_policy(run, tmp_path):
    run.provenance["policy"]["text"] = "no_such_module:Policy"
    assert film_of(run, record_of(run, 1), tmp_path).note == ""


def test_without_recorded_actions_the_policy_of_the_run_acts_again(run, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(".")
    film = film_of(run, record_of(run, 1, actions=None), tmp_path)
    assert film.note == ""
    assert film.video


def test_a_film_that_is_not_the_recorded_episode_says_so(run, tmp_path):
    film = film_of(run, record_of(run, 1, digest="0" * 32), tmp_path)
    assert "went through other states: the film is not the episode" in film.note


def test_another_version_of_the_suite_is_not_filmed(run, tmp_path):
    record = record_of(run, 1)
    film = film_of(run, record_of(run, 1, episode=replace(record.key, version="7")), tmp_path)
    assert film.video is None
    assert "version 7" in film.note


def test_a_broken_simulator_becomes_a_note(run, tmp_path):
    record = record_of(run, 1)
    gone = record_of(run, 1, episode=replace(record.key, suite="gone"))
    film = film_of(run, replace(gone, nodeid="nowhere.py::test"), tmp_path)
    assert film.note.startswith("no film: SuiteError: no suite 'gone'") or "gone" in film.note


def test_a_suite_without_cameras_gets_curves_and_a_note(reach, tmp_path):
    reach.runpytest(
        "--vla-policy=random", "--vla-task=near", "--vla-episodes=1", "--vla-run-dir=run", "--vla-keep-actions"
    )
    run = read_run(reach.path / "run")
    (record,) = run.records([0])
    film = film_of(run, record, tmp_path)
    assert (film.video, film.strip, film.note) == (None, None, "no film: this suite has no cameras")
    assert list(film.actions) == ["action[0]", "action[1]"]
    assert len(film.progress) == record.result.steps + 1


def test_a_film_that_lies_there_is_not_made_again(run, tmp_path):
    rows = [row_of(run, 1), row_of(run, 3)]
    told = []
    first = make_films(run, rows, tmp_path, told.append, trust=True)
    assert len(told) == 2
    (tmp_path / first["camera/push-seen-03"].video).unlink()
    assert make_films(run, rows, tmp_path, told.append, trust=True) == first
    assert told[2:] == ["filming 2 of 2: camera/push-seen-03"]


@pytest.mark.parametrize(("which", "count"), [("none", 0), ("0", 0), ("1", 2), ("3", 6), ("unsolved", 8), ("all", 20)])
def test_what_is_filmed_can_be_chosen_and_never_is_an_error(run, which, count):
    chosen = list(run.records(choose(run, which)))
    assert len(chosen) == count
    assert all(record.outcome != "error" for record in chosen)


def test_the_flips_of_two_runs_are_filmed_too(run):
    chosen = run.records(choose(run, "1", pair(run.table, read_run("other").table)))
    assert sorted((record.key.index, record.outcome) for record in chosen if record.key.task == "push") == [
        (1, "unsolved"),
        (2, "solved"),
        (3, "unsolved"),
    ]


def test_a_run_writes_its_report_and_films_at_the_end(run_pytest, camera_folder, tmp_path):
    shutil.copy(camera_folder / "test_camera.py", tmp_path)
    result = run_pytest(
        tmp_path, "--vla-policy=test_camera:Half", "-n2", "--vla-run-dir=run", "--vla-report=page", "--vla-video=1"
    )
    assert "report: page/report.html" in result.stdout
    assert len(list((tmp_path / "page" / "report_media").glob("*.mp4"))) == 2
    lines = [json.loads(line) for line in (tmp_path / "run" / "run.jsonl").read_text().splitlines()]
    assert all("actions" in line for line in lines if line["type"] == "episode")


def test_actions_are_recorded_only_where_asked_for(run_pytest, camera_folder, tmp_path):
    shutil.copy(camera_folder / "test_camera.py", tmp_path)
    run_pytest(tmp_path, "--vla-policy=test_camera:Half", "--vla-run-dir=run", "--vla-episodes=1")
    results = [record.result for record in read_run(tmp_path / "run").records()]
    assert results
    assert all(result.actions is None and result.curve is None for result in results)


def test_a_bad_choice_of_films_is_a_usage_error(run_pytest, camera_folder):
    result = run_pytest(camera_folder, "--vla-policy=noop", "--vla-video=some")
    assert result.returncode == pytest.ExitCode.USAGE_ERROR
    assert "--vla-video must be unsolved, all, none or a whole number, got 'some'" in result.stderr


@pytest.mark.slow
def test_films_of_a_shipped_suite_show_its_prompts(run_pytest, tmp_path):
    pytest.importorskip("pybullet")
    cell = ("--vla-suite=vima", "--vla-task=rotate", "--vla-partition=placement_generalization", "--vla-episodes=1")
    run_pytest(tmp_path, *cell, "--vla-policy=random", "--vla-run-dir=run", "--vla-keep-actions")
    run = read_run(tmp_path / "run")
    (film,) = make_films(run, range(len(run)), tmp_path, trust=True).values()
    assert film.note == ""
    assert film.video
    assert any("image" in piece for piece in film.prompt)
