"""The commands of docs/report.md work as written."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCUMENT = Path(__file__).parents[2] / "docs" / "report.md"


def commands():
    """Every command of a block that is not marked as too long."""
    text = re.sub(r"```python\n.*?```", "", DOCUMENT.read_text(encoding="utf-8"), flags=re.DOTALL)
    text = re.sub(r"<!-- not run.*?-->\n```\n.*?```", "", text, flags=re.DOTALL)
    return [line for block in re.findall(r"```\n(.*?)```", text, re.DOTALL) for line in block.splitlines()]


@pytest.mark.proof
def test_every_command_of_the_report_page_works(tmp_path):
    pytest.importorskip("pybullet")
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    for command in commands():
        allowed = (0, 1) if command.startswith("pytest ") else (0,)  # unsolved episodes are no surprise
        done = subprocess.run(command, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode in allowed, f"{command}\n{done.stdout}{done.stderr}"
    assert (tmp_path / "page" / "report.html").is_file()
    assert "model-index:" in (tmp_path / "model-index.yml").read_text()
    assert len(list((tmp_path / "figures").glob("*.png"))) == 2


def test_the_picture_of_the_page_is_small():
    assert DOCUMENT.with_name("report.png").stat().st_size <= 250_000


def test_the_policy_of_the_picture_is_a_policy(tmp_path, monkeypatch):
    source = re.search(r"```python\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "small_into_large.py").write_text(source[1])
    monkeypatch.syspath_prepend(tmp_path)
    import numpy as np
    from small_into_large import SmallIntoLarge

    image = np.full((128, 256, 3), 40, np.uint8)
    image[10:20, 10:20] = 200
    image[60:100, 100:160] = 120
    policy = SmallIntoLarge()
    (action,) = policy.act([{"images": {"top": image}}], [policy.reset(None)])
    np.testing.assert_allclose(action["pose0_position"], [0.25 + 14.5 / 256, -0.5 + 14.5 / 256], atol=1e-6)
