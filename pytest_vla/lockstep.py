"""Several episodes at once, where a suite's simulator can: each comes out as it would alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

from pytest_vla.deadline import DeadlineExceeded, deadline
from pytest_vla.episode import EpisodeKey, Result, writable
from pytest_vla.rollout import Attempt, Step, Surroundings, measured

if TYPE_CHECKING:
    import gymnasium

    from pytest_vla.policies.base import Policy
    from pytest_vla.suite import Suite


@dataclass(frozen=True)
class Lane:
    """One episode's part of what a simulator of many answers."""

    observation: Any
    digest: str
    progress: float | None = None
    features: Any = None
    terminated: bool = False
    info: Any = None


@dataclass(frozen=True)
class Played:
    """An episode that was played along with others, by this very policy in this very environment."""

    policy: Policy
    env: gymnasium.Env[Any, Any]
    result: Result | None
    """None where the batch was lost: the episode then runs alone, so that whoever broke it is found."""
    steps: Sequence[Step] = ()


def played_along(
    suite: Suite,
    policy: Policy,
    env: gymnasium.Env[Any, Any],
    episode: EpisodeKey,
    around: Surroundings,
    timeout: float,
) -> Result | None:
    """The result of an episode from its batch, which is played now if it was not yet; None: it has to run alone."""
    known = around.played.pop(episode, None)
    if known is None and not episode.perturbation and not suite.cameras:
        keys = [episode, *(key for key in around.upcoming if _fits(key, episode) and key not in around.played)]
        if len(keys) > 1:
            around.played.update(_play(suite, policy, env, keys[: suite.batch], timeout))
        known = around.played.pop(episode, None)
    if known is None or known.policy is not policy or known.env is not env or known.result is None:
        return None
    for step in known.steps:
        around.on_step(step)
    result: Result = known.result
    return result


def _fits(key: EpisodeKey, episode: EpisodeKey) -> bool:
    return (key.suite, key.task, key.perturbation) == (episode.suite, episode.task, "")


def _play(
    suite: Suite, policy: Policy, env: Any, keys: Sequence[EpisodeKey], timeout: float
) -> dict[EpisodeKey, Played]:
    """Play these episodes side by side. Whatever is raised loses the batch and nothing else."""
    try:
        with deadline(timeout) as alive:
            return side_by_side(suite, policy, env, keys, alive)
    except (Exception, DeadlineExceeded):
        env.close()  # it may be in any state
        return {key: Played(policy, env, None) for key in keys}


def side_by_side(
    suite: Suite, policy: Policy, env: Any, keys: Sequence[EpisodeKey], alive: Callable[[], None]
) -> dict[EpisodeKey, Played]:
    """Play episodes of one task together. Whatever anybody raises is raised: see `played_along`."""
    start = perf_counter()
    attempts = [Attempt(suite, policy, env, key) for key in keys]
    lanes: list[Lane] = env.reset_batch(keys)
    alive()
    tapes: list[list[Step]] = [[] for _ in keys]
    for attempt, lane, tape in zip(attempts, lanes, tapes, strict=True):
        attempt.begin(lane.observation, lane.features or {}, lane.digest)
        attempt.progress = measured(lane.progress)
        tape.append(Step(lane.observation, None, attempt.progress, False))
        attempt.state = policy.reset(attempt.episode)
        attempt.timings["reset"] = (perf_counter() - start) / len(keys)
    verdicts: list[Any] = [attempt.verdict(False, {}) for attempt in attempts]
    while None in verdicts:
        going = [number for number, verdict in enumerate(verdicts) if verdict is None]
        began = perf_counter()
        given = policy.act([lanes[n].observation for n in going], [attempts[n].state for n in going])
        actions: list[Any] = [None] * len(keys)
        for number, action in zip(going, given, strict=True):
            actions[number] = attempts[number].checked(action)
        acted = perf_counter()
        lanes = env.step_batch(actions)
        alive()
        stepped = perf_counter()
        for number in going:
            attempt, lane = attempts[number], lanes[number]
            attempt.steps += 1
            attempt.states.update(lane.digest.encode())
            attempt.progress = measured(lane.progress)
            attempt.timings["act"] += (acted - began) / len(going)
            attempt.timings["step"] += (stepped - acted) / len(going)
            success = bool(lane.info.get("success", False))
            tapes[number].append(Step(lane.observation, actions[number], attempt.progress, success))
            verdicts[number] = attempt.verdict(lane.terminated, lane.info)
    return {
        attempt.episode: Played(policy, env, _result(attempt, verdict), tape)
        for attempt, verdict, tape in zip(attempts, verdicts, tapes, strict=True)
    }


def _result(attempt: Attempt, verdict: Any) -> Result:
    """Its share of the time that the batch took."""
    outcome, reason, message = verdict
    return writable(attempt.result(outcome, reason, message, sum(attempt.timings.values())))
