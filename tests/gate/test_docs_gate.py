"""Every command in docs/gate.md works as typed, and ends with the exit code it says."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
TEXT = (REPOSITORY / "docs" / "gate.md").read_text()
BLOCK = re.compile(r"```(\w*)\n(.*?)```", re.DOTALL)


@pytest.mark.proof
def test_the_commands_of_the_page_end_as_it_says(tmp_path):
    shutil.copy(REPOSITORY / "docs" / "examples" / "test_reach.py", tmp_path)
    # As in a shell of its own: with all plugins.
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "PYTEST_ADDOPTS": ""}
    commands = 0
    for kind, content in BLOCK.findall(TEXT):
        if kind == "toml":
            (tmp_path / "pyproject.toml").write_text(content)
        elif kind == "python":
            (tmp_path / re.match(r"# (\S+)", content)[1]).write_text(content)
        else:
            for line in content.splitlines():
                command, _, code = line.partition("# exit ")
                done = subprocess.run(
                    command, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True
                )
                assert done.returncode == int(code), f"{command}\n{done.stdout[-3000:]}{done.stderr[-2000:]}"
                commands += 1
    assert commands >= 15


def test_the_workflow_uses_options_that_exist():
    from pytest_vla.options import OPTIONS

    text = (REPOSITORY / "docs" / "workflows" / "vla-gate.yml").read_text()
    used = set(re.findall(r"--vla-[a-z-]+", text + TEXT))
    assert used <= {option.flag for option in OPTIONS}
    assert {"--vla-shard", "--vla-baseline", "--vla-early-stop", "--vla-repeat", "--vla-gate"} <= used
    assert "--vla-max-episodes" in used
