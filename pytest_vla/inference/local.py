"""The same engine without a server: what a run without `-n` uses, so that it gives the same actions."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from copy import deepcopy
from time import perf_counter
from typing import Any

import numpy as np

from pytest_vla.deadline import sign_of_life
from pytest_vla.drawing import drawing
from pytest_vla.episode import EpisodeError, EpisodeKey
from pytest_vla.inference.engine import Engine, Episode, Failure, Job
from pytest_vla.inference.status import Statistics
from pytest_vla.policies.base import Observation, Policy, PolicyError, PolicySpec
from pytest_vla.tree import TreeError, flatten, plain, signature


class LocalPolicy(Policy):
    """A policy in this process behind an engine."""

    def __init__(self, policy: Policy, fixed: int = 0) -> None:
        self.spec = getattr(policy, "spec", PolicySpec())
        self._engine = Engine(policy, fixed, alive=sign_of_life)
        self.statistics = Statistics()

    def reset(self, episode: EpisodeKey) -> Episode:
        return Episode(episode)

    def act(self, observations: Sequence[Observation], states: Sequence[Episode]) -> list[Any]:
        jobs = [
            Job(state, self._plain(observation, state), self._kind(observation))
            for observation, state in zip(observations, states, strict=True)
        ]
        start, drawn = perf_counter(), drawing.seconds
        answers = self._engine.answer(jobs)
        seconds = perf_counter() - start - (drawing.seconds - drawn)
        self.statistics.batch(len(jobs), sum(isinstance(answer, Failure) for answer in answers), 0.0, seconds, 0)
        for answer in answers:
            if isinstance(answer, Failure):
                raise error_of(answer)
        return answers

    def _plain(self, observation: Observation, state: Episode) -> Observation:
        """The observation with its prompt as the server would see it: a plain tree, made once an episode."""
        prompt = observation.get("prompt")
        if prompt is None:
            return observation
        if state.prompt is None or state.prompt[0] is not prompt:
            state.prompt = (prompt, plain(prompt))
        return {**observation, "prompt": state.prompt[1]}

    def _kind(self, observation: Observation) -> Hashable:
        """Only fixed batches care, and only they have rows to be stacked with."""
        if self._engine.fixed <= 1:
            return None
        try:
            return signature(flatten({key: value for key, value in observation.items() if key != "prompt"})[0])
        except TreeError as error:
            raise EpisodeError("env_error", str(error)) from None


class Declared(Policy):
    """Gives a policy what it declared and no more, so that it sees the same wherever it runs.

    Cameras it did not name are not sent to it; the prompt is, when its spec says `prompt=True`, as a plain tree.
    """

    def __init__(self, policy: Policy, spec: PolicySpec | None = None) -> None:
        self.policy = policy
        self.spec = spec or policy.spec

    def reset(self, episode: EpisodeKey) -> Any:
        return self.policy.reset(episode)

    def act(self, observations: Sequence[Observation], states: Sequence[Any]) -> Sequence[Any]:
        return self.policy.act([declared(observation, self.spec) for observation in observations], states)


def declared(observation: Observation, spec: PolicySpec) -> Observation:
    """The part of an observation that a policy with this spec is given."""
    if not isinstance(observation, Mapping):
        raise EpisodeError("env_error", f"an observation must be a dict, got {type(observation).__name__}")
    seen = dict(observation)
    if "prompt" in seen and not spec.prompt:
        del seen["prompt"]
    cameras = tuple(spec.conventions.cameras) or spec.cameras
    if cameras and isinstance(seen.get("images"), Mapping):
        seen["images"] = _of_cameras(seen["images"], cameras)
    if "scan" in seen:
        scan = seen.pop("scan")
        if spec.scan:
            seen["scan"] = {**scan, "cameras": _of_cameras(scan["cameras"], spec.scan)}
    return seen


def _of_cameras(pictures: Mapping[str, Any], cameras: Sequence[str]) -> dict[str, Any]:
    """Those of some cameras; the others are not even drawn."""
    return {name: pictures[name] for name in pictures if name in cameras}


def kept(observation: Mapping[str, Any], spec: PolicySpec, cameras: Sequence[str]) -> dict[str, Any]:
    """An observation that stays as it is: pictures of the wanted cameras drawn, everything copied."""
    large = ("images", "prompt", "scan")
    made = {name: deepcopy(value) for name, value in observation.items() if name not in large}
    images = observation.get("images", {})
    made["images"] = {name: np.array(images[name]) for name in images if name in cameras}
    if spec.prompt and observation.get("prompt") is not None:
        made["prompt"] = plain(observation["prompt"])
    if spec.scan and "scan" in observation:
        scan = observation["scan"]
        pictures = {name: scan["cameras"][name] for name in scan["cameras"] if name in spec.scan}
        made["scan"] = plain({**scan, "cameras": pictures})
    return made


def error_of(failure: Failure) -> Exception:
    """The exception a rollout understands."""
    if failure.reason == "policy_error":
        return PolicyError(failure.message)
    return EpisodeError(failure.reason, failure.message)
