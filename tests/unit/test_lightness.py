"""The plugin costs nothing until an episode needs it."""

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("torch", "pybullet", "mujoco", "numpy", "scipy", "gymnasium", "matplotlib")
REPOSITORY = Path(__file__).parents[2]

PROBE = """
import sys, pytest
code = pytest.main({arguments!r})
print("loaded:", [name for name in {heavy!r} if name in sys.modules], "exit:", int(code))
"""


def loaded_by(arguments, cwd):
    probe = PROBE.format(arguments=arguments, heavy=HEAVY)
    output = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, cwd=cwd).stdout
    return output.splitlines()[-1]


def test_help_imports_no_simulator_and_no_torch(tmp_path):
    assert loaded_by(["--help"], tmp_path) == "loaded: [] exit: 0"


def test_a_plain_unit_test_run_imports_no_simulator_and_no_torch(tmp_path):
    (tmp_path / "test_plain.py").write_text("def test_plain(): pass")
    assert loaded_by(["-q"], tmp_path) == "loaded: [] exit: 0"


def test_collecting_the_shipped_suites_imports_no_simulator_and_no_torch(tmp_path):
    arguments = ["--collect-only", "-q", "--vla-policy=oracle", "--vla-episodes=1"]
    line = loaded_by(arguments, tmp_path)
    assert not any(name in line for name in ("torch", "pybullet", "mujoco")), line
    assert line.endswith("exit: 0")


@pytest.mark.slow
def test_the_units_tests_of_this_repository_import_no_simulator_and_no_torch():
    left_out = [f"--ignore=tests/unit/test_{name}.py" for name in ("lightness", "rooms")]  # itself; a reader of sources
    line = loaded_by(["tests/unit", "-q", *left_out, "-p", "no:xdist"], REPOSITORY)
    assert not any(name in line for name in ("torch", "pybullet", "mujoco")), line
    assert line.endswith("exit: 0")
