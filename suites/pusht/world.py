"""PushT, as it is installed. It runs in the environment `pusht`."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from gym_pusht.envs.pusht import PushTEnv


class World:
    """Upstream's environment; its `reset(seed)` decides the start, whatever was before."""

    def __init__(self, task: str, instruction: str, image_px: int) -> None:
        self.instruction = instruction
        self.env = PushTEnv(obs_type="state", observation_width=image_px, observation_height=image_px)

    def reset(self, seed: int, episode: dict[str, Any]) -> dict[str, Any]:
        self.env.reset(seed=seed)
        self.coverage = float(self.env._get_coverage())
        return self._observe()

    def step(self, action: Any) -> tuple[dict[str, Any], bool, dict[str, Any]]:
        _, _, terminated, _, info = self.env.step(np.asarray(action, np.float32))
        self.coverage = float(info["coverage"])
        return self._observe(), bool(terminated), {"success": bool(info["is_success"])}

    def progress(self) -> float:
        """Upstream's reward: the covered share, of the share that is needed."""
        return float(np.clip(self.coverage / self.env.success_threshold, 0.0, 1.0))

    def digest(self) -> str:
        agent, block = self.env.agent, self.env.block
        numbers = [*agent.position, *agent.velocity, *block.position, *block.velocity]
        numbers += [block.angle, block.angular_velocity]
        return hashlib.blake2b(np.array(numbers, np.float64).tobytes(), digest_size=16).hexdigest()

    def features(self) -> dict[str, float]:
        agent, block = self.env.agent, self.env.block
        return {
            "agent_x": round(float(agent.position[0]), 2),
            "agent_y": round(float(agent.position[1]), 2),
            "block_x": round(float(block.position[0]), 2),
            "block_y": round(float(block.position[1]), 2),
            "block_angle": round(float(block.angle), 4),
        }

    def close(self) -> None:
        self.env.close()

    def _observe(self) -> dict[str, Any]:
        corners = self.env.get_keypoints(self.env._block_shapes).flatten()
        return {
            "images": {"top": self.env._render},
            "state": {
                "agent_pos": np.array(self.env.agent.position, np.float32),
                "environment_state": corners.astype(np.float32),
            },
            "instruction": self.instruction,
        }
