"""A suite of coins: an episode is solved with a known probability, drawn from a salt and the episode's key."""

from __future__ import annotations

import hashlib
import os
import signal
from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np

import pytest_vla as vla

TASKS = 5
SPREAD = 0.06  # between one task and the next: their names sort by difficulty
EPISODES_BEFORE_DEATH = int(os.environ.get("COIN_KILL", "0"))

_ended = 0


def rate_of(task: str) -> float:
    """COIN_RATE is the mean over all tasks."""
    return float(os.environ["COIN_RATE"]) + SPREAD * (int(task.removeprefix("t")) - (TASKS - 1) / 2)


class CoinEnv(gymnasium.Env[dict[str, Any], np.ndarray]):
    action_space = gymnasium.spaces.Box(0, 1, (1,), np.float32)
    observation_space = gymnasium.spaces.Dict({})

    def reset(self, *, seed: int | None = None, options: Mapping[str, Any] | None = None) -> tuple[dict[str, Any], Any]:
        assert options is not None
        self.episode = options["episode"]
        return {"images": {}, "state": {}, "instruction": "be lucky"}, {}

    def step(self, action: np.ndarray) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        global _ended
        _ended += 1
        if _ended == EPISODES_BEFORE_DEATH:
            os.kill(os.getpid(), signal.SIGKILL)
        drawn = hashlib.blake2b(f"{os.environ['COIN_SALT']} {self.episode}".encode(), digest_size=8).digest()
        success = int.from_bytes(drawn) / 2**64 < rate_of(self.episode.task)
        return {"images": {}, "state": {}, "instruction": ""}, 0.0, False, False, {"success": success}


class Flip(vla.Policy):
    def act(self, observations: Any, states: Any) -> list[np.ndarray]:
        return [np.zeros(1, np.float32) for _ in observations]


class CoinSuite(vla.Suite):
    name = "coins"
    version = "1"

    def cells(self) -> list[tuple[str, str]]:
        return [(f"t{place}", "fair") for place in range(TASKS)]

    def make_env(self, task: str) -> CoinEnv:
        return CoinEnv()

    def step_limit(self, task: str) -> int:
        return 1

    def oracle(self, env: Any) -> Flip:
        return Flip()

    def digest(self, env: Any) -> str:
        return str(env.unwrapped.episode)


@vla.benchmark(CoinSuite())
def test_coins(policy: Any, env: Any, episode: Any) -> None:
    assert vla.rollout(policy, env, episode)
