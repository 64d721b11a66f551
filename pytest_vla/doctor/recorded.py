"""Episodes that a suite's oracle played, kept whole: everything that needs no simulator is tried on them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_vla.inference.local import kept
from pytest_vla.rollout import Step, rollout, surroundings

if TYPE_CHECKING:
    import gymnasium

    from pytest_vla.episode import EpisodeKey, Result
    from pytest_vla.policies import PolicySpec
    from pytest_vla.suite import Suite

MOST_STEPS = 120  # of one episode that are kept: pictures take room


@dataclass(frozen=True)
class Recorded:
    """One episode: what was seen before each action, and the actions as vectors; none where nobody knew them."""

    key: EpisodeKey
    observations: tuple[Mapping[str, Any], ...]
    actions: Any  # (steps, numbers), or None
    space: Any


def episode_keys(suite: Suite, tasks: Sequence[str], partitions: Sequence[str], first: int = 0) -> Iterator[EpisodeKey]:
    """Episodes of all tasks in turn; where no partition is named, of the first one that is run by default."""
    chosen = partitions or tuple(suite.default_partitions())[:1]
    cells = suite.select(tasks, chosen)
    number = 0
    while True:
        task, partition = cells[number % len(cells)]
        yield suite.episode(task, partition, first + number // len(cells))
        number += 1


def record(
    suite: Suite, env: gymnasium.Env[Any, Any], key: EpisodeKey, spec: PolicySpec, cameras: Sequence[str]
) -> tuple[Recorded | None, Result]:
    """An episode played by the oracle; None where it did not solve it. Answers to questions are no vectors."""
    seen: list[Any] = []
    done: list[Any] = []
    asks = bool(suite.output(key.task))

    def on_step(step: Step) -> None:
        if step.action is not None and not asks:
            done.append(suite.flatten_action(step.action))
        if len(seen) < MOST_STEPS:
            seen.append(kept(step.observation, spec, cameras))

    token = surroundings.set(replace(surroundings.get(), on_step=on_step, on_result=lambda result: None, together=None))
    try:
        result = rollout(suite.oracle(env), env, key)
    finally:
        surroundings.reset(token)
    if result and asks:
        return Recorded(key, tuple(seen), None, env.action_space), result
    count = min(len(seen), len(done))
    if not result or not count:
        return None, result
    return Recorded(key, tuple(seen[:count]), np.stack(done[:count]).astype(np.float64), env.action_space), result


def looked_at(
    suite: Suite, env: gymnasium.Env[Any, Any], key: EpisodeKey, spec: PolicySpec, cameras: Sequence[str]
) -> Recorded:
    """How an episode begins, where a suite has no oracle."""
    observation, _ = env.reset(seed=key.seed(), options={"episode": key})
    return Recorded(key, (kept(observation, spec, cameras),), None, env.action_space)
