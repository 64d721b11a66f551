"""LIBERO behind a small contract: one task's simulation, run by the interpreter that has `hf-libero`.

Nothing of pytest-vla is imported here. Observations are those of the original at the very moment at which the original
takes them; pictures are drawn when somebody asks for them, from a copy of that moment.
"""

from __future__ import annotations

import hashlib
import importlib
import io
import pickle
import sys
import zipfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).parent))
edits, oracle, prepare = (importlib.import_module(name) for name in ("edits", "oracle", "prepare"))  # beside this file

CAMERAS = {"agentview": "agentview", "wrist": "robot0_eye_in_hand"}
IMAGE_PX = 256
WAIT_STEPS = 10  # things fall into place before a policy acts
WAIT_ACTION = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.0)
SEED_BITS = 32


class World:
    """One task of LIBERO, kept from episode to episode.

    Args:
        task: the name of its bddl file, without the ending.
        partition: the folder of that file, such as `libero_goal`.
        instruction: what a policy is told.
        assets: the folder with meshes, textures and scenes, which the package does not bring along.
        image_px: height and width of a picture.
        multisampling: samples a pixel; None leaves it as the original has it.
    """

    def __init__(
        self,
        task: str,
        *,
        partition: str,
        assets: str,
        instruction: str,
        image_px: int = IMAGE_PX,
        multisampling: int | None = None,
    ) -> None:
        self.image_px, self.told = image_px, instruction
        folder = Path(prepare.import_libero(assets).__file__).parent
        prepare.replace_absent_styles(Path(assets) / "textures")
        self.init_states = load_init_states(self.init_file(folder / "init_files", partition, task))
        self.bddl = folder / "bddl_files" / partition / f"{task}.bddl"
        from libero.libero.envs import OffScreenRenderEnv

        self.env = OffScreenRenderEnv(
            bddl_file_name=str(self.bddl), camera_heights=image_px, camera_widths=image_px, hard_reset=False
        )
        self.inner = self.env.env  # robosuite's environment
        self.sim = self.inner.sim
        self.goals = self.inner.parsed_problem["goal_state"]
        self._moment = _Moment(self.sim, multisampling)
        self._watch_cameras()
        self._neutral = edits.Neutral(self.inner)
        self._oracle: Any = None

    def init_file(self, folder: Path, partition: str, task: str) -> Path:
        """The file with a task's init states."""
        return folder / partition / f"{task}.pruned_init"

    # --- the contract ------------------------------------------------------------------------------------------------

    def reset(self, seed: int, episode: dict[str, Any]) -> dict[str, Any]:
        """Start from the init state of the episode's index; `episode["edits"]` says what is off about it.

        The original draws where fixtures stand from numpy's global generator, so what came before would count.
        Init states say nothing of them, hence the seed.
        """
        self._neutral.restore(self._moment.context)
        np.random.seed(seed % 2**SEED_BITS)
        self._oracle = None
        self.inner.done = False
        gripper = self.inner.robots[0].gripper  # remembers how far it was closed, in a model that is kept
        gripper.current_action = np.zeros_like(gripper.current_action)
        self.env.reset()
        index = episode["index"] % len(self.init_states)
        changes = episode.get("edits") or {}
        self.instruction = str(changes.get("instruction", self.told))
        state = edits.moved(self.inner, self.init_states[index], changes)
        self._seen = self.env.set_init_state(state)
        edits.apply(self._neutral, changes, self._moment.context)
        for _ in range(WAIT_STEPS):
            self._seen, _, _, _ = self.env.step(np.array(WAIT_ACTION))
        return self._observation()

    def step(self, action: Any) -> tuple[dict[str, Any], bool, dict[str, Any]]:
        self.inner.done = False  # the original's own horizon is none of the published step limits
        self._seen, _, success, _ = self.env.step(np.asarray(action, dtype=np.float64))
        return self._observation(), bool(success), {"success": bool(success)}

    def digest(self) -> str:
        data = self.sim.data._data
        fixtures = self.sim.model.body_pos.tobytes() + self.sim.model.body_quat.tobytes()
        state = b"".join(np.asarray(part).tobytes() for part in (data.qpos, data.qvel, data.ctrl, data.act))
        return hashlib.blake2b(fixtures + state, digest_size=16).hexdigest()

    def progress(self) -> float:
        """The share of the goal's predicates that hold."""
        return float(np.mean([bool(self.inner._eval_predicate(goal)) for goal in self.goals]))

    def picture(self, camera: str) -> Any:
        """What a camera shows of the latest observation, turned by 180 degrees as policies know it."""
        image = self._moment.render(CAMERAS[camera], self.image_px)
        return np.ascontiguousarray(image[::-1, ::-1])

    def oracle(self) -> Any:
        """The next action of an expert that knows where everything is."""
        if self._oracle is None:
            self._oracle = oracle.Oracle(self.inner)
        return self._oracle.act().astype(np.float32)

    def features(self) -> dict[str, str | float]:
        first = self.goals[0]
        return {"predicates": float(len(self.goals)), "first": str(first[0]), "thing": str(first[1])}

    def close(self) -> None:
        self.env.close()

    # --- observations ------------------------------------------------------------------------------------------------

    def _observation(self) -> dict[str, Any]:
        seen = self._seen
        parts = (seen["robot0_eef_pos"], axis_angle(seen["robot0_eef_quat"]), seen["robot0_gripper_qpos"])
        return {
            "images": {camera: partial(self.picture, camera) for camera in CAMERAS},
            "state": {"robot": np.concatenate(parts).astype(np.float32)},
            "instruction": self.instruction,
        }

    def _watch_cameras(self) -> None:
        """Keep the moment at which the original would draw its pictures, and draw none of them."""
        from robosuite.utils.observables import sensor

        def take(cache: Any) -> Any:
            self._moment.take()
            return np.zeros(1)

        def nothing(cache: Any) -> Any:
            return np.zeros(1)

        as_image = sensor(modality="image")

        first, *others = CAMERAS.values()
        self.inner.modify_observable(f"{first}_image", "sensor", as_image(take))
        for camera in others:
            self.inner.modify_observable(f"{camera}_image", "sensor", as_image(nothing))


