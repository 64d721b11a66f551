"""Policies for the doctor to look at: working ones, the same with planted faults of wiring, and healthy bad ones.

Faults are planted by code of their own: nothing here uses the conversions that cure them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import pytest_vla as vla
from benchmarks.reach_suite import COLOURS, HALF_M, PX, Reach, wanted
from pytest_vla.policies.base import Policy, PolicySpec
from pytest_vla.policies.conventions import Conventions, Normalisation

POLICIES = Path(__file__).parents[1] / "fixtures" / "policies"
CACHE = Path(os.environ.get("PYTEST_VLA_DOCTOR_CACHE", ".vla-doctor"))
DELTA_TASKS = ("meat_off_grill",)
VIMA_TASKS = ("visual_manipulation", "rotate")
Observation = Mapping[str, Any]


@dataclass(frozen=True)
class Case:
    """A policy in a suite, and the cure that is expected: None for a healthy one, a value of None for any value."""

    make: Callable[[], Policy | str]
    suite: str
    cure: Mapping[str, Any] | None = None
    tasks: tuple[str, ...] = ()
    partitions: tuple[str, ...] = field(default=())


class Miswired(Policy):
    """A policy with something wrong before it, or behind it."""

    def __init__(self, policy: Any, see: Any = None, do: Any = None, spec: PolicySpec | None = None) -> None:
        self.policy, self.see, self.do = policy, see, do
        self.spec = spec or policy.spec

    def reset(self, episode: Any) -> Any:
        return self.policy.reset(episode)

    def act(self, observations: Sequence[Observation], states: Sequence[Any]) -> list[Any]:
        seen = [self.see(observation) for observation in observations] if self.see else observations
        actions = self.policy.act(seen, states)
        return [self.do(action) for action in actions] if self.do else list(actions)


class OracleBacked(Policy):
    """Plays what the suite's oracle does in an environment of its own; `turned` gives its numbers another meaning."""

    def __init__(self, suite: str, turned: Callable[[Any, Any], Any] = lambda actions, seen: actions) -> None:
        self.suite, self.turned = vla.get_suite(suite), turned
        self.spec = PolicySpec(suites=(suite,))
        self._env: Any = None
        self._known: dict[Any, Any] = {}

    def reset(self, episode: Any) -> dict[str, Any]:
        if episode not in self._known:
            self._known[episode] = self._play(episode)
        return {"actions": self._known[episode], "step": 0}

    def act(self, observations: Sequence[Observation], states: Sequence[Any]) -> list[Any]:
        made = []
        for state in states:
            actions = state["actions"]
            made.append(actions[min(state["step"], len(actions) - 1)])
            state["step"] += 1
        return made

    def _play(self, episode: Any) -> Any:
        from pytest_vla.rollout import Surroundings, surroundings

        self._env = self._env or self.suite.make_env(episode.task)
        done: list[Any] = []
        seen: list[Any] = []

        def on_step(step: Any) -> None:
            if step.action is not None:
                done.append(self.suite.flatten_action(step.action))
            seen.append({key: np.array(value) for key, value in step.observation["state"].items()})

        token = surroundings.set(Surroundings(on_step=on_step))
        try:
            vla.rollout(self.suite.oracle(self._env), self._env, episode)
        finally:
            surroundings.reset(token)
        return self.turned(np.stack(done), seen)


class Planner(Policy):
    """Finds the named disc in its first picture and plans the whole way there: what moves later it does not see."""

    spec = PolicySpec(cameras=("main",), state_keys=("ee",))

    def reset(self, episode: Any) -> list[Any]:
        return []

    def act(self, observations: Sequence[Observation], states: Sequence[Any]) -> list[Any]:
        for observation, plan in zip(observations, states, strict=True):
            if not plan:
                plan += [*self._plan(observation)]
        return [plan.pop(0) for plan in states]

    def _plan(self, observation: Observation) -> Any:
        words = observation["instruction"].lower()
        colour = next(np.array(rgb) for name, rgb in COLOURS.items() if name in words)
        rows, columns = np.nonzero((observation["images"]["main"] == colour).all(-1))
        place = (np.array([columns.mean(), PX - 1 - rows.mean()]) + 0.5) / PX * 2 - 1 if len(rows) else np.zeros(2)
        hand, made = np.array(observation["state"]["ee"][:3], np.float64), []
        for _ in range(24):
            made.append(wanted(hand, place * HALF_M))
            hand = hand + made[-1][:3]
        return np.stack(made)


