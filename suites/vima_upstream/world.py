"""VIMABench itself behind a small contract: a checkout of vimalabs/VIMABench, one environment at a time.

It runs in the environment `vima_upstream`. What is not the original's: time is counted in simulator steps, positions
are clipped into the bounds, and a motion without an end is ended.
"""

from __future__ import annotations

import hashlib
import importlib
import shutil
import sys
import tempfile
import types
from typing import Any

import numpy as np

VIEWS = ("front", "top")
LEAKY = ("same_texture", "same_shape")  # a tolerance outlives the episode: they get a new environment each time
STEPS_PER_S = 2000  # the arm's budget of 5 s a motion, in steps of the simulator: about what an idle core makes
ENDLESS_STEPS = 100_000  # of one action: it is looking for a floor that it will never find
ACTION = ("pose0_position", "pose0_rotation", "pose1_position", "pose1_rotation")


class Endless(Exception):
    """An action that the original would carry out for ever."""


class StepClock:
    """Stands in for the module `time`: looked at once a simulator step, so that the same motion takes the same time."""

    def __init__(self) -> None:
        self.steps = 0

    def time(self) -> float:
        self.steps += 1
        if self.steps > ENDLESS_STEPS:
            raise Endless
        return self.steps / STEPS_PER_S


class World:
    """One task of the original; another partition, or a task that remembers, gets another environment.

    Args:
        task: its name.
        root: the checkout.
    """

    def __init__(self, task: str, *, root: str) -> None:
        if root not in sys.path:
            sys.path.append(root)
        _leave_out("torch", is_tensor=lambda value: False, Tensor=type("Tensor", (), {}))
        _leave_out("kornia")
        self.task, self.env, self.partition = task, None, ""  # type: str, Any, str
        self.folder = tempfile.mkdtemp(prefix="vima_upstream_")
        tempfile.tempdir = self.folder  # where the original leaves what it generates
        self.bench: Any = importlib.import_module("vima_bench")
        self.clock = StepClock()
        importlib.import_module("vima_bench.env.base").time = self.clock  # type: ignore[attr-defined]

    def reset(self, seed: int, episode: dict[str, Any]) -> dict[str, Any]:
        if self.env is None or self.partition != episode["partition"] or self.task in LEAKY:
            self._make(episode["partition"])
        self.env.global_seed = seed
        self.clock.steps = 0
        self.seen = self.env.reset()
        self.by_oracle = False
        return {**self._observation(), "prompt": _prompt(str(self.env.prompt), self.env.prompt_assets)}

    def _make(self, partition: str) -> None:
        self._end()
        specs = self.bench.PARTITION_TO_SPECS
        group = specs["train"] if partition == "train" else specs["test"][partition]
        self.env = self.bench.make(self.task, task_kwargs=group[self.task], modalities=["rgb", "segm"])
        self.partition = partition

    def step(self, action: Any) -> tuple[dict[str, Any], bool, dict[str, Any]]:
        self.clock.steps = 0
        parts = {name: np.asarray(action[name], dtype=np.float32) for name in ACTION}
        wrong = _impossible(parts, push=int(self.seen["ee"]) == 1)
        if wrong:
            return self._observation(), True, {"success": False, "failure": "invalid_action", "message": wrong}
        for name in ACTION:
            space = self.env.action_space[name]
            parts[name] = np.clip(parts[name], space.low, space.high)
        try:
            self.seen, _, done, facts = self.env.step(parts, skip_oracle=not self.by_oracle)
        except Endless:
            self._end()
            message = "the tool never meets the table, and the original descends for ever"
            return self._observation(), True, {"success": False, "failure": "invalid_action", "message": message}
        self.by_oracle = False
        info: dict[str, Any] = {"success": bool(facts["success"])}
        if facts["failure"]:
            info.update(failure="constraint_violated", message="the original judged this a failure")
        return self._observation(), bool(done), info

    def oracle(self) -> dict[str, Any]:
        """The original's expert. Its next move may be one that only an expert makes, so the step is told."""
        self.by_oracle = True
        action = self.env.task.oracle(self.env).act(self.seen)
        if action is None:
            raise RuntimeError("the original's expert sees nothing to move")
        return {name: np.asarray(action[name], dtype=np.float32) for name in ACTION}

    def digest(self) -> str:
        """Of what is seen, and of where everything is."""
        text = hashlib.blake2b(digest_size=16)
        for view in VIEWS:
            text.update(np.ascontiguousarray(self.seen["rgb"][view]).tobytes())
        if self.env is not None:
            pybullet: Any = importlib.import_module("pybullet")
            for body in sorted(body for bodies in self.env.obj_ids.values() for body in bodies):
                pose = pybullet.getBasePositionAndOrientation(body, physicsClientId=self.env.client_id)
                text.update(np.array([*pose[0], *pose[1]]).tobytes())
        return text.hexdigest()

    def close(self) -> None:
        self._end()
        tempfile.tempdir = None
        shutil.rmtree(self.folder, ignore_errors=True)

    def _end(self) -> None:
        if self.env is not None:
            self.env.close()
            self.env = None

    def _observation(self) -> dict[str, Any]:
        seen = self.seen
        return {
            "images": {view: _channels_last(seen["rgb"][view]) for view in VIEWS},
            "segmentation": {view: np.ascontiguousarray(seen["segm"][view], dtype=np.uint8) for view in VIEWS},
            "state": {"ee": np.array([int(seen["ee"])], dtype=np.float32)},
        }


def _leave_out(name: str, **used: Any) -> None:
    """A module that the original imports and does not need, with what little of it is looked at."""
    try:
        importlib.import_module(name)
    except ImportError:
        module = types.ModuleType(name)
        vars(module).update(used)
        sys.modules[name] = module


def _impossible(parts: dict[str, Any], push: bool) -> str:
    """What the original would fail at without a word; empty where there is nothing."""
    for name, values in parts.items():
        if not np.isfinite(values).all():
            return f"{name} is not finite: {values.tolist()}."
    if push and float(np.linalg.norm(parts["pose1_position"] - parts["pose0_position"])) < 1e-6:
        return "pose0_position and pose1_position are the same, so the push has no direction."
    return ""


def _prompt(text: str, assets: dict[str, Any]) -> dict[str, Any]:
    return {"text": text, "assets": {name: _asset(asset) for name, asset in assets.items()}}


def _asset(asset: dict[str, Any]) -> dict[str, Any]:
    shown = asset["segm"]["obj_info"]
    objects = shown if isinstance(shown, list) else [shown]
    return {
        "kind": asset["placeholder_type"],
        "rgb": {view: _channels_last(asset["rgb"][view]) for view in VIEWS},
        "segmentation": {view: np.ascontiguousarray(asset["segm"][view], dtype=np.uint8) for view in VIEWS},
        "objects": {str(each["obj_id"]): [str(each["obj_name"]), str(each["obj_color"])] for each in objects},
    }


def _channels_last(image: Any) -> Any:
    return np.ascontiguousarray(np.moveaxis(np.asarray(image, dtype=np.uint8), 0, -1))
