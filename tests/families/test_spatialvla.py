"""SpatialVLA's own code in a tiny folder: the actions of `predict_action` and `decode_actions`, alone and together.

`SPATIALVLA_ROOT` is a checkout of SpatialVLA/SpatialVLA; it runs where `pytest-vla install spatialvla` was done.
"""

import json
import os
import subprocess
from pathlib import Path

import pytest

from pytest_vla.isolate.environment import environment, python_of
from pytest_vla.isolate.family import HOME, has_environment
from pytest_vla.isolate.kind import SPATIALVLA
from pytest_vla.policies import PolicyError, load_policy

HERE = Path(__file__).parent


@pytest.mark.skipif("SPATIALVLA_ROOT" not in os.environ, reason="SPATIALVLA_ROOT names no checkout of SpatialVLA")
def test_a_folder_gives_the_actions_of_its_own_loop(tmp_path: Path) -> None:
    if not has_environment("spatialvla"):
        pytest.skip("SpatialVLA's packages are not installed: pytest-vla install spatialvla")
    python, guest = str(python_of(environment("spatialvla").folder)), str(HOME / "spatialvla" / "guest.py")
    variables = {"HF_MODULES_CACHE": str(tmp_path / "cache"), "OMP_NUM_THREADS": "1"}
    command = [
        python,
        str(HERE / "spatialvla_own_loop.py"),
        str(tmp_path / "tiny"),
        os.environ["SPATIALVLA_ROOT"],
        guest,
    ]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **variables})
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["transformers"] == "4.47.0"
    assert found["different"] > 5, "the observations matter"
    assert found["shape"] == [4, 7]
    assert (found["compared"], found["differ"], found["differ_together"]) == (20, 0, 0)
    assert found["spec"]["conventions"]["normalisation"]["done"] == "bridge_orig/1.0.0"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PYTEST_VLA_ENVS", str(tmp_path / "none"))
    monkeypatch.setenv("PYTEST_VLA_TRUST_REMOTE_CODE", "1")
    monkeypatch.setenv("PYTEST_VLA_UNNORM_KEY", "bridge_orig/1.0.0")
    made = tmp_path / "spatial"
    made.mkdir()
    config = {"model_type": "spatialvla", "auto_map": {"AutoModel": "modeling_spatialvla.Model"}}
    (made / "config.json").write_text(json.dumps(config))
    (made / "processor_config.json").write_text(json.dumps({"statistics": {"bridge_orig/1.0.0": {}, "fractal": {}}}))
    return made


def test_a_folder_is_known_by_its_configuration(folder: Path) -> None:
    assert SPATIALVLA.matches(str(folder))


def test_its_code_runs_only_where_somebody_trusts_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTEST_VLA_TRUST_REMOTE_CODE")
    with pytest.raises(PolicyError, match="brings Python code of its own"):
        load_policy(str(folder))


def test_without_its_environment_what_to_install_is_said(folder: Path) -> None:
    with pytest.raises(PolicyError, match=r"needs the environment 'spatialvla': pytest-vla install spatialvla$"):
        load_policy(str(folder))


@pytest.mark.parametrize("key", ["", "bridge"])
def test_an_unknown_key_is_one_line_with_the_known_ones(
    folder: Path, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv("PYTEST_VLA_UNNORM_KEY", key)
    with pytest.raises(PolicyError, match=f"^PYTEST_VLA_UNNORM_KEY={key} .* there are bridge_orig/1.0.0, fractal$"):
        load_policy(str(folder))