class Scatter(Policy):
    """Draws its actions, each from the picture's own bytes: reacts to all that it sees, and knows nothing."""

    spec = PolicySpec(cameras=("main",))

    def act(self, observations: Sequence[Observation], states: Sequence[Any]) -> list[Any]:
        made = []
        for observation in observations:
            rng = np.random.default_rng(int(observation["images"]["main"].astype(np.uint64).sum()))
            made.append(np.array([*rng.uniform(-0.04, 0.04, 3), float(rng.random() > 0.2)], np.float32))
        return made


# --- working policies -------------------------------------------------------------------------------------------------


@cache
def shipped(name: str) -> Any:
    from pytest_vla.policies.checkpoint import load_checkpoint

    return load_checkpoint(POLICIES / f"{name}.pt")


def damaged(name: str, seed: int, noise: float) -> Any:
    """With noise of so many times their own deviation on all weights; a large one leaves nothing of them."""
    import torch

    from pytest_vla.policies.checkpoint import load_checkpoint

    policy: Any = load_checkpoint(POLICIES / f"{name}.pt")
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in policy.parameters():
            spread = float(weight.std()) if weight.numel() > 1 else 0.1
            weight += noise * spread * torch.randn(weight.shape, generator=generator)
    return policy


@cache
def reach(steps: int = 2500) -> Any:
    from benchmarks.reach_policy import plain, trained

    return plain(trained(CACHE, steps))


@cache
def pictured(trained: bool = True) -> Any:
    from benchmarks.reach_act import told_by_pictures

    return told_by_pictures(CACHE, trained)


def untrained(seed: int) -> Any:
    import torch

    from benchmarks.reach_policy import ReachPolicy

    torch.manual_seed(seed)
    return ReachPolicy().eval()


# --- faults -----------------------------------------------------------------------------------------------------------


def images(change: Callable[[Any], Any]) -> Callable[[Observation], Observation]:
    return lambda seen: {**seen, "images": {name: change(np.asarray(p)) for name, p in seen["images"].items()}}


turned180 = images(lambda picture: np.ascontiguousarray(picture[::-1, ::-1]))
upside_down = images(lambda picture: np.ascontiguousarray(picture[::-1]))
bgr = images(lambda picture: np.ascontiguousarray(picture[..., ::-1]))


def swapped(seen: Observation) -> Observation:
    return {**seen, "images": {"main": seen["images"]["wrist"], "wrist": seen["images"]["main"]}}


def flipped_gripper(action: Any) -> Any:
    made = np.array(action)
    made[..., 3] = 1 - made[..., 3]
    return made


def larger(factor: float) -> Callable[[Any], Any]:
    def do(action: Any) -> Any:
        made = np.array(action)
        made[..., :3] *= factor
        return made

    return do


def w_first(action: Any) -> Any:
    return {name: np.roll(value, 1, -1) if "rotation" in name else value for name, value in action.items()}


def larger_poses(factor: float) -> Callable[[Any], Any]:
    return lambda action: {name: factor * value if "position" in name else value for name, value in action.items()}


def as_places(actions: Any, seen: Any) -> Any:
    """Steps of the hand as the places and turns that they lead to."""
    from scipy.spatial.transform import Rotation

    made = np.array(actions, np.float64)
    for row, state in zip(made, seen, strict=False):
        ee = state["ee"]
        row[:3] += ee[:3]
        row[3:6] = (Rotation.from_rotvec(row[3:6]) * Rotation.from_quat(ee[3:7])).as_rotvec()
    return made.astype(np.float32)


def closed_for_open(actions: Any, seen: Any) -> Any:
    made = np.array(actions)
    made[:, 6] = 1 - made[:, 6]
    return made


