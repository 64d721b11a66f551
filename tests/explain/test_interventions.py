"""A change is made where it is said and nowhere else; what is not changed stays the same object."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_vla.explain.fills import FILLS
from pytest_vla.explain.interventions import Ablation, Patch, Thing, ablations, inpainted

SIDE = 24


def seen(seed=0):
    rng = np.random.default_rng(seed)
    return {
        "images": {name: rng.integers(0, 256, (SIDE, SIDE, 3), np.uint8) for name in ("front", "wrist")},
        "state": {"ee": rng.standard_normal(3).astype(np.float32)},
        "instruction": f"go {seed}",
        "prompt": {"text": "x", "images": {"goal": rng.integers(0, 256, (8, 8, 3), np.uint8)}},
    }


@st.composite
def boxes(draw):
    x0, y0 = draw(st.integers(0, SIDE - 1)), draw(st.integers(0, SIDE - 1))
    return x0, y0, draw(st.integers(x0 + 1, SIDE)), draw(st.integers(y0 + 1, SIDE))


@given(boxes(), st.sampled_from(FILLS))
def test_a_patch_changes_no_pixel_outside_its_box(box, fill):
    before = seen()
    after = Patch("front", box, fill).apply(before)
    x0, y0, x1, y1 = box
    outside = np.ones((SIDE, SIDE), bool)
    outside[y0:y1, x0:x1] = False
    assert np.array_equal(after["images"]["front"][outside], before["images"]["front"][outside])
    assert after["images"]["wrist"] is before["images"]["wrist"]
    assert after["state"] is before["state"]
    assert np.array_equal(before["images"]["front"], seen()["images"]["front"])


@given(boxes(), st.integers(0, 255))
def test_a_plain_picture_has_nothing_to_hide(box, colour):
    plain = {"images": {"front": np.full((SIDE, SIDE, 3), colour, np.uint8)}}
    for fill in FILLS:
        assert np.array_equal(Patch("front", box, fill).apply(plain)["images"]["front"], plain["images"]["front"])


def test_an_inpainted_patch_goes_on_with_what_is_around_it():
    image = np.tile(np.arange(SIDE, dtype=np.uint8)[None, :, None] * 10, (SIDE, 1, 3))
    made = inpainted(image, (8, 8, 12, 12)).astype(int)
    assert abs(made - image[8:12, 8:12]).max() <= 12


def test_a_thing_takes_the_colour_around_it_and_leaves_the_segmentation_too():
    image = np.full((SIDE, SIDE, 3), 50, np.uint8)
    mask = np.zeros((SIDE, SIDE), bool)
    mask[5:9, 5:9] = True
    image[mask] = 200
    numbers = np.where(mask, 7, 1).astype(np.uint8)
    made = Thing("top", "stone", mask).apply({"images": {"top": image}, "segmentation": {"top": numbers}})
    assert (made["images"]["top"] == 50).all()
    assert (made["segmentation"]["top"] == 1).all()


@pytest.mark.parametrize("how", ["hidden", "swapped"])
def test_every_input_is_ablated_alone(how):
    before, other = seen(0), seen(1)
    found = {change.name: change for change in ablations(before, other, ("front", "wrist"))}
    parts = ("camera front", "camera wrist", "state", "instruction", "prompt images")
    assert set(found) == {f"{part} {way}" for part in parts for way in ("hidden", "swapped")}
    after = found[f"camera front {how}"].apply(before)
    assert not np.array_equal(after["images"]["front"], before["images"]["front"])
    assert after["images"]["wrist"] is before["images"]["wrist"]
    state = found[f"state {how}"].apply(before)["state"]["ee"]
    assert np.array_equal(state, np.zeros(3) if how == "hidden" else other["state"]["ee"])
    assert found[f"instruction {how}"].apply(before)["instruction"] == ("" if how == "hidden" else "go 1")
    prompt = found[f"prompt images {how}"].apply(before)["prompt"]
    assert prompt["text"] == "x"
    assert not np.array_equal(prompt["images"]["goal"], before["prompt"]["images"]["goal"])


def test_what_another_episode_lacks_is_not_swapped():
    other = {"images": {"front": np.zeros((4, 4, 3), np.uint8)}, "state": {"arm": np.zeros(3)}, "instruction": "go 0"}
    names = {change.name for change in ablations(seen(), other, ("front",))}
    assert not any(name.endswith("swapped") for name in names)
    assert isinstance(ablations(seen(), None, ("front",))[0], Ablation)
