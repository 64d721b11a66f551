"""The environment of a suite of tasks: one gymnasium env for all of them, told by the episode's key which to be."""

from __future__ import annotations

from typing import Any

import gymnasium

from pytest_vla.episode import EpisodeKey
from pytest_vla.kit.goals import Verdict

Observation = dict[str, Any]
Step = tuple[Observation, float, bool, bool, dict[str, Any]]


class TaskEnv(gymnasium.Env[Observation, Any]):
    """Any task of a suite in one world that is kept from episode to episode.

    A suite writes `step` and what is not implemented here.
    """

    success_ends = True
    """Whether a success ends the episode; where it must hold to the horizon it ends nothing."""

    def start(self, episode: EpisodeKey, edits: Any) -> None:
        """Make the world that of the episode, changed as its perturbation says (and by `edits`, if there are any)."""
        raise NotImplementedError

    def observe(self) -> Observation:
        raise NotImplementedError

    def progress(self) -> float:
        """How much of the task is done, 0..1."""
        raise NotImplementedError

    def digest(self) -> str:
        """A hash of the full physical state."""
        raise NotImplementedError

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Observation, Any]:
        """Start the episode of `options["episode"]`; `options["edits"]` take the place of its own edits.

        The key alone decides every draw; `seed` follows from it and is not looked at.
        """
        options = options or {}
        if "episode" not in options:
            raise ValueError('reset() needs options={"episode": suite.episode(task, partition, index)}')
        self.episode: EpisodeKey = options["episode"]
        self.start(self.episode, options.get("edits"))
        return self.observe(), {}

    def outcome(self, verdict: Verdict, reason: str = "constraint_violated") -> Step:
        """What `step` returns after this verdict; `reason` is why a lost episode is lost."""
        info: dict[str, Any] = {"success": verdict.success}
        if verdict.failure:
            info |= {"failure": reason, "message": verdict.failure}
        over = bool(verdict.failure) or (verdict.success and self.success_ends)
        return self.observe(), float(verdict.success), over, False, info
