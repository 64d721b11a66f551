"""One task of robosuite, as it is installed. It runs in the environment `robosuite`."""

from __future__ import annotations

import hashlib
import logging
from functools import partial
from typing import Any

import numpy as np

logging.disable(logging.WARNING)  # upstream recommends a private file of macros, at every import
import robosuite  # noqa: E402

ROBOT = "Panda"
CONTROL_HZ = 20


class World:
    """Upstream's environment with its default controller; a reset begins from the seed alone."""

    def __init__(self, task: str, instruction: str, arms: int, image_px: int) -> None:
        self.instruction, self.arms, self.image_px = instruction, arms, image_px
        self.env = robosuite.make(
            task,
            robots=[ROBOT] * arms,
            control_freq=CONTROL_HZ,
            use_camera_obs=False,  # pictures are drawn when somebody looks at them
            has_offscreen_renderer=True,
            has_renderer=False,
            renderer="mujoco",
            ignore_done=True,  # upstream's own horizon is none of ours
        )
        hands = {f"wrist{number or ''}": f"robot{number}_eye_in_hand" for number in range(arms)}
        self.cameras = {"agentview": "agentview", **hands}

    def reset(self, seed: int, episode: dict[str, Any]) -> dict[str, Any]:
        """Upstream takes a seed once, when it is made, and goes on drawing from there: reset() has none.

        Everything that draws (sizes, places, noise of the joints) holds the same generator, which is set anew here. A
        hard reset makes the model again, because sizes are drawn too.
        """
        self.env.rng.bit_generator.state = np.random.default_rng(seed).bit_generator.state
        np.random.seed(seed)
        self.seen = self.env.reset()
        return self._observe()

    def step(self, action: Any) -> tuple[dict[str, Any], bool, dict[str, Any]]:
        self.seen, _, ended, _ = self.env.step(np.asarray(action, np.float64))
        return self._observe(), bool(ended), {"success": bool(self.env._check_success())}

    def digest(self) -> str:
        data, model = self.env.sim.data._data, self.env.sim.model._model
        text = hashlib.blake2b(digest_size=16)
        for part in (data.qpos, data.qvel, data.act, model.geom_size, model.body_pos, model.body_mass):
            text.update(np.ascontiguousarray(part).tobytes())
        return text.hexdigest()

    def features(self) -> dict[str, float]:
        """Where the things are, as upstream's own observation has it."""
        places = {name: value for name, value in self.seen.items() if name.endswith("_pos") and _is_a_thing(name)}
        return {
            f"{name[:-4]}_{axis}": round(float(value), 4)
            for name, place in places.items()
            for axis, value in zip("xyz", place, strict=True)
        }

    def picture(self, camera: str) -> Any:
        """Upright: what the simulator draws has its first row at the bottom."""
        image = self.env.sim.render(camera_name=self.cameras[camera], width=self.image_px, height=self.image_px)
        return np.ascontiguousarray(image[::-1])

    def close(self) -> None:
        self.env.close()

    def _observe(self) -> dict[str, Any]:
        state = {f"robot{number or ''}": self._hand(f"robot{number}_") for number in range(self.arms)}
        return {
            "images": {camera: partial(self.picture, camera) for camera in self.cameras},
            "state": {**state, "object": self.seen["object-state"].astype(np.float32)},
            "instruction": self.instruction,
        }

    def _hand(self, prefix: str) -> Any:
        parts = [self.seen.get(prefix + name, ()) for name in ("eef_pos", "eef_quat", "gripper_qpos")]
        return np.concatenate([np.asarray(part, np.float32) for part in parts])


def _is_a_thing(name: str) -> bool:
    return not name.startswith(("robot", "gripper")) and "_to_" not in name
