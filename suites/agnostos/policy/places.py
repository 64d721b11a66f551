"""Where things are, as the cameras see them: the mean of what each sees of a thing, and then over the cameras."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_vla.policies.base import Observation

from .grid import Code, cell_of

Points = NDArray[np.float32]


def seen_points(observation: Observation) -> dict[str, list[Points]]:
    """For each thing that is seen its points in the room, an array for each camera that sees it."""
    scan = observation["scan"]
    found: dict[str, list[Points]] = {}
    for camera in scan["cameras"].values():
        points = points_of(camera)
        for number in np.unique(camera["mask"]):
            if number:
                found.setdefault(scan["things"][number - 1], []).append(points[camera["mask"] == number])
    return {name: found[name] for name in scan["things"] if name in found}


def places_of(observation: Observation) -> dict[str, Code]:
    """The cell of each thing that is seen."""
    return {
        name: cell_of(np.mean([points.mean(axis=0) for points in of_cameras], axis=0))
        for name, of_cameras in seen_points(observation).items()
    }


def points_of(camera: Mapping[str, Any]) -> Points:
    """The place in the room of each pixel."""
    depth, intrinsics, pose = camera["depth"], camera["intrinsics"], camera["pose"]
    height, width = depth.shape
    x = (np.arange(width) + 0.5 - intrinsics[0, 2]) / intrinsics[0, 0]
    y = (np.arange(height) + 0.5 - intrinsics[1, 2]) / intrinsics[1, 1]
    across, down = np.meshgrid(x, y)
    local = np.stack([across * depth, down * depth, depth], axis=-1)
    return np.asarray(local @ pose[:3, :3].T + pose[:3, 3], np.float32)
