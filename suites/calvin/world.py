"""CALVIN behind a small contract: the play table of scene D from a checkout of mees/calvin, run chain by chain.

It runs in the environment `calvin`; the checkout has the simulation, the tasks' checker and the instructions.
"""

from __future__ import annotations

import hashlib
import importlib
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

CAMERAS = {"static": "rgb_static", "gripper": "rgb_gripper"}
SUBTASK_STEPS = 360


class World:
    """One chain of tasks at a time. The simulation is made anew for each: Bullet's solver remembers what it did before.

    Args:
        task: what the suite calls its one task; chains come with the episode.
        root: the checkout of mees/calvin, with calvin_env in it.
        subtask_steps: how many actions each task of a chain may take.
    """

    def __init__(self, task: str, *, root: str, subtask_steps: int = SUBTASK_STEPS) -> None:
        self.root, self.subtask_steps = Path(root), subtask_steps
        sys.path.append(str(self.root / "calvin_env"))
        self.env: Any = None
        conf = self.root / "calvin_models" / "conf"
        hydra, omega = importlib.import_module("hydra"), importlib.import_module("omegaconf").OmegaConf
        self.checker = hydra.utils.instantiate(omega.load(conf / "callbacks/rollout/tasks/new_playtable_tasks.yaml"))
        self.annotations = omega.to_container(omega.load(conf / "annotations/new_playtable_validation.yaml"))

    def reset(self, seed: int, episode: dict[str, Any]) -> dict[str, Any]:
        """Start the chain of `episode["chain"]` in its scene; the seed has nothing to decide."""
        self.close()
        self.env = make_env(self.root)
        given = episode["chain"]
        self.chain: list[str] = list(given["tasks"])
        self.env.reset(robot_obs=np.array(given["robot"]), scene_obs=np.array(given["scene"]))
        self.done = 0
        self._begin()
        return self._observation()

    def _begin(self) -> None:
        """The next task: success is what has changed since now."""
        self.start, self.steps = self.env.get_info(), 0

    def step(self, action: Any) -> tuple[dict[str, Any], bool, dict[str, Any]]:
        action = np.array(action, dtype=np.float64)
        action[6] = 1.0 if action[6] > 0 else -1.0  # the original takes nothing in between: +1 opens
        *_, now = self.env.step(action)
        self.steps += 1
        task = self.chain[self.done]
        info: dict[str, Any] = {"success": False}
        if self.checker.get_task_info_for_set(self.start, now, {task}):
            self.done += 1
            info["success"] = self.done == len(self.chain)
            if not info["success"]:
                self._begin()
        elif self.steps == self.subtask_steps:
            message = f"{self.done} of {len(self.chain)} tasks done; {task} was not within {self.subtask_steps} steps"
            info |= {"failure": "step_limit", "message": message}
        return self._observation(), bool(info["success"] or "failure" in info), info

    def digest(self) -> str:
        seen = self.env.get_state_obs()
        parts = (
            seen["robot_obs"],
            seen["scene_obs"],
            self.env.robot.target_pos,
            self.env.robot.target_orn,
            [self.done],
        )
        return hashlib.blake2b(
            b"".join(np.asarray(part, float).tobytes() for part in parts), digest_size=16
        ).hexdigest()

    def progress(self) -> float:
        """Five times this is the length of the chain, whose average is CALVIN's score."""
        return self.done / len(self.chain)

    def features(self) -> dict[str, str | float]:
        return {"first": self.chain[0], "chain": " > ".join(self.chain)}

    def picture(self, camera: str) -> Any:
        found = next(each for each in self.env.cameras if each.name == camera)
        return np.ascontiguousarray(found.render()[0], dtype=np.uint8)

    def holding(self) -> list[str]:
        """Every task that what has changed since the present one began counts as done."""
        return sorted(self.checker.get_task_info(self.start, self.env.get_info()))

    def scene(self) -> list[float]:
        return [float(value) for value in self.env.get_state_obs()["scene_obs"]]

    def close(self) -> None:
        if self.env is not None:
            self.env.close()
            self.env.ownsPhysicsClient = False  # its destructor would disconnect once more, and complain
            self.env = None

    def _observation(self) -> dict[str, Any]:
        robot = np.asarray(self.env.get_state_obs()["robot_obs"], dtype=np.float32)
        return {
            "images": {camera: partial(self.picture, camera) for camera in CAMERAS},
            "state": {"robot": robot, "subtask": np.array([self.done], dtype=np.float32)},
            "instruction": str(self.annotations[self.chain[min(self.done, len(self.chain) - 1)]][0]),
        }


def make_env(root: Path) -> Any:
    """The play table as the original evaluates on it, drawn by Bullet's own renderer, without its tactile camera."""
    hydra, omega = importlib.import_module("hydra"), importlib.import_module("omegaconf").OmegaConf
    module: Any = importlib.import_module("calvin_env.envs.play_table_env")
    module.get_git_commit_hash = lambda path: ""  # a checkout need not be a repository
    conf = root / "calvin_env" / "conf"
    robot = omega.merge(*(omega.load(conf / f"robot/{name}.yaml") for name in ("panda", "panda_longer_finger")))
    robot.pop("defaults", None)
    config = omega.create(
        {
            "cameras": {name: omega.load(conf / f"cameras/cameras/{name}.yaml") for name in CAMERAS},
            "robot": robot,
            "scene": omega.load(conf / "scene/calvin_scene_D.yaml"),
            "env": omega.load(conf / "env/play_table_env.yaml"),
            "data_path": str(root / "calvin_env" / "data"),
            "use_vr": False,
        }
    )
    env = hydra.utils.instantiate(config.env, show_gui=False, use_vr=False, use_scene_info=True, use_egl=False)
    env.get_camera_obs = lambda: ({}, {})  # pictures are drawn when looked at
    return env