class _Moment:
    """A copy of the simulation that can be drawn later, with what the original changes about its looks on the way."""

    def __init__(self, sim: Any, multisampling: int | None) -> None:
        import mujoco

        self.sim, self.model = sim, sim.model._model
        self.data = mujoco.MjData(self.model)
        self.context = sim._render_context_offscreen
        if multisampling is not None:
            self.model.vis.quality.offsamples = multisampling
            self.context.con.free()
            self.context._set_mujoco_context_and_buffers()
        self.take()

    def take(self) -> None:
        import mujoco

        mujoco.mj_copyData(self.data, self.model, self.sim.data._data)
        self.site_rgba = self.model.site_rgba.copy()

    def render(self, camera: str, px: int) -> Any:
        now, rgba = self.context.data, self.model.site_rgba.copy()
        self.context.data = _Held(self.data)
        self.model.site_rgba[:] = self.site_rgba
        try:
            return self.sim.render(camera_name=camera, width=px, height=px)
        finally:
            self.context.data = now
            self.model.site_rgba[:] = rgba


class _Held:
    def __init__(self, data: Any) -> None:
        self._data = data


def axis_angle(quaternion: Any) -> Any:
    """Of a quaternion with its scalar last, as the original's own conversion has it: w below zero is not turned."""
    w = float(np.clip(quaternion[3], -1.0, 1.0))
    sine = np.sqrt(1.0 - w * w)
    if np.isclose(sine, 0.0):
        return np.zeros(3)
    return np.asarray(quaternion[:3]) * 2.0 * np.arccos(w) / sine


def load_init_states(path: Path) -> Any:
    """What torch wrote there, without torch: a numpy array in a zipped pickle, and nothing else is let in."""
    with zipfile.ZipFile(path) as archive:
        name = next(name for name in archive.namelist() if name.endswith("data.pkl"))
        return np.atleast_2d(np.asarray(_ArraysOnly(io.BytesIO(archive.read(name))).load()))


class _ArraysOnly(pickle.Unpickler):
    _ALLOWED = (
        *((module, "_reconstruct") for module in ("numpy.core.multiarray", "numpy._core.multiarray")),
        *((module, "scalar") for module in ("numpy.core.multiarray", "numpy._core.multiarray")),
        ("numpy", "ndarray"),
        ("numpy", "dtype"),
        ("_codecs", "encode"),
    )

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in self._ALLOWED:
            raise pickle.UnpicklingError(f"init states hold arrays only, not {module}.{name}")
        return super().find_class(module.replace("numpy.core", "numpy._core"), name)
