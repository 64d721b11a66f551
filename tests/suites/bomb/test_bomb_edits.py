"""Edits change what they name and nothing else; neutral ones change no bit."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
from pytest_vla.suites.bomb.edits import NEUTRAL, ImageEdit, SceneEdits
from pytest_vla.suites.bomb.layout import blocks
from pytest_vla.suites.bomb.scene import Stone

from pytest_vla.kit.edits import CameraEdit, LightEdit

LOOKS = {
    "camera yaw": replace(NEUTRAL, front=CameraEdit(yaw_deg=3)),
    "camera pitch": replace(NEUTRAL, front=CameraEdit(pitch_deg=3)),
    "camera roll": replace(NEUTRAL, front=CameraEdit(roll_deg=3)),
    "camera shift": replace(NEUTRAL, front=CameraEdit(shift_m=(0.01, 0.0, 0.0))),
    "camera fov": replace(NEUTRAL, front=CameraEdit(fov_deg=4)),
    "light direction": replace(NEUTRAL, light=LightEdit(azimuth_deg=90, elevation_deg=-15)),
    "light brightness": replace(NEUTRAL, light=LightEdit(brightness=0.6)),
    "light colour": replace(NEUTRAL, light=LightEdit(colour=(1.0, 0.8, 0.6))),
    "light shadow": replace(NEUTRAL, light=LightEdit(shadow=0.5)),
    "image brightness": replace(NEUTRAL, image=ImageEdit(1.2)),
    "image balance": replace(NEUTRAL, image=ImageEdit(1.0, (1.1, 1.0, 0.9))),
    "table colour": replace(NEUTRAL, table_colour=(0.3, 0.2, 0.2)),
    "table texture": replace(NEUTRAL, table_texture="checker"),
    "board colour": replace(NEUTRAL, board_colour=(0.5, 0.6, 0.5)),
    "board texture": replace(NEUTRAL, board_texture="marble"),
    "stone colours": replace(NEUTRAL, stone_colours={"white": (0.9, 0.8, 0.5), "black": (0.2, 0.1, 0.1)}),
    "stone texture": replace(NEUTRAL, stone_texture="speckles"),
    "board gloss": replace(NEUTRAL, board_gloss=0.9),
    "stone gloss": replace(NEUTRAL, stone_gloss=1.0),
}
PHYSICS = {
    "shift": replace(NEUTRAL, shifts_m={"white_0": (0.01, 0.02)}),
    "extra stone": replace(NEUTRAL, extra_stones=(Stone("extra_0", "black", (0.04, 0.04)),)),
    "scale": replace(NEUTRAL, scale=1.1),
    "mass": replace(NEUTRAL, mass=2.0),
    "friction": replace(NEUTRAL, friction=0.5),
    "start": replace(NEUTRAL, tip_start_m=(0.05, 0.05, 0.08)),
}


def seen(suite, env, edits: SceneEdits | None, steps: int = 12) -> tuple[str, np.ndarray]:
    """The state some oracle actions into an episode (one moves a stone), and the first front picture."""
    key = suite.episode("place_stone", "unperturbed", 0)
    observation, _ = env.reset(options={"episode": key} | ({"edits": edits} if edits else {}))
    picture, oracle = observation["images"]["front"], suite.oracle(env)
    state = oracle.reset(key)
    for _ in range(steps):
        observation = env.step(oracle.act([observation], [state])[0])[0]
    return suite.digest(env), picture


def test_neutral_edits_change_no_bit(suite, env):
    state, picture = seen(suite, env, None)
    for edits in (
        NEUTRAL,
        SceneEdits(),
        replace(NEUTRAL, **{f.name: getattr(NEUTRAL, f.name) for f in fields(NEUTRAL)}),
    ):
        again, same = seen(suite, env, edits)
        assert again == state
        assert np.array_equal(same, picture)


@pytest.mark.parametrize("name", LOOKS)
def test_looks_change_the_picture_and_not_the_physics(suite, env, name):
    state, picture = seen(suite, env, None)
    again, other = seen(suite, env, LOOKS[name])
    assert again == state
    assert np.any(other != picture)


@pytest.mark.parametrize("name", PHYSICS)
def test_other_things_change_the_physics(suite, env, name):
    state, _ = seen(suite, env, None)
    again, _ = seen(suite, env, PHYSICS[name])
    assert again != state


def test_blocks_stand_where_they_are_put(suite, env):
    key = suite.episode("place_stone", "unperturbed", 0)
    env.reset(options={"episode": key})
    things = blocks(env.instance, np.random.default_rng(1), 2)
    observation, _ = env.reset(options={"episode": key})
    without = observation["images"]["front"]
    observation, _ = env.reset(options={"episode": key, "edits": replace(NEUTRAL, blocks=things)})
    assert np.mean(np.any(observation["images"]["front"] != without, axis=2)) > 0.002


def test_edits_reach_one_episode_only(suite, env):
    state, picture = seen(suite, env, None)
    seen(suite, env, replace(PHYSICS["scale"], table_texture="marble", light=LightEdit(shadow=0.5)))
    again, same = seen(suite, env, None)
    assert again == state
    assert np.array_equal(same, picture)
