"""OpenVLA's own code in a tiny folder: the actions of its `predict_action`, alone and together.

`OPENVLA_ROOT` is a checkout of openvla/openvla; it runs where `pytest-vla install openvla` was done, or by the
interpreter that `OPENVLA_PYTHON` names (transformers 4.40.1, timm 0.9.10).
"""

import json
import os
import subprocess
from pathlib import Path

import pytest

from pytest_vla.isolate.environment import environment, python_of
from pytest_vla.isolate.family import HOME, has_environment
from pytest_vla.isolate.kind import OPENVLA
from pytest_vla.policies import PolicyError, load_policy

HERE = Path(__file__).parent


@pytest.mark.skipif("OPENVLA_ROOT" not in os.environ, reason="OPENVLA_ROOT names no checkout of openvla/openvla")
def test_a_folder_gives_the_actions_of_its_own_predict_action(tmp_path: Path) -> None:
    python = os.environ.get("OPENVLA_PYTHON")
    if python is None:
        if not has_environment("openvla"):
            pytest.skip("OpenVLA's packages are not installed: pytest-vla install openvla")
        python = str(python_of(environment("openvla").folder))
    guest = HOME / "openvla" / "guest.py"
    command = [
        python,
        str(HERE / "openvla_own_loop.py"),
        str(tmp_path / "tiny"),
        os.environ["OPENVLA_ROOT"],
        str(guest),
    ]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["transformers"] == "4.40.1"
    assert found["different"] > 5, "the observations matter"
    assert (found["compared"], found["differ"], found["differ_together"]) == (20, 0, 0)
    assert found["spec"]["conventions"]["normalisation"]["done"] == "ours"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    config = {"model_type": "openvla", "auto_map": {"AutoConfig": "code.Config"}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    return tmp_path


def test_its_code_runs_only_where_somebody_trusts_it(folder: Path) -> None:
    with pytest.raises(PolicyError, match="brings Python code of its own"):
        load_policy(str(folder))


def test_without_its_environment_what_to_install_is_said(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("transformers")
    monkeypatch.setenv("PYTEST_VLA_ENVS", str(folder / "none"))
    monkeypatch.setenv("PYTEST_VLA_TRUST_REMOTE_CODE", "1")
    assert not OPENVLA.matches(str(folder))
    with pytest.raises(PolicyError, match="pytest-vla install openvla"):
        load_policy(str(folder))
