"""What the perturbation axes mean in LIBERO: plain data for `edits.py`, which changes the simulation accordingly."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from pytest_vla.episode import EpisodeKey
from pytest_vla.perturb import COLOURS, CONTRADICTION, Perturbation, scene_edits

from .assets import instruction, tasks

Changes = Mapping[str, Any]
Row = Callable[[Changes, Any, EpisodeKey, np.random.Generator], Changes]


def changes(episode: EpisodeKey) -> Changes:
    """What is off about an episode; nothing where it has no perturbation."""
    nothing: Changes = {}
    found = scene_edits(TABLE, nothing, episode, episode)
    level = Perturbation.parse(episode.perturbation).level(CONTRADICTION)
    return {**found, "instruction": _other_instruction(episode, level)} if level else found


def _other_instruction(episode: EpisodeKey, level: int) -> str:
    """That of another task of the partition in the same kind of scene where there is one."""
    others = [task for task in tasks()[episode.partition] if task != episode.task]
    scene = episode.task.partition("SCENE")[0]
    alike = [task for task in others if task.partition("SCENE")[0] == scene] or others
    return instruction(alike[(level - 1) % len(alike)])


def _sets(part: str, name: str, times: bool = False) -> Row:
    """A number of a part of the changes, added to what is there, or multiplied with it."""

    def row(before: Changes, value: Any, episode: EpisodeKey, rng: np.random.Generator) -> Changes:
        inner = dict(before.get(part, {}))
        inner[name] = inner.get(name, 1.0) * value if times else inner.get(name, 0.0) + value
        return {**before, part: inner}

    return row


def _whole(name: str) -> Row:
    return lambda before, value, episode, rng: {**before, name: value}


def _tint(before: Changes, share: float, episode: EpisodeKey, rng: np.random.Generator) -> Changes:
    """Warm light lacks that share of its blue, cold light (below 0) of its red, and both some green."""
    weak, middle = 1 - abs(share), 1 - abs(share) / 3
    colour = [1.0, middle, weak] if share >= 0 else [weak, middle, 1.0]
    return {**before, "light": {**before.get("light", {}), "colour": colour}}


def _table_colour(before: Changes, name: str, episode: EpisodeKey, rng: np.random.Generator) -> Changes:
    return {**before, "table": {**before.get("table", {}), "colour": list(COLOURS[name])}}


def _pattern(part: str) -> Row:
    return lambda before, number, episode, rng: {**before, part: {**before.get(part, {}), "pattern": number}}


def _things(only_manipulated: bool) -> Row:
    def row(before: Changes, distance_m: float, episode: EpisodeKey, rng: np.random.Generator) -> Changes:
        seed = int(rng.integers(1 << 31))
        return {**before, "objects": {"distance": distance_m, "seed": seed, "only_manipulated": only_manipulated}}

    return row


def _robot_start(before: Changes, distance_m: float, episode: EpisodeKey, rng: np.random.Generator) -> Changes:
    angle = rng.uniform(0, 2 * math.pi)
    return {**before, "robot_start": [distance_m * math.cos(angle), distance_m * math.sin(angle), 0.0]}


TABLE: Mapping[str, Row] = {
    "camera.shift": _sets("camera", "shift"),
    "camera.lift": _sets("camera", "lift"),
    "camera.distance": _sets("camera", "distance", times=True),
    "camera.yaw": _sets("camera", "yaw"),
    "camera.orbit": _sets("camera", "yaw"),
    "camera.pitch": _sets("camera", "pitch"),
    "camera.roll": _sets("camera", "roll"),
    "camera.fov": _sets("camera", "fov", times=True),
    "light.direction": _sets("light", "azimuth"),
    "light.brightness": _sets("light", "brightness", times=True),
    "light.colour": _tint,
    "light.shadow": _sets("light", "shadow"),
    "appearance.table_colour": _table_colour,
    "appearance.table_texture": _pattern("table"),
    "appearance.background": _pattern("background"),
    "appearance.reflectivity": _whole("specular"),
    "layout.objects": _things(only_manipulated=False),
    "layout.manipulated": _things(only_manipulated=True),
    "object.mass": _whole("mass"),
    "object.friction": _whole("friction"),
    "robot.start": _robot_start,
}
