"""What the cameras show: stones, lines and gripper are where they are, whenever and however they are drawn."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace

import numpy as np
import pytest
from pytest_vla.suites.bomb.board import POSITIONS, spot_of
from pytest_vla.suites.bomb.cameras import FRONT, IMAGE_PX, views
from pytest_vla.suites.bomb.edits import NEUTRAL
from pytest_vla.suites.bomb.textures import BOARD_TEXTURES, TABLE_TEXTURES, board_image, goal_picture, table_image

from pytest_vla.kit.edits import CameraEdit
from pytest_vla.sim.mujoco import MujocoStage
from pytest_vla.sim.view import View
from pytest_vla.tree import plain


def pixel(view: View, point) -> tuple[int, int]:
    """Row and column at which a camera sees a point."""
    away = np.subtract(point, view.position)
    depth = away @ np.asarray(view.forward)
    focal = IMAGE_PX / 2 / math.tan(math.radians(view.fovy_deg) / 2)
    right, up = focal * (away @ np.asarray(view.right)) / depth, focal * (away @ np.asarray(view.up)) / depth
    return int(IMAGE_PX / 2 - up), int(IMAGE_PX / 2 + right)


def brightness_at(image: np.ndarray, view: View, spot) -> float:
    row, column = pixel(view, (*spot, 0.006))
    return float(image[row - 1 : row + 2, column - 1 : column + 2].mean())


@pytest.mark.parametrize("edit", [CameraEdit(), CameraEdit(yaw_deg=10, pitch_deg=-5, roll_deg=8, fov_deg=5)])
def test_stones_are_seen_where_they_lie_in_their_colour(suite, env, edit):
    for task in ("place_sequence", "capture", "copy_position"):
        edits = replace(NEUTRAL, front=edit)
        options = {"episode": suite.episode(task, "unperturbed", 1), "edits": edits}
        image = env.reset(options=options)[0]["images"]["front"]
        for stone in env.instance.stones:
            light = brightness_at(image, views(edits)["front"], stone.spot)
            assert (light > 170) == (stone.colour == "white"), stone
            assert (light < 70) == (stone.colour == "black"), stone


def test_lines_are_darker_than_the_board_between_them(suite, env):
    options = {"episode": suite.episode("place_stone", "unperturbed", 0)}
    image = env.reset(options=options)[0]["images"]["front"].astype(float).mean(axis=2)
    for position in POSITIONS:
        x, y = spot_of(position)
        row, column = pixel(FRONT, (x, y, 0.0))
        crossing = image[row - 1 : row + 2, column - 1 : column + 2].min()
        between = pixel(FRONT, (x + 0.02 if x < 0.05 else x - 0.02, y - 0.02 if y > -0.05 else y + 0.02, 0.0))
        assert crossing < image[between] - 20


def test_the_wrist_camera_sees_the_held_stone(suite, env):
    key = suite.episode("place_stone", "unperturbed", 0)
    observation, _ = env.reset(options={"episode": key})
    oracle = suite.oracle(env)
    state, goal = oracle.reset(key), env.instance.goals[0]
    while env.state.stones[goal.label].position[2] < 0.04:
        observation = env.step(oracle.act([observation], [state])[0])[0]
    relative = np.subtract(env.state.stones[goal.label].position, env.state.tip)
    row, column = pixel(views(NEUTRAL)["wrist"], relative)
    light = observation["images"]["wrist"][row - 2 : row + 3, column - 2 : column + 3].mean()
    assert light > 150 if goal.colour == "white" else light < 80


def test_a_picture_shows_its_own_moment_however_late_it_is_drawn(suite, env):
    key = suite.episode("capture", "unperturbed", 0)
    start, _ = env.reset(options={"episode": key})
    eager = {camera: start["images"][camera].copy() for camera in suite.cameras}
    later, _ = env.reset(options={"episode": key})
    action = suite.noop(env)
    action[:2] = 0.0
    for _ in range(4):
        now = env.step(action)[0]
    env.reset(options={"episode": suite.episode("place_nearest", "perturbed", 3)})
    for camera in suite.cameras:
        assert np.array_equal(later["images"][camera], eager[camera])
        assert not np.array_equal(now["images"][camera], eager[camera])


def test_observations_can_be_sent_and_pickled(suite, env):
    observation, _ = env.reset(options={"episode": suite.episode("copy_position", "colour", 0)})
    for copy in (plain(observation), pickle.loads(pickle.dumps(observation))):
        assert copy["instruction"] == observation["instruction"]
        assert all(np.array_equal(copy["images"][c], observation["images"][c]) for c in suite.cameras)
        assert np.array_equal(copy["prompt"]["images"]["picture"], observation["prompt"]["images"]["picture"])


def test_only_copy_position_has_a_picture(suite, env):
    for task in suite.tasks():
        observation, _ = env.reset(options={"episode": suite.episode(task, "unperturbed", 0)})
        assert ("prompt" in observation) == (task == "copy_position")


def test_the_goal_picture_shows_each_stone_in_its_place():
    stones = {(0, 0): "black", (2, 3): "white", (4, 4): "black"}
    image, empty = goal_picture(stones), goal_picture({})
    changed = np.any(image != empty, axis=2)
    for position in POSITIONS:
        x, y = spot_of(position)
        row, column = (round(256 * (0.5 + value / 0.216)) for value in (-y, x))
        patch = image[row - 4 : row + 4, column - 4 : column + 4].mean()
        assert changed[row, column] == (position in stones)
        if position in stones:
            assert patch > 200 if stones[position] == "white" else patch < 90


def test_the_renderers_agree_on_the_scene(bomb, bomb_env):
    bomb_env.reset(options={"episode": bomb.episode("copy_position", "unperturbed", 0)})
    snapshot, _ = bomb_env.world.snapshot()
    rays = MujocoStage(IMAGE_PX, IMAGE_PX, "rays").picture(snapshot, "front").astype(int)
    usual = bomb_env.world.picture((snapshot, False), "front").astype(int)
    assert np.mean(np.abs(rays - usual).max(axis=2) > 40) < 0.02


@pytest.mark.parametrize("texture", TABLE_TEXTURES)
def test_table_textures_keep_to_their_colour(texture):
    image = table_image(texture, (0.5, 0.4, 0.3)) / 255
    assert image.shape == (512, 512, 3)
    assert np.all(image.mean(axis=(0, 1)) < np.array([0.52, 0.42, 0.32]))
    assert np.all(image.mean(axis=(0, 1)) > 0.6 * np.array([0.5, 0.4, 0.3]))


def test_textures_differ():
    assert len({table_image(name, None).tobytes() for name in TABLE_TEXTURES}) == len(TABLE_TEXTURES)
    assert len({board_image(name, None).tobytes() for name in BOARD_TEXTURES}) == len(BOARD_TEXTURES)
