"""A Gymnasium environment behind our contract, in whatever interpreter has it."""

from __future__ import annotations

import hashlib
import importlib
import json
import re
import sys
from typing import Any
from urllib.parse import parse_qsl

import gymnasium
import numpy as np

STEPS = 300  # where neither the environment nor the text has a limit
INSTRUCTIONS = ("instruction", "task_description", "mission", "language")
OURS = ("instruction", "max_steps", "success_return", "at")  # parameters that are not the environment's


class World:
    """One environment, made with the parameters behind the question mark."""

    def __init__(self, task: str, text: str, path: list[str]) -> None:
        sys.path.extend(entry for entry in path if entry not in sys.path)
        self.id, _, query = text.partition("?")
        given = {name: _value(value) for name, value in parse_qsl(query, keep_blank_values=True)}
        self.ours = {name: given.pop(name, None) for name in OURS}
        module, _, name = self.id.rpartition(":")
        if module:
            importlib.import_module(module)  # it registers the id
        spec = gymnasium.spec(name)
        self.limit = int(self.ours["max_steps"] or spec.max_episode_steps or STEPS)
        given = {**given, "max_episode_steps": self.limit, "disable_env_checker": True}
        try:
            self.env, self.draws = gymnasium.make(name, render_mode="rgb_array", **given), True
        except Exception:  # there are as many ways to refuse a render mode as environments
            self.env, self.draws = gymnasium.make(name, **given), False

    def describe(self) -> list[dict[str, Any]]:
        """One task. Whether a seed is heeded is tried out: the same one must give the same start after another."""
        self.reset(1, {})
        first = self.digest()
        self.reset(2, {})
        self.reset(1, {})
        return [
            {
                "name": "default",
                "tasks": [re.sub(r"[^A-Za-z0-9_.-]+", "_", self.id).strip("_")],
                "max_steps": self.limit,
                "seeded": self.digest() == first,
                "action": described(self.env.action_space),
            }
        ]

    def reset(self, seed: int, episode: dict[str, Any]) -> dict[str, Any]:
        self.seen, info = self.env.reset(seed=seed)
        self.sum, self.text = 0.0, self._instruction(info)
        return self._observe()

    def step(self, action: Any) -> tuple[dict[str, Any], bool, dict[str, Any]]:
        if isinstance(self.env.action_space, gymnasium.spaces.Discrete):
            action = int(np.asarray(action))
        self.seen, reward, terminated, _, info = self.env.step(action)
        self.sum += float(reward)
        return self._observe(), bool(terminated), {"success": self._success(info, bool(terminated), float(reward))}

    def digest(self) -> str:
        """Of what is observed, and of the state of MuJoCo where there is one."""
        text = hashlib.blake2b(digest_size=16)
        for name, value in sorted(leaves(self.seen)):
            text.update(name.encode() + np.ascontiguousarray(value).tobytes())
        data = getattr(self.env.unwrapped, "data", None)
        for name in ("qpos", "qvel"):
            if hasattr(data, name):
                text.update(np.ascontiguousarray(getattr(data, name)).tobytes())
        return text.hexdigest()

    def close(self) -> None:
        self.env.close()

    def _success(self, info: dict[str, Any], terminated: bool, reward: float) -> bool:
        """What the environment says; else the return that was asked for; else an end that is rewarded."""
        for name in ("success", "is_success"):
            if name in info:
                return bool(np.asarray(info[name]).all())
        wanted = self.ours["success_return"]
        return self.sum >= float(wanted) if wanted is not None else terminated and reward > 0

    def _instruction(self, info: dict[str, Any]) -> str:
        if self.ours["instruction"] is not None:
            return str(self.ours["instruction"])
        for place in (self.seen if isinstance(self.seen, dict) else {}, info):
            for name in INSTRUCTIONS:
                if isinstance(place.get(name), str):
                    return str(place[name])
        for name in INSTRUCTIONS:
            if isinstance(getattr(self.env.unwrapped, name, None), str):
                return str(getattr(self.env.unwrapped, name))
        return ""

    def _observe(self) -> dict[str, Any]:
        images: dict[str, Any] = {}
        state: dict[str, Any] = {}
        for name, value in leaves(self.seen):
            if value.ndim == 3 and value.dtype == np.uint8 and value.shape[2] == 3:
                images[name] = value
            else:
                state[name] = value.astype(np.float32).reshape(-1)
        if not images and self.draws:
            images["render"] = self._picture
        return {"images": images, "state": state, "instruction": self.text}

    def _picture(self) -> Any:
        return np.asarray(self.env.render(), np.uint8)


def leaves(value: Any, name: str = "observation") -> list[tuple[str, Any]]:
    """The arrays of an observation by name; texts are no arrays."""
    if isinstance(value, dict):
        return [leaf for key, item in value.items() for leaf in leaves(item, str(key))]
    if isinstance(value, tuple):
        return [leaf for number, item in enumerate(value) for leaf in leaves(item, f"{name}_{number}")]
    array = np.asarray(value)
    return [(name, array)] if array.dtype.kind in "fiub" else []


def described(space: Any) -> dict[str, Any]:
    if isinstance(space, gymnasium.spaces.Box):
        return {"kind": "Box", "low": space.low.tolist(), "high": space.high.tolist(), "dtype": str(space.dtype)}
    if isinstance(space, gymnasium.spaces.Discrete):
        return {"kind": "Discrete", "n": int(space.n), "start": int(space.start)}
    if isinstance(space, gymnasium.spaces.Dict):
        return {"kind": "Dict", "parts": {str(name): described(part) for name, part in space.spaces.items()}}
    raise TypeError(f"actions in a {type(space).__name__} are not supported: Box, Discrete and Dict are")


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