def wrong_key(policy: Any) -> Policy:
    """Gives normalised numbers and has statistics of two data sets, of which the wrong one is named."""
    mean, spread = reach().mean.numpy(), reach().deviation.numpy()
    statistics = {
        "reach": {"low": tuple(map(float, mean)), "high": tuple(map(float, spread))},
        "kitchen": {"low": (0.01, -0.02, 0.03, 0.4), "high": (0.004, 0.003, 0.002, 0.1)},
    }
    how = Normalisation("mean_std", "kitchen", statistics)
    spec = replace(policy.spec, conventions=replace(policy.spec.conventions, normalisation=how))
    return Miswired(policy, do=lambda action: (action - mean) / spread, spec=spec)


def unworded(policy: Any) -> Policy:
    return Miswired(policy, spec=replace(policy.spec, conventions=Conventions()))


FAULTS: dict[str, Case] = {
    "bomb: gripper": Case(lambda: Miswired(shipped("bomb_visuomotor"), do=flipped_gripper), "bomb", {"gripper": -1}),
    "bomb: turned": Case(lambda: Miswired(shipped("bomb_visuomotor"), see=turned180), "bomb", {"turn": "rotate180"}),
    "bomb: millimetres": Case(lambda: Miswired(shipped("bomb_visuomotor"), do=larger(1000)), "bomb", {"scale": 0.001}),
    "vima: w first": Case(
        lambda: Miswired(shipped("vima_cross"), do=w_first), "vima", {"rotation": "quaternion_wxyz"}, VIMA_TASKS
    ),
    "vima: centimetres": Case(
        lambda: Miswired(shipped("vima_cross"), do=larger_poses(100)), "vima", {"scale": 0.01}, VIMA_TASKS
    ),
    "reach_red: bgr": Case(lambda: Miswired(pictured(), see=bgr), "reach_red", {"colours": "bgr"}),
    "reach: wording": Case(lambda: unworded(reach()), "reach", {"wording": None}),
    "reach_red: normalisation": Case(lambda: wrong_key(pictured()), "reach_red", {"normalisation": "reach"}),
    "reach: cameras": Case(  # the small policy: LeRobot's ACT does not tell its cameras apart, and solves as well
        lambda: Miswired(reach(), see=swapped), "reach", {"cameras": {"main": "wrist", "wrist": "main"}}
    ),
    "reach_red: upside down": Case(lambda: Miswired(pictured(), see=upside_down), "reach_red", {"turn": "vertical"}),
    "agnostos_delta: absolute": Case(
        lambda: OracleBacked("agnostos_delta", as_places), "agnostos_delta", {"actions": "absolute"}, DELTA_TASKS
    ),
    "reach: wait": Case(Planner, "reach_sliding", {"wait": None}),
}

PAIRS: dict[str, Case] = {
    "bomb: gripper, turned": Case(
        lambda: Miswired(shipped("bomb_visuomotor"), turned180, flipped_gripper),
        "bomb",
        {"gripper": -1, "turn": "rotate180"},
    ),
    "bomb: millimetres, gripper": Case(
        lambda: Miswired(shipped("bomb_visuomotor"), do=lambda a: larger(1000)(flipped_gripper(a))),
        "bomb",
        {"scale": 0.001, "gripper": -1},
    ),
    "reach_red: bgr, gripper": Case(
        lambda: Miswired(pictured(), bgr, flipped_gripper), "reach_red", {"colours": "bgr", "gripper": -1}
    ),
    "reach: upside down, centimetres": Case(
        lambda: Miswired(reach(), upside_down, larger(100)), "reach", {"turn": "vertical", "scale": 0.01}
    ),
    "vima: w first, centimetres": Case(
        lambda: Miswired(shipped("vima_cross"), do=lambda action: larger_poses(100)(w_first(action))),
        "vima",
        {"rotation": "quaternion_wxyz", "scale": 0.01},
        VIMA_TASKS,
    ),
    "agnostos_delta: absolute, gripper": Case(
        lambda: OracleBacked("agnostos_delta", lambda a, seen: closed_for_open(as_places(a, seen), seen)),
        "agnostos_delta",
        {"actions": "absolute", "gripper": -1},
        DELTA_TASKS,
    ),
}

