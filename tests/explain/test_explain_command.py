"""`pytest-vla explain` and `--vla-explain` on a real run: simulator, server process, shipped checkpoint, page."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("mujoco")

from pytest_vla.cli import main
from pytest_vla.run import read_run

REPOSITORY = Path(__file__).parent.parent.parent
POLICY = REPOSITORY / "fixtures" / "policies" / "bomb_visuomotor.pt"
EPISODE = "bomb/place_stone-unperturbed-00"
COARSE = "from pytest_vla.explain import maps\n\nmaps.ROWS = 250\n"  # of 900 patches: enough for what is asked here


def run_and_explain(folder, episodes, *more):
    """A run that is explained at its end, and what it said."""
    (folder / "conftest.py").write_text(COARSE)
    arguments = [
        *("--vla-suite=bomb", "--vla-task=place_stone", "--vla-partition=unperturbed", f"--vla-episodes={episodes}"),
        *(f"--vla-policy={POLICY}", f"--vla-explain={episodes}", f"--vla-run-dir={folder / 'run'}"),
        *("--vla-video=none", "-p", "no:cacheprovider", *more),
    ]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *arguments], cwd=folder, capture_output=True, text=True, timeout=1800
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def explained(tmp_path_factory):
    """A run of one episode, explained at its end, with its page."""
    folder = tmp_path_factory.mktemp("explained")
    return folder, run_and_explain(folder, 1, f"--vla-report={folder / 'page.html'}")


def test_a_run_says_what_the_policy_looked_at_by_thing_and_phase(explained):
    folder, said = explained
    assert "looks at stone" in said
    (line,) = read_run(folder / "run").of_type("explain")
    tables = {table["phase"]: table for table in line["tables"]}
    picking = {row["name"]: row["share"] for row in tables["to pick"]["things"]}
    assert picking["stone"] > 0.5
    assert picking["target"] < 0.1
    words = {row["name"]: row["effect"] for row in tables["to release"]["words"]}
    assert words["(N,N)"] > 1 > words["white"]


def test_the_page_shows_maps_captions_and_the_film(explained):
    folder, _ = explained
    page = (folder / "page.html").read_text()
    assert 'id="explain"' in page
    assert "data:image/png;base64," in page
    assert "data:video/mp4;base64," in page
    assert "camera front" in page


def test_one_moment_is_explained_played_and_written_down(explained, capsys):
    folder, _ = explained
    file, out = folder / "made" / "why.json", folder / "pictures"
    arguments = ["--step", "16", "--rows", "100", "--units", "reader.layers.layers.*", "--mask", "(4,0)"]
    assert (
        main(
            ["explain", str(folder / "run"), EPISODE, f"--vla-policy={POLICY}", *arguments]
            + ["--json", str(file), "-o", str(out)]
        )
        == 0
    )
    said = capsys.readouterr().out
    assert "played, nothing hidden: solved" in said
    assert "played, '(4,0)' hidden: unsolved" in said
    made = json.loads(file.read_text())
    assert {"patches", "spans", "ablations", "units"} <= set(made)
    covered = np.zeros((256, 256), int)
    for patch in made["patches"]:
        x0, y0, x1, y1 = patch["box"]
        covered[y0:y1, x0:x1] += 1
    assert (covered == 1).all()
    assert {unit["kind"] for unit in made["units"]} == {"module"}
    assert {"strip", "units", "paths"} == {picture["kind"] for picture in made["pictures"]}
    assert all((out / picture["file"]).is_file() for picture in made["pictures"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([EPISODE], "--trust"),
        (["bomb/place_stone-unperturbed-07", f"--vla-policy={POLICY}"], "unknown episode"),
        ([EPISODE, "--vla-policy=oracle"], "looks at no observation"),
        ([EPISODE, "--vla-policy=nothing.pt"], "there is no checkpoint"),
        ([EPISODE, f"--vla-policy={POLICY.with_name('vima_cross.pt')}"], "cannot act in suite"),
        ([EPISODE, f"--vla-policy={POLICY}", "--step", "5"], "it looks at step 0, 16"),
        ([EPISODE, f"--vla-policy={POLICY}", "--steps", "few"], "--steps must be all or a number"),
        ([EPISODE, f"--vla-policy={POLICY}", "--mask", "zebra"], "is not in the instruction"),
        ([EPISODE, f"--vla-policy={POLICY}", "--fill", "pink"], "invalid choice"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_4(explained, capsys, arguments, message):
    folder, _ = explained
    assert main(["explain", str(folder / "run"), *arguments]) == 4
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1


def test_an_episode_of_a_suite_that_is_missing_is_one_line(explained, capsys, tmp_path):
    folder, _ = explained
    text = (folder / "run" / "run.jsonl").read_text().replace('"suite": "bomb"', '"suite": "gone"')
    text = text.replace("test_bomb.py", "test_gone.py")
    (tmp_path / "run.jsonl").write_text(text)
    assert main(["explain", str(tmp_path), "place_stone-unperturbed-00", f"--vla-policy={POLICY}"]) == 4
    assert "unknown suite 'gone'" in capsys.readouterr().err


def test_a_hostile_explanation_shows_nothing_but_its_text(explained, tmp_path):
    """Names lead out of the folder, texts are markup: neither gets on the page."""
    from pytest_vla.report.html.explain import explain_view
    from pytest_vla.report.html.page import Page, Side

    folder, _ = explained
    (tmp_path / "run.jsonl").write_text((folder / "run" / "run.jsonl").read_text())
    (tmp_path / "secret.png").write_bytes(b"secret")
    (tmp_path / "explain").mkdir()
    record = {"episode": "<script>", "outcome": "x", "instruction": "", "score": "", "spans": [], "steps": []}
    record["pictures"] = [{"file": "../secret.png", "text": "t"}, {"file": "run.jsonl", "text": "t"}]
    (tmp_path / "explain" / "one.json").write_text(json.dumps(record))
    (tmp_path / "explain" / "two.json").write_text("[1, 2")
    view = explain_view(Page((Side(read_run(tmp_path), {}),), tmp_path))
    assert [each.name for each in view.episodes] == ["<script>"]
    assert view.episodes[0].pictures == []


@pytest.mark.proof
def test_a_deterministic_run_is_explained_by_the_same_bits_at_any_n(tmp_path):
    found = []
    for workers in ([], ["-n1"], ["-n3"]):
        folder = tmp_path / "".join(["n", *workers])
        folder.mkdir()
        run_and_explain(folder, 1, "--vla-deterministic", *workers)
        (file,) = (folder / "run" / "explain").glob("*.json")
        found.append(file.read_bytes())
    assert found[0] == found[1] == found[2]
