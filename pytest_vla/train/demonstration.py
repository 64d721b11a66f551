"""One recorded episode: what was seen, what was done, and what was asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pytest_vla.policies.actions import parts_of
from pytest_vla.registry import get_suite
from pytest_vla.tree import plain

if TYPE_CHECKING:
    from pytest_vla.episode import Result
    from pytest_vla.rollout import Step

Array = NDArray[Any]
IMAGE_PARTS = ("images", "segmentation")


@dataclass(frozen=True)
class Demonstration:
    """The steps of one episode, stacked along the first axis: `images[camera][t]` was seen before `action[t]`."""

    suite: str
    task: str
    partition: str
    index: int
    instruction: str
    images: Mapping[str, Array]
    segmentation: Mapping[str, Array]
    state: Mapping[str, Array]
    action: NDArray[np.float32]
    action_names: tuple[str, ...]
    prompt: Any = None  # the plain tree that a policy would get, or None
    perturbation: str = ""
    repeat: int = 0

    def __len__(self) -> int:
        return len(self.action)


@dataclass
class Take:
    """Listens to the steps of a rollout and keeps what a demonstration needs."""

    cameras: tuple[str, ...] = ()
    seen: list[dict[str, dict[str, Array]]] = field(default_factory=list)
    done: list[Any] = field(default_factory=list)
    prompt: Any = None

    def add(self, step: Step) -> None:
        if step.action is None:  # the first step of a rollout: whatever came before was another one
            self.seen, self.done = [], []
            self.prompt = step.observation.get("prompt")
        else:
            self.done.append(step.action)
        self.seen.append({part: self._part(step.observation, part) for part in (*IMAGE_PARTS, "state")})

    def demonstration(self, result: Result) -> Demonstration:
        """All but the last observation, which no action followed."""
        key, seen = result.episode, self.seen[: len(self.done)]
        suite = get_suite(key.suite)

        def stacked(part: str) -> dict[str, Array]:
            return {name: np.stack([step[part][name] for step in seen]) for name in seen[0][part]}

        return Demonstration(
            *(key.suite, key.task, key.partition, key.index, result.instruction),
            images=stacked("images"),
            segmentation=stacked("segmentation"),
            state=stacked("state"),
            action=np.stack([suite.flatten_action(action) for action in self.done]),
            action_names=component_names(parts_of(self.done[0])),
            prompt=None if self.prompt is None else plain(self.prompt),
            perturbation=key.perturbation,
            repeat=key.repeat,
        )

    def _part(self, observation: Mapping[str, Any], part: str) -> dict[str, Array]:
        names = observation.get(part, {})
        wanted = self.cameras if part in IMAGE_PARTS and self.cameras else names
        return {name: np.array(observation[part][name]) for name in wanted if name in names}


def component_names(parts: Mapping[str, Array]) -> tuple[str, ...]:
    """One name per number of a flat vector, `part.0`, `part.1`, ..."""
    return tuple(f"{name}.{i}" for name, array in parts.items() for i in range(np.size(array)))


def split_components(names: tuple[str, ...] | list[str], flat: Array) -> dict[str, Array]:
    """The parts of flat vectors (last axis) back under their names."""
    owners = [name.rpartition(".")[0] for name in names]
    return {
        owner: flat[..., [i for i, other in enumerate(owners) if other == owner]] for owner in dict.fromkeys(owners)
    }
