"""Checkpoints of the original VIMA: ours and the original code give the same bins from the same weights.

`VIMA_ROOT` is a checkout of github.com/vimalabs/VIMA, `VIMA_PYTHON` an interpreter with what it imports (torch,
transformers 4.33.3, numpy below 2, einops, dm-tree, kornia, omegaconf, OpenCV).
"""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("cv2")

from pytest_vla.suites.vima.policy.original import SHOWN, continuous, found, placed  # noqa: E402

from pytest_vla.episode import EpisodeKey  # noqa: E402
from pytest_vla.policies import PolicyError, load_policy  # noqa: E402

HERE = Path(__file__).parent
EPISODES, STEPS = 25, 4


def tokenizer(folder: Path) -> None:
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import WhitespaceSplit

    words = ["<pad>", "</s>", "<unk>", "put", "the", "into", "Rearrange", "to", "this", "."]
    made = Tokenizer(WordLevel({word: number for number, word in enumerate(words)}, unk_token="<unk>"))
    made.pre_tokenizer = WhitespaceSplit()
    made.save(str(folder / "tokenizer.json"))


def scene(rng: np.random.Generator, ids: list[int]) -> dict:
    """Both views of a table with boxes on it, some hidden in one of them."""
    rgb = {view: rng.integers(0, 256, (128, 256, 3), np.uint8) for view in ("front", "top")}
    masks = {}
    for view in rgb:
        masks[view] = np.zeros((128, 256), np.uint8)
        for number in reversed(ids):  # the first is always seen: the original cannot do with an empty view
            if number == ids[0] or rng.random() < 0.9:
                y, x, h, w = rng.integers(0, 80), rng.integers(0, 190), rng.integers(3, 48), rng.integers(3, 60)
                masks[view][y : y + h, x : x + w] = number
    return {"rgb": rgb, "segmentation": masks, "ids": ids}


def seen_ids(shown: dict) -> list[int]:
    there = {int(n) for mask in shown["segmentation"].values() for n in np.unique(mask)}
    return sorted(there - {0})


def episodes() -> list[dict]:
    rng = np.random.default_rng(3)
    made = []
    for number in range(EPISODES):
        ids = [int(n) for n in rng.choice(np.arange(4, 30), size=rng.integers(2, 6), replace=False)]
        if number % 2:
            text, assets = "Rearrange to this {scene} .", {"scene": {**scene(rng, ids), "kind": "scene"}}
        else:
            text = "put the {dragged_obj} into the {base_obj} ."
            assets = {name: {**scene(rng, ids[:1]), "kind": "object"} for name in ("dragged_obj", "base_obj")}
        steps = []
        for _ in range(STEPS):
            shown = scene(rng, ids)
            steps.append({**shown, "ids": seen_ids(shown), "ee": int(rng.integers(2))})
        made.append({"text": text, "assets": assets, "steps": steps})
    return made


@pytest.mark.skipif("VIMA_ROOT" not in os.environ, reason="VIMA_ROOT names no checkout of the original code")
def test_the_same_weights_give_the_same_actions_on_a_hundred_observations(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("pytest_vla.suites.vima.policy.original.BACKDROP", (0,))
    tokenizer(tmp_path)
    played = episodes()
    np.savez(tmp_path / "observations.npz", episodes=np.array(played, dtype=object))
    command = [os.environ["VIMA_PYTHON"], str(HERE / "vima_own_loop.py"), str(tmp_path), os.environ["VIMA_ROOT"]]
    one_thread = {**os.environ, "OMP_NUM_THREADS": "1"}  # which is faster than two on a busy machine
    done = subprocess.run(command, capture_output=True, text=True, env=one_thread)
    assert done.returncode == 0, done.stderr
    theirs = np.load(tmp_path / "actions.npz")["bins"]
    policy = load_policy(str(tmp_path / "2M.ckpt")).policy
    ours, inner = [], policy.network.action_decoder.forward

    def noted(token):
        bins = inner(token)
        ours.append(np.concatenate([bins[name].numpy() for name in sorted(bins)]))
        return bins

    policy.network.action_decoder.forward = noted
    for number, episode in enumerate(played):
        state = policy.reset(EpisodeKey("vima", "t", "p", number))
        assets = {
            name: {**asset, "objects": {str(n): "red block" for n in asset["ids"]}}
            for name, asset in episode["assets"].items()
        }
        for step in episode["steps"]:
            observation = {
                "images": step["rgb"],
                "segmentation": step["segmentation"],
                "state": {"ee": np.array([step["ee"]])},
                "prompt": {"text": episode["text"], "assets": assets},
            }
            (action,) = policy.act([observation], [state])
            assert set(action) == {"pose0_position", "pose0_rotation", "pose1_position", "pose1_rotation"}
    assert len(theirs) == EPISODES * STEPS == 100
    assert len({row.tobytes() for row in theirs}) > 20, "the observations matter"
    assert (np.stack(ours) == theirs).all(), np.argwhere(np.stack(ours) != theirs)


def test_bins_are_places_on_the_table_and_quaternions() -> None:
    bins = {
        "pose0_position": torch.tensor([0, 0]),
        "pose1_position": torch.tensor([25, 50]),
        "pose0_rotation": torch.tensor([0, 25, 25, 49]),
        "pose1_rotation": torch.tensor([25, 25, 25, 25]),
    }
    made = placed(continuous(bins))
    assert made["pose0_position"].tolist() == [0.25, -0.5]
    assert made["pose1_position"].tolist() == pytest.approx([0.5, 0.0])
    assert made["pose0_rotation"].tolist() == pytest.approx([-1, 0, 0, 0.96])


def test_an_object_that_is_not_seen_leaves_a_row_that_is_not_there() -> None:
    masks = {"front": np.zeros((8, 8), np.uint8), "top": np.zeros((8, 8), np.uint8)}
    masks["top"][1:4, 2:8] = 5
    pictures = {view: np.full((8, 8, 3), 200, np.uint8) for view in masks}
    crops, boxes, there = found(pictures, masks, [5, 6], {"front": 2, "top": 2})
    assert there.tolist() == [False, False, True, False]
    assert boxes["top"][0].tolist() == [4, 2, 2, 5]
    assert crops["top"][0].max() == 200
    assert not crops["top"][0][:, :4].any(), "a wide crop is padded above and below"


def test_the_names_of_pictures_are_those_of_the_original() -> None:
    assert len(SHOWN) == len(set(SHOWN)) == 42
    assert {"base_obj", "demo_blicker_obj_3", "demo_less_blicker_obj_1", "after_twist_2", "end_scene_3"} <= set(SHOWN)


@pytest.mark.parametrize("content", [b"", b"nonsense"])
def test_a_file_that_is_no_checkpoint_is_one_clear_error(tmp_path: Path, content: bytes) -> None:
    tokenizer(tmp_path)
    (tmp_path / "2M.ckpt").write_bytes(content)
    with pytest.raises(PolicyError, match="is no checkpoint of the original VIMA"):
        load_policy(str(tmp_path / "2M.ckpt"))
