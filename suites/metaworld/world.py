"""One task of MetaWorld, as it is installed. It runs in the environment `metaworld`."""

from __future__ import annotations

import hashlib
import pickle
from typing import Any

import numpy as np
from metaworld.env_dict import ALL_V3_ENVIRONMENTS
from metaworld.policies import ENV_POLICY_MAP
from metaworld.types import Task

CAMERA = "corner2"


class World:
    """Upstream's environment; `set_task` places its things, since `reset(seed)` is ignored."""

    def __init__(self, task: str, instruction: str, image_px: int) -> None:
        self.task, self.instruction = task, instruction
        self.env = ALL_V3_ENVIRONMENTS[task](
            render_mode="rgb_array", camera_name=CAMERA, width=image_px, height=image_px
        )
        self.env.model.light_castshadow[:] = 0  # shadows and multisampling: most of a picture's time
        self.env.model.vis.quality.shadowsize = 0
        self.env.model.vis.quality.offsamples = 0
        self.start = {name: getattr(self.env.model, name).copy() for name in ("body_pos", "body_quat", "site_pos")}

    def reset(self, seed: int, episode: dict[str, Any]) -> dict[str, Any]:
        """Draw the places as upstream draws them, from this seed alone, then set them as upstream's benchmarks do."""
        hidden = episode["partition"].startswith("ml")  # meta-learning: the goal is not in the observation
        self.placed = self._draw(seed)
        data = {"rand_vec": self.placed, "env_cls": type(self.env), "partially_observable": hidden}
        _ = (
            self.env.sawyer_observation_space
        )  # upstream deletes it when the goal is hidden, and fails if it is not there
        self.env.set_task(Task(self.task, pickle.dumps(data)))
        self._clear()
        self.seen, _ = self.env.reset()
        self.expert = ENV_POLICY_MAP[self.task]()
        return self._observe()

    def step(self, action: Any) -> tuple[dict[str, Any], bool, dict[str, Any]]:
        self.seen, _, _, _, info = self.env.step(np.asarray(action, np.float32))
        return self._observe(), False, {"success": bool(info["success"])}  # it only ever ends at the step limit

    def oracle(self) -> Any:
        """Upstream's scripted policy, which is told the goal in every split."""
        seen = self.seen.copy()
        seen[-3:] = self.env._get_pos_goal()
        return np.clip(self.expert.get_action(seen), -1, 1).astype(np.float32)

    def digest(self) -> str:
        text = hashlib.blake2b(digest_size=16)
        data, model = self.env.data, self.env.model
        for part in (
            data.qpos,
            data.qvel,
            data.mocap_pos,
            data.mocap_quat,
            model.body_pos,
            model.site_pos,
            self.placed,
        ):
            text.update(np.ascontiguousarray(part).tobytes())
        return text.hexdigest()

    def features(self) -> dict[str, float]:
        """Where things were placed: the goal, and the object where the task has one, as upstream draws them."""
        return {f"placed_{number}": round(float(value), 4) for number, value in enumerate(self.placed)}

    def close(self) -> None:
        self.env.close()

    def _draw(self, seed: int) -> Any:
        state = np.random.get_state()
        np.random.seed(seed)
        self.env._set_task_called, self.env._freeze_rand_vec = True, False
        self._clear()
        self.env.reset()
        np.random.set_state(state)
        return np.array(self.env._last_rand_vec)

    def _clear(self) -> None:
        """What upstream's reset leaves of the episode before: the solver's last guess, moved bodies, the gripper."""
        import mujoco

        mujoco.mj_resetData(self.env.model, self.env.data)
        for name, value in self.start.items():
            getattr(self.env.model, name)[:] = value

    def _observe(self) -> dict[str, Any]:
        seen = self.seen.astype(np.float32)
        return {
            "images": {CAMERA: self._picture},
            "state": {"hand": seen[:4], "observation": seen},
            "instruction": self.instruction,
        }

    def _picture(self) -> Any:
        """The camera is mounted upside down: turned by 180 degrees, which unlike a flip does not mirror the scene."""
        return self.env.render()[::-1, ::-1]