HEALTHY: dict[str, Case] = {
    "bomb": Case(lambda: shipped("bomb_visuomotor"), "bomb"),
    "bomb, perturbed": Case(lambda: shipped("bomb_visuomotor"), "bomb", partitions=("perturbed",)),
    **{f"bomb, noise {n}": Case(lambda n=n: damaged("bomb_visuomotor", n, 3.0), "bomb") for n in range(3)},
    "bomb, some noise": Case(lambda: damaged("bomb_visuomotor", 9, 0.4), "bomb"),
    "vima, cross": Case(lambda: shipped("vima_cross"), "vima", tasks=VIMA_TASKS),
    "vima, prefix": Case(lambda: shipped("vima_prefix"), "vima", tasks=VIMA_TASKS),
    **{f"vima, noise {n}": Case(lambda n=n: damaged("vima_cross", n, 3.0), "vima", None, VIMA_TASKS) for n in range(2)},
    "reach": Case(reach, "reach"),
    "reach, hardly trained": Case(lambda: reach(60), "reach"),
    "reach, untrained": Case(lambda: untrained(0), "reach"),
    "reach_red": Case(pictured, "reach_red"),
    "reach_red, hardly trained": Case(lambda: pictured(trained=False), "reach_red"),
    "reach, scatter": Case(Scatter, "reach"),
    "reach, planner": Case(Planner, "reach"),
    "agnostos_delta, oracle": Case(lambda: OracleBacked("agnostos_delta"), "agnostos_delta", None, DELTA_TASKS),
    "bomb, random": Case(lambda: "random", "bomb"),
    "bomb, noop": Case(lambda: "noop", "bomb"),
}


# --- faults that no convention cures ----------------------------------------------------------------------------------


class RowZero(Miswired):
    """Every row gets the instruction of row 0."""

    def act(self, observations: Sequence[Observation], states: Sequence[Any]) -> list[Any]:
        told = observations[0]["instruction"]
        return list(self.policy.act([{**o, "instruction": told} for o in observations], states))


class Remembers(Miswired):
    """Smooths its actions over the steps of an episode, and keeps the last one in itself."""

    last: Any = None

    def reset(self, episode: Any) -> Any:
        self.last = None
        return super().reset(episode)

    def act(self, observations: Sequence[Observation], states: Sequence[Any]) -> list[Any]:
        made = []
        for action in self.policy.act(observations, states):
            self.last = action if self.last is None else 0.5 * self.last + 0.5 * action
            made.append(self.last)
        return made


class Draws(Miswired):
    """Adds noise of a global generator."""

    def act(self, observations: Sequence[Observation], states: Sequence[Any]) -> list[Any]:
        actions = self.policy.act(observations, states)
        return [action + np.random.normal(0, 0.005, np.shape(action)).astype(np.float32) for action in actions]


def in_training_mode() -> Policy:
    """Its last layer normalises by the batch at hand."""
    import torch

    class Normed(torch.nn.Module, Policy):  # type: ignore[misc]
        spec = reach().spec

        def __init__(self) -> None:
            super().__init__()
            self.inner, self.norm = reach(), torch.nn.BatchNorm1d(16)
            self.norm.train()

        def act(self, observations: Sequence[Observation], states: Sequence[Any]) -> list[Any]:
            made = self.inner(*self.inner.inputs(observations)).flatten(1)
            normed = self.norm(torch.cat([made, torch.zeros_like(made[:1])]))[:-1]  # one row alone cannot be normed
            return list((0.05 * normed).view(-1, 4, 4).detach().numpy())

    return Normed()


UNCURED: dict[str, tuple[Callable[[], Policy], str]] = {
    "instruction of row 0": (lambda: RowZero(reach()), "row0_instruction"),
    "state in self": (lambda: Remembers(reach()), "state_in_self"),
    "training mode": (in_training_mode, "training_mode"),
    "global generator": (lambda: Draws(reach()), "global_generator"),
}


def register() -> None:
    """The suites of our own."""
    vla.register(Reach())
    vla.register(Reach("reach_sliding", sliding=True))
    vla.register(Reach("reach_red", goal="red"))
