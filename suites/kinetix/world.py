"""Levels of Kinetix, one episode or many at once. It runs in the environment `kinetix`."""

from __future__ import annotations

import hashlib
import os
import sys
from typing import Any

import jax
import jax.numpy as jnp
import kinetix
import numpy as np
from kinetix.environment import env as kinetix_env
from kinetix.environment.spaces import ActionType, ObservationType
from kinetix.util.saving import load_from_json_file

LEVELS = os.path.join(os.path.dirname(kinetix.__file__), "levels")
# Compiling takes half a minute a size: it is kept beside the interpreter, for the next process.
jax.config.update("jax_compilation_cache_dir", os.path.join(sys.prefix, "compiled"))
jax.config.update("jax_persistent_cache_min_compile_time_secs", 1.0)

_simulators: dict[tuple[str, int], Simulator] = {}  # by what they are compiled for; all levels of a size share one


class World:
    """A level. Every episode starts from its stored state; what differs is the noise on the actions."""

    def __init__(
        self, task: str, level: str, instruction: str, noise: dict[str, float], steps: int, batch: int
    ) -> None:
        self.instruction, self.noise, self.batch = instruction, noise, batch
        self.level, self.static, params = load_from_json_file(os.path.join(LEVELS, f"{level}.json"))
        self.params = params.replace(max_timesteps=steps)

    # --- one episode -------------------------------------------------------------------------------------------------

    def reset(self, seed: int, episode: dict[str, Any]) -> dict[str, Any]:
        lane = self._reset([seed], [episode], width=1)[0]
        self.now: str = lane["digest"]
        return dict(lane["observation"])

    def step(self, action: Any) -> tuple[dict[str, Any], bool, dict[str, Any]]:
        lane = self._step([action], width=1)[0]
        self.now = lane["digest"]
        return lane["observation"], lane["terminated"], lane["info"]

    def digest(self) -> str:
        return self.now

    # --- many --------------------------------------------------------------------------------------------------------

    def reset_batch(self, seeds: list[int], episodes: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return self._reset(seeds, episodes, width=self.batch)

    def step_batch(self, actions: list[Any]) -> list[dict[str, Any]]:
        return self._step(actions, width=self.batch)

    # --- both --------------------------------------------------------------------------------------------------------

    def _reset(self, seeds: list[int], episodes: list[dict[str, Any]], width: int) -> list[dict[str, Any]]:
        """Lanes that nobody asked for repeat the first."""
        spare = width - len(seeds)
        self.count, self.moment = len(seeds), 0
        self.keys = jnp.stack([jax.random.PRNGKey(seed) for seed in (*seeds, *seeds[:1] * spare)])
        stds = [self.noise[episode["partition"]] for episode in episodes]
        self.stds = jnp.array([*stds, *stds[:1] * spare], jnp.float32)
        self.seeds = seeds
        self.state, seen, flat = simulator(self.static, self.params, width).reset(self.keys, self.level)
        return self._lanes(seen, flat, np.zeros(width), np.zeros(width, bool))

    def _step(self, actions: list[Any], width: int) -> list[dict[str, Any]]:
        given = np.zeros((width, 6), np.float32)
        for number, action in enumerate(actions):
            if action is not None:
                given[number] = action
        run = simulator(self.static, self.params, width).step
        self.state, seen, flat, goals, ends = run(self.keys, self.state, self.moment, jnp.asarray(given), self.stds)
        self.moment += 1
        return self._lanes(seen, flat, np.asarray(goals), np.asarray(ends))

    def _lanes(self, seen: Any, flat: Any, goals: Any, ends: Any) -> list[dict[str, Any]]:
        seen, flat = np.asarray(seen, np.float32), np.asarray(flat)
        lanes = []
        for number in range(self.count):
            text = hashlib.blake2b(flat[number].tobytes(), digest_size=16)
            text.update(self.seeds[number].to_bytes(8, "little"))  # the noise to come is part of the state
            observation = {"images": {}, "state": {"symbols": seen[number]}, "instruction": self.instruction}
            lanes.append(
                {
                    "observation": observation,
                    "digest": text.hexdigest(),
                    "terminated": bool(ends[number]),
                    "info": {"success": bool(goals[number] > 0)},
                }
            )
        return lanes


class Simulator:
    """Compiled functions for so many episodes of one size."""

    def __init__(self, static: Any, params: Any) -> None:
        env = kinetix_env.make_kinetix_env(
            ActionType.CONTINUOUS, ObservationType.SYMBOLIC_FLAT, None, params, static, auto_reset=False
        )

        def reset(key: Any, level: Any) -> Any:
            seen, state = env.reset(key, params, override_reset_state=level)
            return plain(state), seen, bits(state)

        def step(key: Any, state: Any, moment: Any, action: Any, std: Any) -> Any:
            noise_key, step_key = jax.random.split(jax.random.fold_in(key, moment))
            noisy = action + std * jax.random.normal(noise_key, action.shape)
            seen, state, _, end, info = env.step(step_key, state, noisy, params)
            return plain(state), seen, bits(state), info["GoalR"], end  # the reward has a part for coming nearer

        self.reset = jax.jit(jax.vmap(reset, in_axes=(0, None)))
        self.step = jax.jit(jax.vmap(step, in_axes=(0, 0, None, 0, 0)))


def simulator(static: Any, params: Any, width: int) -> Simulator:
    wanted = (repr(static), width)
    if wanted not in _simulators:
        _simulators[wanted] = Simulator(static, params)
    return _simulators[wanted]


def plain(state: Any) -> Any:
    """The same with types that do not change from a reset to a step: else everything is compiled twice."""
    return jax.tree.map(lambda leaf: jax.lax.convert_element_type(leaf, jnp.asarray(leaf).dtype), state)


def bits(state: Any) -> Any:
    """The whole state as one row of integers, bit for bit."""
    rows = []
    for leaf in jax.tree.leaves(state):
        leaf = jnp.ravel(leaf)
        if leaf.dtype == jnp.float32:
            rows.append(jax.lax.bitcast_convert_type(leaf, jnp.int32))
        else:
            rows.append(leaf.astype(jnp.int32))
    return jnp.concatenate(rows)
