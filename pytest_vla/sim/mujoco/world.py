"""The physics of one episode: a model from MJCF, steps, poses, a digest, and snapshots to draw from."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pytest_vla.sim.mujoco.renderers import MujocoError, load_mujoco
from pytest_vla.sim.pose import Pose

SHADOW_MAP_PX = 2048

Image = NDArray[np.uint8]
Array = NDArray[np.float64]


def drawn_state() -> int:
    """Which parts of a state pictures depend on, in the library's own bits."""
    parts = load_mujoco().mjtState
    return int(parts.mjSTATE_PHYSICS) | int(parts.mjSTATE_MOCAP_POS) | int(parts.mjSTATE_MOCAP_QUAT)


@dataclass(frozen=True, eq=False, slots=True)
class Snapshot:
    """One moment of a world, enough to draw it at any later time."""

    model: Any
    state: Array


class MujocoWorld:
    """Bodies that fall, touch and push. `load` starts from nothing, so episodes cannot reach each other."""

    def __init__(self) -> None:
        self._mj = load_mujoco()
        self._drawn_spec, self._full_spec = drawn_state(), int(self._mj.mjtState.mjSTATE_INTEGRATION)
        self.model: Any = None
        self.data: Any = None

    def load(self, scene: Any, textures: Mapping[str, Image] | None = None) -> None:
        """Compile a scene, MJCF text or an `MjSpec`. Textures are declared as flat ones and painted by name."""
        mj = self._mj
        try:
            self.model = mj.MjModel.from_xml_string(scene) if isinstance(scene, str) else scene.compile()
        except ValueError as error:
            raise MujocoError(f"the scene does not compile: {error}") from error
        # The library's own quality settings cost 30 to 60 times as much for a picture.
        self.model.vis.quality.offsamples = 0
        self.model.vis.quality.shadowsize = SHADOW_MAP_PX
        for name, image in (textures or {}).items():
            self._paint(name, image)
        self.data = mj.MjData(self.model)
        mj.mj_forward(self.model, self.data)
        self._full = np.empty(mj.mj_stateSize(self.model, self._full_spec))
        self._drawn_size: int = mj.mj_stateSize(self.model, self._drawn_spec)

    def _paint(self, name: str, image: Image) -> None:
        model = self.model
        number = self._mj.mj_name2id(model, self._mj.mjtObj.mjOBJ_TEXTURE, name)
        if number < 0:
            raise MujocoError(f"the scene has no texture '{name}'")
        shape = (int(model.tex_height[number]), int(model.tex_width[number]), int(model.tex_nchannel[number]))
        if image.shape != shape:
            raise MujocoError(f"texture '{name}' is declared as {shape} and painted as {image.shape}")
        start = int(model.tex_adr[number])
        model.tex_data[start : start + image.size] = image.ravel()

    def step(self, count: int = 1) -> None:
        """Let `count` time steps pass."""
        self._mj.mj_step(self.model, self.data, count)

    def forward(self) -> None:
        """Make what follows from positions true again after they were written."""
        self._mj.mj_forward(self.model, self.data)

    def kinematics(self) -> None:
        """Make the poses of bodies follow from the joints; unlike `forward`, it leaves no trace in what comes next."""
        self._mj.mj_kinematics(self.model, self.data)

    def pose(self, body: str) -> Pose:
        """Where a body is, as of the last `kinematics`."""
        found = self.data.body(body)
        x, y, z = found.xpos.tolist()
        w, *turn = found.xquat.tolist()
        return Pose((x, y, z), (*turn, w))

    def names(self, kind: Literal["body", "joint"]) -> list[str]:
        """What the named bodies (but for the ground) or joints are called, in the order of the model."""
        count, one = (self.model.nbody, self.model.body) if kind == "body" else (self.model.njnt, self.model.joint)
        return [name for number in range(count) if (name := one(number).name) not in ("", "world")]

    def joint(self, name: str) -> int:
        """Where a joint's numbers start in `data.qpos`."""
        number = self._mj.mj_name2id(self.model, self._mj.mjtObj.mjOBJ_JOINT, name)
        if number < 0:
            raise MujocoError(f"the scene has no joint '{name}'")
        return int(self.model.jnt_qposadr[number])

    def digest(self) -> str:
        """A hash of everything the next step depends on, in the library's own order."""
        self._mj.mj_getState(self.model, self.data, self._full, self._full_spec)
        return hashlib.blake2b(self._full.data, digest_size=16).hexdigest()

    def snapshot(self) -> Snapshot:
        """This moment, for a picture."""
        state = np.empty(self._drawn_size)
        self._mj.mj_getState(self.model, self.data, state, self._drawn_spec)
        return Snapshot(self.model, state)
