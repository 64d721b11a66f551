"""OpenVLA-OFT's own evaluation in tiny folders: its actions and those of our guest; what is said of folders that lack.

`OFT_ROOT` is a checkout of moojink/openvla-oft and `OFT_TRANSFORMERS` one of moojink/transformers-openvla-oft, its
fork; both halves run where `pytest-vla install openvla_oft` was done, ours without the fork.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_vla.isolate.environment import environment, python_of
from pytest_vla.isolate.family import HOME, SHARED, has_environment, helpers
from pytest_vla.isolate.kind import OPENVLA, OPENVLA_OFT
from pytest_vla.policies import PolicyError, load_policy
from pytest_vla.policies.families.openvla_oft.oft_folder import read_checkpoint
from pytest_vla.policies.huggingface import family_of

HERE = Path(__file__).parent
NUMBERS = {name: [0.0] * 7 for name in ("q01", "q99", "min", "max")}
STATE = {name: [0.0] * 8 for name in NUMBERS}
SHAPES = {"libero": [8, 7], "libero_one_view": [8, 7], "libero_tokens": [8, 7], "aloha": [25, 14], "bridge": [5, 7]}
checkouts = pytest.mark.skipif(
    not {"OFT_ROOT", "OFT_TRANSFORMERS"} <= set(os.environ),
    reason="OFT_ROOT and OFT_TRANSFORMERS name no checkouts of openvla-oft and of its fork of transformers",
)


@checkouts
@pytest.mark.parametrize("variant", SHAPES)
def test_a_folder_gives_the_actions_of_its_own_evaluation(variant: str, tmp_path: Path) -> None:
    if not has_environment("openvla_oft"):
        pytest.skip("OpenVLA-OFT's packages are not installed: pytest-vla install openvla_oft")
    python, folder = str(python_of(environment("openvla_oft").folder)), str(tmp_path / f"{variant}_folder")
    variables = {
        **os.environ,
        **environment("openvla_oft").variables,
        "HF_MODULES_CACHE": str(tmp_path / "cache"),
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
    }
    fork = {**variables, "PYTHONPATH": str(Path(os.environ["OFT_TRANSFORMERS"]) / "src")}
    guest = str(HOME / "openvla_oft" / "guest.py")
    for script, given, env in (
        ("oft_own_loop.py", os.environ["OFT_ROOT"], fork),
        ("oft_ours.py", guest, variables),
    ):
        command = [python, str(HERE / script), folder, given, variant]
        done = subprocess.run(command, capture_output=True, text=True, env=env, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["transformers"] == "4.40.1"
    assert found["two_transformers"], "theirs is the fork, ours is not"
    assert found["different"] > 5, "the observations matter"
    assert found["shape"] == SHAPES[variant]
    assert (found["compared"], found["differ"], found["differ_together"]) == (20, 0, 0)
    assert found["differ_causal"] > 0, "attention in both directions is what the fork is for"
    assert found["spec"]["conventions"]["normalisation"]["done"] == "ours_no_noops"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An L1 head, the state and two pictures, on LIBERO's numbers."""
    monkeypatch.setenv("PYTEST_VLA_ENVS", str(tmp_path / "none"))
    monkeypatch.setenv("PYTEST_VLA_TRUST_REMOTE_CODE", "1")
    for name in ("PYTEST_VLA_UNNORM_KEY", "PYTEST_VLA_OFT"):
        monkeypatch.delenv(name, raising=False)
    made = tmp_path / "oft"
    made.mkdir()
    config = {"model_type": "openvla", "use_fused_vision_backbone": True, "auto_map": {"AutoConfig": "code.Config"}}
    (made / "config.json").write_text(json.dumps(config))
    (made / "modeling_prismatic.py").write_text("from prismatic.vla.constants import NUM_ACTIONS_CHUNK\n")
    statistics = {"libero_spatial_no_noops": {"action": NUMBERS, "proprio": STATE}}
    (made / "dataset_statistics.json").write_text(json.dumps(statistics))
    for name in ("action_head", "proprio_projector"):
        (made / f"{name}--150000_checkpoint.pt").write_bytes(b"")
    return made


