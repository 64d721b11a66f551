"""Levels of Kinetix, one episode or many at once. It runs in the environment `kinetix`."""

from __future__ import annotations

import hashlib
import os
import sys
from typing import Any

import numpy as np

LARGEST_SPLIT = 8
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
WORKERS = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
#: Into so many parts lanes are split, one a core: XLA itself runs operations as small as these on one core.
SPLIT = 1 << (max(1, min(LARGEST_SPLIT, CORES // WORKERS)).bit_length() - 1)
os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={SPLIT}"

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import kinetix  # noqa: E402
from jax.sharding import Mesh, PartitionSpec  # noqa: E402
from kinetix.environment import env as kinetix_env  # noqa: E402
from kinetix.environment.spaces import ActionType, ObservationType  # noqa: E402
from kinetix.util.saving import load_from_json_file  # noqa: E402

LEVELS = os.path.join(os.path.dirname(kinetix.__file__), "levels")
# Compiling takes half a minute a size: it is kept beside the interpreter, for the next process.
jax.config.update("jax_compilation_cache_dir", os.path.join(sys.prefix, "compiled"))
jax.config.update("jax_persistent_cache_min_compile_time_secs", 1.0)


class World:
    """A level. Every episode starts from its stored state; what differs is the noise on the actions."""

    def __init__(
        self, task: str, level: str, instruction: str, noise: dict[str, float], steps: int, widths: list[int]
    ) -> None:
        self.instruction, self.noise, self.widths = instruction, noise, widths
        self.level, self.static, params = load_from_json_file(os.path.join(LEVELS, f"{level}.json"))
        self.params = params.replace(max_timesteps=steps)
        self.alone = self._lanes(1)
        self.many: Lanes | None = None

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
        """Begin episodes where there is a seed; a first one of all lanes decides how many are simulated."""
        if self.many is None or None not in seeds:
            self.many = self._lanes(next(width for width in self.widths if width >= len(seeds)))
        return self.many.begin(seeds, episodes)

    def step_batch(self, actions: list[Any]) -> list[dict[str, Any] | None]:
        assert self.many is not None
        return self.many.step(actions)

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
        self.moments += 1
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

        self.reset = self._compiled(reset, (0, None))
        self.replace = self._compiled(replace, (0, None, 0, 0))
        self.step = self._compiled(step, (0, 0, 0, 0, 0))

    def _compiled(self, function: Any, axes: tuple[int | None, ...]) -> Any:
        """For all lanes, in as many parts as there are cores for."""
        many = jax.vmap(function, in_axes=axes)
        parts = SPLIT if self.width % SPLIT == 0 else 1
        if parts == 1:
            return jax.jit(many)
        lanes, same = PartitionSpec("lanes"), PartitionSpec()
        specs = tuple(same if axis is None else lanes for axis in axes)
        mesh = Mesh(np.array(jax.devices()[:parts]), ("lanes",))
        return jax.jit(jax.shard_map(many, mesh=mesh, in_specs=specs, out_specs=lanes, check_vma=False))


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
