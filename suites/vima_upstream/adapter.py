"""An adapter on the package `vima_bench`: its environments behind our contract, on the cells of our suite."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from pytest_vla.episode import EpisodeKey
from pytest_vla.policies.base import Observation, Policy
from pytest_vla.suite import Requirement, Suite, Termination

SEED_BITS = 31
VIEWS = ("front", "top")


class VimaUpstreamSuite(Suite):
    """The cells, limits and spaces of `vima`, played on the original."""

    name = "vima_upstream"
    version = "1"
    only_by_name = True
    termination = Termination.ON_SUCCESS
    requires = (Requirement("vima_bench", "pip install git+https://github.com/vimalabs/VIMABench"),)
    cameras = ("top", "front")
    state_keys = ("ee",)
    test_file = Path(__file__).parent / "test_vima_upstream.py"

    def cells(self) -> Sequence[tuple[str, str]]:
        return _ours().cells()

    def default_partitions(self) -> Sequence[str]:
        return _ours().default_partitions()

    def step_limit(self, task: str) -> int:
        return _ours().step_limit(task)

    def env_group(self, task: str) -> str:
        return self.name

    def make_env(self, task: str) -> gymnasium.Env[Any, Any]:
        return UpstreamAdapter()

    def oracle(self, env: gymnasium.Env[Any, Any]) -> Policy:
        return _UpstreamOracle(_adapter(env))

    def noop(self, env: gymnasium.Env[Any, Any]) -> Any:
        """A pick, or a short push, in the corner nearest to the robot's right."""
        up = np.array([0, 0, 0, 1], dtype=np.float32)
        start, end = np.array([0.25, -0.5], dtype=np.float32), np.array([0.25, -0.49], dtype=np.float32)
        return {"pose0_position": start, "pose0_rotation": up, "pose1_position": end, "pose1_rotation": up}

    def digest(self, env: gymnasium.Env[Any, Any]) -> str:
        return _adapter(env).digest()


def _ours() -> Suite:
    from ..vima import suite

    return suite()


def _adapter(env: gymnasium.Env[Any, Any]) -> UpstreamAdapter:
    inner = env.unwrapped
    assert isinstance(inner, UpstreamAdapter), f"expected the adapter's own environment, got {type(inner).__name__}"
    return inner


class UpstreamAdapter(gymnasium.Env[Any, Any]):
    """One original environment at a time, made anew when the task or the partition changes."""

    def __init__(self) -> None:
        from ..vima.env import action_space, observation_space

        self.action_space, self.observation_space = action_space(), observation_space()
        self.inner: Any = None
        self._cell: tuple[str, str] | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Any]:
        episode: EpisodeKey = (options or {})["episode"]
        # The original keeps a tolerance from one episode to the next in these tasks, so they get a new environment.
        leaky = episode.task in ("same_texture", "same_shape")
        if self._cell != (episode.task, episode.partition) or leaky:
            self._make(episode)
        self.inner.unwrapped.global_seed = episode.seed() >> (128 - SEED_BITS)
        self._last = self.inner.reset()
        return self._observe(), {}

    def _make(self, episode: EpisodeKey) -> None:
        import vima_bench

        self.close()
        specs = vima_bench.PARTITION_TO_SPECS
        group = specs["train"] if episode.partition == "train" else specs["test"][episode.partition]
        self.inner = vima_bench.make(episode.task, task_kwargs=group[episode.task], modalities=["rgb", "segm"])
        self._cell = (episode.task, episode.partition)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self._last, _, done, info = self.inner.step(action)
        facts: dict[str, Any] = {"success": bool(info["success"])}
        if info["failure"]:
            facts |= {"failure": "constraint_violated", "message": "the original judged this a failure"}
        return self._observe(), float(facts["success"]), bool(done), False, facts

    def digest(self) -> str:
        """Of what can be seen: the original does not give its physical state away."""
        text = hashlib.blake2b(digest_size=16)
        for view in VIEWS:
            text.update(np.ascontiguousarray(self._last["rgb"][view]).tobytes())
        return text.hexdigest()

    def close(self) -> None:
        if self.inner is not None:
            self.inner.close()
            self.inner, self._cell = None, None

    def _observe(self) -> dict[str, Any]:
        seen, env = self._last, self.inner.unwrapped
        return {
            "images": {view: np.ascontiguousarray(np.moveaxis(seen["rgb"][view], 0, -1)) for view in VIEWS},
            "segmentation": {view: np.asarray(seen["segm"][view], dtype=np.uint8) for view in VIEWS},
            "state": {"ee": np.array([int(seen["ee"])], dtype=np.float32)},
            "instruction": str(env.prompt),
            "prompt": UpstreamPrompt(str(env.prompt), env.prompt_assets),
        }


@dataclass(frozen=True)
class UpstreamPrompt:
    """The original's prompt in our reading order: (text, image or None) pairs; images as the original gives them."""

    text: str
    assets: dict[str, Any]

    def pieces(self) -> list[tuple[str, Any]]:
        parts = re.split(r"\{(\w+)\}", self.text)
        return [(part, self.assets[part] if i % 2 else None) for i, part in enumerate(parts) if part]


class _UpstreamOracle(Policy):
    """The original's scripted expert."""

    def __init__(self, env: UpstreamAdapter) -> None:
        self.env = env

    def act(self, observations: Sequence[Observation], states: Sequence[Any]) -> Sequence[Any]:
        inner = self.env.inner.unwrapped
        return [inner.task.oracle(inner).act(self.env._last) for _ in observations]
