"""Figures are written as PNG and SVG from what the run files hold."""

import json

import pytest
from PIL import Image

from pytest_vla.cli import main
from pytest_vla.report.order import told_apart


def test_figures_of_two_runs_are_written(in_camera_folder, tmp_path, capsys):
    assert main(["plot", "run", "other", "-o", str(tmp_path)]) == 0
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["power.png", "power.svg", "success_by_level.png", "success_by_level.svg"]
    assert min(Image.open(tmp_path / "success_by_level.png").size) > 400
    assert "test_camera:Other" in (tmp_path / "success_by_level.svg").read_text()
    assert capsys.readouterr().out.count(str(tmp_path)) == 4


def test_perturbed_episodes_have_curves(in_camera_folder, tmp_path):
    lines = (in_camera_folder / "run" / "run.jsonl").read_text().splitlines()
    episodes = [json.loads(line) for line in lines if '"type": "episode"' in line]
    worse = [json.dumps({**r, "perturbation": f"camera.yaw={r['index'] + 1}"}) for r in episodes[:4]]
    (tmp_path / "run.jsonl").write_text("\n".join([*lines, *worse]))
    assert main(["plot", str(tmp_path), "-o", str(tmp_path / "figures")]) == 0
    assert "camera.yaw" in (tmp_path / "figures" / "brittleness.svg").read_text()


def test_a_run_without_episodes_has_no_figures(in_camera_folder, tmp_path, capsys):
    first = (in_camera_folder / "run" / "run.jsonl").read_text().splitlines()[0]
    (tmp_path / "run.jsonl").write_text(first + "\n")
    assert main(["plot", str(tmp_path), "-o", str(tmp_path)]) == 4
    assert "no episode was finished" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("policies", "folders", "names"),
    [
        (["/long/way/a.pt", "/long/way/b.pt"], ["x", "y"], ["a.pt", "b.pt"]),
        (["/one/net.pt", "/two/net.pt"], ["x", "y"], ["one/net.pt", "two/net.pt"]),
        (["net.pt", "net.pt"], ["/runs/monday", "/runs/tuesday"], ["monday", "tuesday"]),
        (["https://host/v1?model=a", "oracle"], ["x", "y"], ["v1?model=a", "oracle"]),
    ],
)
def test_labels_are_as_short_as_tells_them_apart(policies, folders, names):
    from pathlib import Path
    from types import SimpleNamespace

    runs = [
        SimpleNamespace(policy=SimpleNamespace(text=text), path=Path(folder) / "run.jsonl")
        for text, folder in zip(policies, folders, strict=True)
    ]
    assert told_apart(runs) == names