def test_a_folder_is_known_by_its_head_or_its_code(folder: Path) -> None:
    assert family_of(folder) == "openvla_oft"
    assert OPENVLA_OFT.matches(str(folder))
    assert not OPENVLA.matches(str(folder))
    for path in folder.glob("*.pt"):
        path.unlink()
    assert family_of(folder) == "openvla_oft", "one whose actions are tokens has no head"
    (folder / "modeling_prismatic.py").write_text("")
    assert family_of(folder) == "openvla"


def test_its_code_runs_only_where_somebody_trusts_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTEST_VLA_TRUST_REMOTE_CODE")
    (folder / "config.json").write_text('{"model_type": "openvla"}')  # its processor may bring code too
    with pytest.raises(PolicyError, match="brings Python code of its own"):
        load_policy(str(folder))


def test_without_its_environment_what_to_install_is_said(folder: Path) -> None:
    with pytest.raises(PolicyError, match=r"needs the environment 'openvla_oft': pytest-vla install openvla_oft$"):
        load_policy(str(folder))


def test_an_unknown_key_is_one_line_with_the_known_ones(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_VLA_UNNORM_KEY", "bridge")
    with pytest.raises(PolicyError, match=r"^PYTEST_VLA_UNNORM_KEY=bridge .* there are libero_spatial_no_noops$"):
        load_policy(str(folder))


def unlink(name: str):
    return lambda folder: next(folder.glob(name)).unlink()


def write(name: str, text: str = ""):
    return lambda folder: (folder / name).write_text(text)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (unlink("action_head*"), "lacks its action_head--"),
        (
            write("action_head--9_checkpoint.pt"),
            "has 2 files of action_head: action_head--150000_",
        ),
        (write("noisy_action_projector--9_checkpoint.pt"), "has a diffusion head"),
        (write("vision_backbone--9_checkpoint.pt"), "with FiLM"),
        (write("config.json", '{"model_type": "openvla"}'), "has no auto_map"),
        (unlink("modeling_prismatic.py"), "lacks modeling_prismatic.py"),
        (unlink("dataset_statistics.json"), "has no statistics of actions"),
        (write("dataset_statistics.json", json.dumps({"x": {"action": NUMBERS}})), "have none of 'proprio'"),
        (write("dataset_statistics.json", '{"x": {"action": {"q01": [0]}, "proprio": {}}}'), "has 1 numbers"),
    ],
)
def test_what_a_folder_lacks_is_one_line(folder: Path, change, says: str) -> None:
    change(folder)
    with pytest.raises(PolicyError, match=says) as raised:
        load_policy(str(folder))
    assert "\n" not in str(raised.value)


def test_what_only_the_command_line_of_its_authors_says_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = read_checkpoint(folder, min)
    assert (read.images, read.crop, read.platform.name, read.platform.chunk) == (2, True, "LIBERO", 8)
    told = read_checkpoint(folder, min, "num_images_in_input=1 center_crop=False platform=bridge")
    assert (told.images, told.crop, told.platform.chunk) == (1, False, 5)
    monkeypatch.setenv("PYTEST_VLA_OFT", "images=1")
    with pytest.raises(PolicyError, match="PYTEST_VLA_OFT: 'images=1' is none of num_images_in_input="):
        load_policy(str(folder))


def test_a_preset_that_asks_the_question_is_not_asked_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(SHARED))
    monkeypatch.delitem(sys.modules, "hf_model", raising=False)
    import hf_model

    question = "In: What action should the robot take to put it there?\nOut:"
    assert hf_model.prompt_for({"instruction": "Put it there."}) == question
    assert hf_model.prompt_for({"instruction": question}) == question
    with pytest.raises(ValueError, match="takes 2 camera images, and the observation has 1"):
        hf_model.pictures({"images": {"front": [[0]]}}, 2)


def test_all_code_of_a_guest_decides_its_digest() -> None:
    assert len(helpers("openvla_oft")) == 2
    assert len(helpers("openvla")) == len(helpers("spatialvla")) == 1
    assert helpers("lerobot") == []
