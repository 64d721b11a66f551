"""Perturbations around any environment: its frames, states, words and actions pass through filters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import TYPE_CHECKING, Any

import gymnasium

from pytest_vla.perturb.actions import Actuator
from pytest_vla.perturb.perturbation import Perturbation

if TYPE_CHECKING:
    from pytest_vla.episode import EpisodeKey
    from pytest_vla.suite import Suite

Filter = Callable[[Any], Any]


def perturbed(env: gymnasium.Env[Any, Any], suite: Suite, episode: EpisodeKey) -> gymnasium.Env[Any, Any]:
    """The environment under the perturbation of the episode's key; the very same object when there is none.

    What happens in the scene is the business of the environment itself: its `reset` gets the same key.
    """
    perturbation = Perturbation.parse(episode.perturbation).check(suite)
    if not perturbation:
        return env
    return PerturbedEnv(env, perturbation, episode, lambda last: suite.hold(env, last))


class PerturbedEnv(gymnasium.Wrapper[Any, Any, Any, Any]):
    """One episode's filters. Their draws come from streams of the key, one per axis."""

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        perturbation: Perturbation,
        episode: EpisodeKey,
        hold: Callable[[Any], Any],
    ) -> None:
        super().__init__(env)
        self.perturbation, self.key = perturbation, episode
        self._actuator = Actuator(env.action_space, hold)

    def reset(self, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
        self._frames: dict[str, list[Filter]] = {}
        self._states: dict[str, list[Filter]] = {}
        self._cameras = [axis.cameras_filter(level, self._rng(axis.name)) for axis, level in self._of("cameras")]
        self._wordings: dict[str, str] = {}
        self._prompts: dict[int, tuple[Any, Any]] = {}
        self._text = [axis.text_filter(level, self._rng(axis.name)) for axis, level in self._of("instruction")]
        self._action = [
            axis.action_filter(level, self._rng(axis.name), self._actuator) for axis, level in self._of("action")
        ]
        observation, info = self.env.reset(**kwargs)
        return self._observed(observation), info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(_through(self._action, action))
        return self._observed(observation), reward, terminated, truncated, info

    def _of(self, stage: str) -> list[tuple[Any, int]]:
        return [(axis, level) for axis, level in self.perturbation if axis.stage == stage]

    def _rng(self, axis: str) -> Any:
        return self.key.rng(f"perturbation.{axis}")

    def _observed(self, observation: dict[str, Any]) -> dict[str, Any]:
        seen = dict(observation)
        if self._of("image"):
            seen["images"] = {name: self._frame(name, image) for name, image in observation["images"].items()}
        if self._cameras:
            seen["images"] = _through(self._cameras, seen["images"])
        if self._of("state"):
            seen["state"] = {name: self._state(name, state) for name, state in observation["state"].items()}
        if self._text:
            seen["instruction"] = self._reworded(observation["instruction"])
            if observation.get("prompt") is not None:
                seen["prompt"] = self._prompt(observation["prompt"])
        return seen

    def _frame(self, camera: str, image: Any) -> Any:
        if camera not in self._frames:
            number = len(self._frames)
            self._frames[camera] = [
                axis.image_filter(level, self._rng(axis.name), number) for axis, level in self._of("image")
            ]
        return _through(self._frames[camera], image)

    def _state(self, name: str, state: Any) -> Any:
        if name not in self._states:
            self._states[name] = [
                axis.state_filter(level, self._rng(f"{axis.name}.{name}")) for axis, level in self._of("state")
            ]
        return _through(self._states[name], state)

    def _reworded(self, text: str) -> str:
        if text not in self._wordings:
            self._wordings[text] = _through(self._text, text)
        return self._wordings[text]

    def _prompt(self, prompt: Any) -> Any:
        """The prompt in the same words: a mapping with a `text`, or an object with `text` and `reworded(text)`."""
        if isinstance(prompt, Mapping):
            return {**prompt, "text": self._reworded(prompt["text"])} if "text" in prompt else prompt
        if not hasattr(prompt, "reworded"):
            return prompt
        if id(prompt) not in self._prompts:  # made once, since it may draw its images only when looked at
            self._prompts[id(prompt)] = (prompt, prompt.reworded(self._reworded(prompt.text)))
        return self._prompts[id(prompt)][1]


def _through(filters: list[Filter], value: Any) -> Any:
    return reduce(lambda current, apply: apply(current), filters, value)
