"""The observe, act, step loop of one episode: its termination protocol, its limits, and why it ended."""

from __future__ import annotations

import hashlib
import math
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

from pytest_vla.deadline import DeadlineExceeded, deadline
from pytest_vla.drawing import drawing
from pytest_vla.episode import UNSOLVED_REASONS, EpisodeError, EpisodeKey, Outcome, Result, writable
from pytest_vla.policies.base import PolicyError
from pytest_vla.registry import get_suite
from pytest_vla.suite import Suite, Termination

if TYPE_CHECKING:
    import gymnasium

    from pytest_vla.lockstep import Together
    from pytest_vla.perturb import Perturbation
    from pytest_vla.policies.base import Policy

DEFAULT_TIMEOUT_S = 300.0  # without a step: longer than any model takes to load or to answer


@dataclass(frozen=True, slots=True)
class Step:
    """The state a rollout came to, and the action that led there; the first state follows from no action."""

    observation: Any
    action: Any
    progress: float | None
    success: bool


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the running pytest item wants of a rollout: how long it may be silent, and to hear of steps and result."""

    timeout: float = DEFAULT_TIMEOUT_S
    on_result: Callable[[Result], None] = lambda result: None
    on_step: Callable[[Step], None] = lambda step: None
    upcoming: Sequence[EpisodeKey] = ()
    """Episodes that will be asked for next: a suite that plays many at once plays them along."""
    together: Together | None = None
    """Where they are played along; None where every episode runs alone."""


surroundings: ContextVar[Surroundings] = ContextVar("surroundings", default=Surroundings())  # noqa: B039


def rollout(
    policy: Policy,
    env: gymnasium.Env[Any, Any],
    episode: EpisodeKey,
    perturbation: str | Perturbation | None = None,
    *,
    timeout: float | None = None,
) -> Result:
    """Run one episode from its key to its result.

    Args:
        policy: what acts; it is asked with a batch of one.
        env: an environment of the episode's suite, in any state: it is reset here.
        episode: the key; it alone determines the scene.
        perturbation: applied in place of the key's own.
        timeout: seconds without a step after which the episode counts as hanging; None takes the run's `--vla-timeout`.

    Returns:
        A Result that is true when the task was solved. Nothing a policy or a simulator raises escapes: it becomes
        an error result with a reason.
    """
    suite = get_suite(episode.suite)
    if perturbation is not None:
        from pytest_vla.perturb import Perturbation

        episode = replace(episode, perturbation=str(Perturbation.parse(str(perturbation)).check(suite)))
    around = surroundings.get()
    limit = around.timeout if timeout is None else timeout
    if suite.batch > 1 and around.together is not None:
        played = around.together.played(suite, policy, env, episode, around.upcoming, limit)
        if played is not None and played.result.reason != "server_lost":
            for step in played.steps:
                around.on_step(step)
            around.on_result(played.result)
            return played.result
    result = _attempted(suite, policy, env, episode, limit)
    if result.reason == "server_lost":  # the policy's server went away, and with it what it knew of the episode
        result = _attempted(suite, policy, env, episode, limit)
    around.on_result(result)
    return result


def _attempted(suite: Suite, policy: Policy, env: gymnasium.Env[Any, Any], episode: EpisodeKey, limit: float) -> Result:
    """The episode played once."""
    attempt = Attempt(suite, policy, env, episode)
    start = perf_counter()
    try:
        with deadline(limit) as alive:
            outcome, reason, message = attempt.run(alive)
    except DeadlineExceeded as error:
        outcome, reason, message = "error", "timeout", f"{error} ({attempt.phase})"
    except EpisodeError as error:
        outcome, reason, message = "error", error.reason, str(error)
    return writable(attempt.result(outcome, reason, message, perf_counter() - start))


class Attempt:
    """The running state of one rollout, so that whatever ends it, the result says how far it came."""

    def __init__(self, suite: Suite, policy: Policy, env: gymnasium.Env[Any, Any], episode: EpisodeKey) -> None:
        self.suite, self.policy, self.env, self.episode = suite, policy, env, episode
        self.phase = "reset"
        self.limit = suite.step_limit(episode.task)
        self.steps = 0
        self.first_success: int | None = None
        self.progress: float | None = None
        self.instruction = ""
        self.scene: Mapping[str, str | float] = {}
        self.initial_digest = ""
        self.states = hashlib.blake2b(digest_size=16)
        self.timings = {"reset": 0.0, "draw": 0.0, "act": 0.0, "step": 0.0}
        self.state: Any = None
        self.kept: Mapping[str, Any] = {}
        self.space = ""

    def run(self, alive: Callable[[], None]) -> tuple[Outcome, str | None, str]:
        observation = self._guard("reset", "env_error", self._reset)
        alive()
        surroundings.get().on_step(Step(observation, None, self.progress, False))
        state = self.state = self._guard("act", "policy_error", lambda: self.policy.reset(self.episode))
        verdict = self.verdict(terminated=False, info={})
        while verdict is None:
            action = self._guard("act", "policy_error", lambda: self._act(observation, state))  # noqa: B023
            observation, terminated, info = self._guard("step", "env_error", lambda: self._step(action))  # noqa: B023
            alive()
            surroundings.get().on_step(Step(observation, action, self.progress, bool(info.get("success", False))))
            verdict = self.verdict(terminated, info)
        return verdict

    def verdict(self, terminated: bool, info: Mapping[str, Any]) -> tuple[Outcome, str | None, str] | None:
        """How the episode came out, by its last step; None where it goes on."""
        success, failure = bool(info.get("success", False)), info.get("failure")
        if success and self.first_success is None:
            self.first_success = self.steps
        if failure:
            return "unsolved", known_failure(failure), str(info.get("message", ""))
        ends = terminated or self.steps >= self.limit
        if success and (ends or self.suite.termination is Termination.ON_SUCCESS):
            return "solved", None, ""
        if not ends:
            return None
        return "unsolved", "terminated" if terminated else "step_limit", ""

    def result(self, outcome: Outcome, reason: str | None, message: str, seconds: float) -> Result:
        undone = self.first_success if outcome == "unsolved" else None
        if undone is not None and not message:
            message = f"solved at step {undone}, but no longer at the end"
        return Result(
            episode=self.episode,
            outcome=outcome,
            reason=reason,
            message=message or getattr(self.state, "remark", ""),  # what a policy has to say of its own
            steps=self.steps,
            progress=self.progress,
            digest=self.states.hexdigest() if self.initial_digest else "",
            initial_digest=self.initial_digest,
            seconds=seconds,
            timings={**self.timings, **getattr(self.state, "timings", {})},  # a remote policy says where `act` went
            instruction=self.instruction,
            scene=self.scene,
            made_with=self.suite.provenance(),
            extra=self.kept if undone is None else {**self.kept, "first_success": undone},
        )

    def _reset(self) -> Any:
        options = {"episode": self.episode}
        self.outer = self._perturbed()
        observation, _ = self.outer.reset(seed=self.episode.seed(), options=options)
        self.space = self._described()
        self.begin(observation, self.suite.features(self.env), self.suite.digest(self.env))
        self.progress = measured(self.suite.progress(self.env))
        return observation

    def begin(self, observation: Any, scene: Mapping[str, str | float], digest: str) -> None:
        """Note what an episode starts from."""
        self.instruction = str(observation.get("instruction", "")) if isinstance(observation, dict) else ""
        self.scene = scene
        self.initial_digest = digest
        self.states.update(digest.encode())

    def _perturbed(self) -> gymnasium.Env[Any, Any]:
        """What the policy acts in: the environment itself unless the key says otherwise."""
        if not self.episode.perturbation:
            return self.env
        from pytest_vla.perturb import perturbed

        return perturbed(self.env, self.suite, self.episode)

    def _described(self) -> str:
        """The action space in words, for a policy that asks for it."""
        if not getattr(getattr(self.policy, "spec", None), "space", False):
            return ""
        from pytest_vla.policies.spaces import described

        return described(self.env.action_space)

    def _act(self, observation: Any, state: Any) -> Any:
        actions = self.policy.act([{**observation, "space": self.space} if self.space else observation], [state])
        try:
            count = len(actions)
        except TypeError:
            raise PolicyError(f"act() must return a list of actions, got {type(actions).__name__}") from None
        if count != 1:
            raise PolicyError(f"act() got 1 observation and returned {count} actions; it must return one for each")
        return self.checked(actions[0])

    def checked(self, action: Any) -> Any:
        """A policy's action as the environment takes it."""
        rotation = getattr(getattr(self.policy, "spec", None), "rotation", None)
        given = action if rotation is None else self.suite.action(action, rotation)
        return self.suite.accept(given, self.env.action_space)

    def _step(self, action: Any) -> tuple[Any, bool, dict[str, Any]]:
        observation, _, terminated, truncated, info = self.outer.step(action)
        self.steps += 1
        self.kept = info.get("kept", self.kept)
        self.states.update(self.suite.digest(self.env).encode())
        self.progress = measured(self.suite.progress(self.env))
        return observation, bool(terminated or truncated), info

    def _guard(self, phase: str, reason: str, call: Callable[[], Any]) -> Any:
        """Time one call and turn what it raises into an episode error with the reason of its side."""
        self.phase = phase
        start, drawn = perf_counter(), drawing.seconds
        try:
            return call()
        except (DeadlineExceeded, EpisodeError):
            raise
        except PolicyError as error:
            raise EpisodeError("policy_error", str(error)) from error
        except Exception as error:
            raise EpisodeError(reason, "".join(traceback.format_exception(error)).rstrip()) from error
        finally:
            drew = drawing.seconds - drawn if phase == "act" else 0.0  # pictures are drawn when a policy looks
            self.timings["draw"] += drew
            self.timings[phase] += perf_counter() - start - drew


def measured(progress: float | None) -> float | None:
    """The progress, where it is one."""
    if progress is not None and not math.isfinite(progress):
        raise ValueError(f"progress() must be None or a number within 0..1, got {progress}")
    return progress


def known_failure(failure: object) -> str:
    """A failure by a name of its own would be counted nowhere: that is a defect of the environment."""
    if failure not in UNSOLVED_REASONS:
        raise EpisodeError(
            "env_error", f"info['failure'] must be one of {', '.join(UNSOLVED_REASONS)}, got {failure!r}"
        )
    return str(failure)
