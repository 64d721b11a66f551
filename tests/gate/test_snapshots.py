"""Baselines and scenes as syrupy snapshots, in real sessions."""

import os
import subprocess
import sys

import pytest
from gate_records import records

from pytest_vla.gate.baseline import parse_table
from pytest_vla.run import RunWriter

BASELINE_TEST = """
from pytest_vla.gate.snapshots import success_table

def test_rates(vla_baseline):
    assert vla_baseline == success_table("run")
"""

SCENE_TEST = '''
import os
import gymnasium
import numpy as np
import pytest_vla as vla
from pytest_vla.gate.snapshots import scene

class Table(gymnasium.Env):
    """A block on a table, seen from above; its size is no part of the state."""

    def reset(self, *, seed=None, options=None):
        self.at = int(os.environ.get("AT", "20"))
        half = int(os.environ.get("SIZE", "6"))
        picture = np.full((256, 256, 3), 200, np.uint8)
        picture[100 - half : 100 + half, 5 * self.at - half : 5 * self.at + half] = (200, 30, 30)
        return {"images": {"top": picture}, "state": {}, "instruction": ""}, {}

class TableSuite(vla.Suite):
    name = "table"
    def cells(self): return [("lift", "L1"), ("drop", "L1")]
    def make_env(self, task): return Table()
    def step_limit(self, task): return 1
    def digest(self, env): return str(env.at)

vla.register(TableSuite())

def test_scene(vla_scene):
    assert vla_scene == scene("table", "lift")
'''


@pytest.fixture
def project(tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool.pytest_vla.gate]\nmargin = 0.2\n")
    (tmp_path / "test_rates.py").write_text(BASELINE_TEST)
    (tmp_path / "test_scenes.py").write_text(SCENE_TEST)
    return tmp_path


def run(project, *arguments, **environment):
    command = [sys.executable, "-m", "pytest", "-p", "no:hypothesispytest", "-p", "no:cacheprovider", *arguments]
    env = {**os.environ, "PYTEST_ADDOPTS": "", **environment}
    done = subprocess.run(command, cwd=project, env=env, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout + done.stderr


def measure(project, outcomes):
    path = project / "run" / "run.jsonl"
    path.unlink(missing_ok=True)
    writer = RunWriter.create(path, {"type": "run"})
    for record in records(outcomes):
        writer.write(record.to_record())
    writer.close()


def stored(project):
    return project / "__snapshots__" / "test_rates" / "test_rates.baseline"


def test_an_accepted_baseline_is_a_readable_table_and_passes_again(project):
    measure(project, "." * 20 + "u" * 5)
    code, output = run(project, "test_rates.py", "--snapshot-update")
    assert code == 0, output
    row = stored(project).read_text().splitlines()[2].split()
    assert row[:6] == ["dice/push/L1", "1", "20", "25", "0", "." * 20 + "u" * 5]
    assert run(project, "test_rates.py")[0] == 0


def test_rates_that_differ_by_chance_match_and_worse_ones_do_not(project):
    measure(project, "." * 38 + "uu")
    run(project, "test_rates.py", "--snapshot-update")
    measure(project, "." * 39 + "u")
    assert run(project, "test_rates.py")[0] == 0
    measure(project, "." * 20 + "u" * 20)
    code, output = run(project, "test_rates.py")
    assert code == 1
    assert "vla gate: FAIL (exit 1): dice/push/L1" in output
    assert "--snapshot-update" in output


def test_too_few_episodes_do_not_match_and_say_how_many_more(project):
    measure(project, "." * 5)
    run(project, "test_rates.py", "--snapshot-update")
    measure(project, "." * 4 + "u")
    code, output = run(project, "test_rates.py")
    assert code == 1
    assert "more episodes each would decide" in output


def test_updating_writes_even_what_would_match(project):
    measure(project, "." * 38 + "uu")
    run(project, "test_rates.py", "--snapshot-update")
    measure(project, "." * 39 + "u")
    assert run(project, "test_rates.py", "--snapshot-update")[0] == 0
    assert parse_table(stored(project).read_text()).tally().solved == 39


def test_a_scene_is_stored_as_a_small_picture(project):
    assert run(project, "test_scenes.py", "--snapshot-update")[0] == 0
    (picture,) = project.glob("__snapshots__/test_scenes/*.png")
    assert picture.stat().st_size < 4096
    assert run(project, "test_scenes.py")[0] == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [({"SIZE": "8"}, "its state is the same; 0.2% of its pixels differ"), ({"AT": "21"}, "its state was ")],
    ids=["size", "place"],
)
def test_a_changed_scene_fails_and_both_pictures_are_named(project, change, message):
    run(project, "test_scenes.py", "--snapshot-update")
    code, output = run(project, "test_scenes.py", **change)
    assert code == 1
    assert "the scene of table/lift-L1-00 has changed: " + message in output
    stored_line = next(line for line in output.splitlines() if line.lstrip("E ").startswith("stored "))
    received_line = next(line for line in output.splitlines() if line.lstrip("E ").startswith("received "))
    for line in (stored_line, received_line):
        with open(line.split(maxsplit=2)[-1].strip(), "rb") as picture:
            assert picture.read(8) == b"\x89PNG\r\n\x1a\n"
    assert run(project, "test_scenes.py", "--snapshot-update", **change)[0] == 0
    assert run(project, "test_scenes.py", **change)[0] == 0
