"""Levels of Kinetix, one episode or many at once. It runs in the environment `kinetix`."""

from __future__ import annotations

import hashlib
import os
import sys
from concurrent.futures import ThreadPoolExecutor
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

CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
WORKERS = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
PARTS = max(1, CORES // WORKERS)  # XLA runs operations as small as these on one core: lanes are dealt out to several


class World:
    """A level. Every episode starts from its stored state; what differs is the noise on the actions."""

    def __init__(
        self, task: str, level: str, instruction: str, noise: dict[str, float], steps: int, widths: list[int]
    ) -> None:
        self.instruction, self.noise, self.widths = instruction, noise, widths
        self.level, self.static, params = load_from_json_file(os.path.join(LEVELS, f"{level}.json"))
        self.params = params.replace(max_timesteps=steps)
        self.alone = self._lanes(1)
        self.many: list[Lanes] = []
        self.threads = ThreadPoolExecutor(PARTS)

    def reset(self, seed: int, episode: dict[str, Any]) -> dict[str, Any]:
        lane = self.alone.begin([seed], [episode])[0]
        assert lane is not None
        self.now: str = lane["digest"]
        return dict(lane["observation"])

    def step(self, action: Any) -> tuple[dict[str, Any], bool, dict[str, Any]]:
        lane = self.alone.step([action])[0]
        assert lane is not None
        self.now = lane["digest"]
        return lane["observation"], lane["terminated"], lane["info"]

    def digest(self) -> str:
        return self.now

    def reset_batch(self, seeds: list[int | None], episodes: list[Any]) -> list[dict[str, Any] | None]:
        """Begin episodes where there is a seed. When all lanes begin, that decides how many there are."""
        if None not in seeds:
            share = -(-len(seeds) // PARTS)
            self.many = [self._lanes(next(width for width in self.widths if width >= share)) for _ in range(PARTS)]
        return self._each(Lanes.begin, seeds, episodes)

    def step_batch(self, actions: list[Any]) -> list[dict[str, Any] | None]:
        return self._each(Lanes.step, actions)

    def _each(self, method: Any, *lists: list[Any]) -> list[dict[str, Any] | None]:
        """Every part does its share of the lists, a core each."""
        share = -(-len(lists[0]) // PARTS)
        starts = range(0, len(lists[0]), share)
        parts = [
            self.threads.submit(method, lanes, *(given[start : start + share] for given in lists))
            for lanes, start in zip(self.many, starts, strict=False)
        ]
        return [answer for part in parts for answer in part.result()]

    def _lanes(self, width: int) -> Lanes:
        return Lanes(simulator(self.static, self.params, width), self.level, self.noise, self.instruction)


class Lanes:
    """Episodes of a level at whatever moments they are, simulated together."""

    def __init__(self, simulate: Simulator, level: Any, noise: dict[str, float], instruction: str) -> None:
        self.simulate, self.level, self.noise, self.instruction = simulate, level, noise, instruction
        self.seeds = [0] * simulate.width
        self.keys = np.zeros((simulate.width, 2), np.uint32)
        self.stds = np.zeros(simulate.width, np.float32)
        self.moments = np.zeros(simulate.width, np.int32)
        self.state: Any = None

    def begin(self, seeds: list[int | None], episodes: list[Any]) -> list[dict[str, Any] | None]:
        """A new episode in every lane that is given a seed; the others go on as they are."""
        fresh = np.zeros(self.simulate.width, bool)
        self.keys, self.stds, self.moments = self.keys.copy(), self.stds.copy(), self.moments.copy()
        for number, (seed, episode) in enumerate(zip(seeds, episodes, strict=True)):
            if seed is None:
                continue
            fresh[number], self.seeds[number], self.moments[number] = True, seed, 0
            self.keys[number] = np.asarray(jax.random.PRNGKey(seed))
            self.stds[number] = self.noise[episode["partition"]]
        if self.state is None:
            self.state, seen, flat = self.simulate.reset(self.keys, self.level)
        else:
            self.state, seen, flat = self.simulate.replace(self.keys, self.level, self.state, fresh)
        nothing = np.zeros(self.simulate.width)
        return self._answers(fresh[: len(seeds)], seen, flat, nothing, nothing)

    def step(self, actions: list[Any]) -> list[dict[str, Any] | None]:
        """A step of every lane; what those without an action do is nobody's."""
        given = np.zeros((self.simulate.width, 6), np.float32)
        asked = np.array([action is not None for action in actions])
        for number in np.flatnonzero(asked):
            given[number] = actions[number]
        self.state, *seen = self.simulate.step(self.keys, self.state, self.moments, given, self.stds)
        self.moments = self.moments + 1  # not in place: the simulator may still be reading
        return self._answers(asked, *seen)

    def _answers(self, asked: Any, seen: Any, flat: Any, goals: Any, ends: Any) -> list[dict[str, Any] | None]:
        seen, flat, goals, ends = (np.asarray(part) for part in (seen, flat, goals, ends))
        answers: list[dict[str, Any] | None] = [None] * len(asked)
        for number in np.flatnonzero(asked):
            text = hashlib.blake2b(flat[number].tobytes(), digest_size=16)
            text.update(self.seeds[number].to_bytes(8, "little"))  # the noise to come is part of the state
            state = {"symbols": seen[number].astype(np.float32)}
            answers[number] = {
                "observation": {"images": {}, "state": state, "instruction": self.instruction},
                "digest": text.hexdigest(),
                "terminated": bool(ends[number]),
                "info": {"success": bool(goals[number] > 0)},
            }
        return answers


class Simulator:
    """Compiled functions for so many episodes of one size; all levels of a size share one."""

    def __init__(self, static: Any, params: Any, width: int) -> None:
        self.width = width
        env = kinetix_env.make_kinetix_env(
            ActionType.CONTINUOUS, ObservationType.SYMBOLIC_FLAT, None, params, static, auto_reset=False
        )

        def reset(key: Any, level: Any) -> Any:
            seen, state = env.reset(key, params, override_reset_state=level)
            return plain(state), seen, bits(state)

        def replace(key: Any, level: Any, state: Any, fresh: Any) -> Any:
            new, seen, flat = reset(key, level)
            return jax.tree.map(lambda ours, theirs: jnp.where(fresh, ours, theirs), new, state), seen, flat

        def step(key: Any, state: Any, moment: Any, action: Any, std: Any) -> Any:
            noise_key, step_key = jax.random.split(jax.random.fold_in(key, moment))
            noisy = action + std * jax.random.normal(noise_key, action.shape)
            seen, state, _, end, info = env.step(step_key, state, noisy, params)
            return plain(state), seen, bits(state), info["GoalR"], end  # the reward has a part for coming nearer

        self.reset = jax.jit(jax.vmap(reset, in_axes=(0, None)))
        self.replace = jax.jit(jax.vmap(replace, in_axes=(0, None, 0, 0)))
        self.step = jax.jit(jax.vmap(step, in_axes=(0, 0, 0, 0, 0)))


_simulators: dict[tuple[str, int], Simulator] = {}  # by what they are compiled for


def simulator(static: Any, params: Any, width: int) -> Simulator:
    wanted = (repr(static), width)
    if wanted not in _simulators:
        _simulators[wanted] = Simulator(static, params, width)
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
