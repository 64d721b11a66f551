"""`pytest-vla new-suite`: a skeleton that runs as it is, or one clear message and nothing on the disk."""

import subprocess
import sys
from pathlib import Path

import pytest

from pytest_vla.kit import new_suite
from pytest_vla.kit.new_suite import write_skeleton
from pytest_vla.suite import SuiteError


def test_a_skeleton_is_a_suite_and_its_test(tmp_path):
    paths = write_skeleton("my_toy", tmp_path)
    assert [str(path.relative_to(tmp_path)) for path in paths] == ["my_toy/my_toy_suite.py", "my_toy/test_my_toy.py"]
    assert "class MyToySuite(BenchSuite):" in paths[0].read_text()
    assert not any("$" in path.read_text() for path in paths)


@pytest.mark.parametrize("name", ["Toy", "to-y", "1toy", "", "class", "a b", "../toy", "vima"])
def test_a_bad_name_writes_nothing(tmp_path, name):
    with pytest.raises(SuiteError):
        write_skeleton(name, tmp_path)
    assert not list(tmp_path.iterdir())


def test_what_is_there_is_left_alone(tmp_path):
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "mine.txt").write_text("mine")
    with pytest.raises(SuiteError, match="exists already"):
        write_skeleton("toy", tmp_path)
    assert [path.name for path in (tmp_path / "toy").iterdir()] == ["mine.txt"]


def test_a_failure_half_way_leaves_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.setattr(new_suite, "TEMPLATES", {**new_suite.TEMPLATES, "README.md": "not_there.txt"})
    with pytest.raises(FileNotFoundError):
        write_skeleton("toy", tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_the_printed_command_is_green_in_an_empty_folder(tmp_path):
    pytest.importorskip("mujoco")
    programs = Path(sys.executable).parent
    run = {"cwd": tmp_path, "capture_output": True, "text": True, "timeout": 60}
    written = subprocess.run([programs / "pytest-vla", "new-suite", "toy"], **run)
    assert written.returncode == 0, written.stderr
    program, *arguments = written.stdout.splitlines()[-1].removeprefix("run it: ").split()
    tested = subprocess.run([programs / program, *arguments], **run)
    assert tested.returncode == 0, tested.stdout
    assert "10 of 10 episodes solved, 0 errors" in tested.stdout
