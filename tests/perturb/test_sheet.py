"""`pytest-vla sheet`: every axis of a suite in one picture."""

import pytest

from pytest_vla.cli import main


@pytest.fixture(autouse=True)
def needs_a_simulator():
    pytest.importorskip("pybullet")


def test_the_axes_of_a_suite_are_drawn(tmp_path, capsys):
    path = tmp_path / "axes.png"
    assert main(["sheet", str(path), "--vla-suite=vima", "--task=rotate", "--camera=front"]) == 0
    assert path.read_bytes().startswith(b"\x89PNG")
    assert str(path) in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--task=rotat"], "unknown task 'rotat' in suite 'vima'; did you mean 'rotate'?"),
        (["--camera=frunt"], "unknown camera 'frunt' in suite 'vima'; did you mean 'front'?"),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest(tmp_path, capsys, arguments, message):
    assert main(["sheet", str(tmp_path / "axes.png"), "--suite=vima", *arguments]) == 4
    assert message in capsys.readouterr().err
