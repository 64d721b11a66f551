"""A question as an environment: one step that is the answer, or a step for each turn of a conversation."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np

from pytest_vla.answers.answer import FIELD, Answer
from pytest_vla.answers.forms import CALL
from pytest_vla.episode import EpisodeKey
from pytest_vla.kit.images import LazyImages
from pytest_vla.perturb import CONTRADICTION, Perturbation
from pytest_vla.policies.base import Observation, Policy

from .judge import INVALID_OUTPUT, Setting, as_text, judged, label_text, solves
from .sample import CAMERA, Sample, Source, space_of

Step = tuple[dict[str, Any], float, bool, bool, dict[str, Any]]
ELSEWHERE = 10_007  # how far away the sample is whose words contradict a picture


class QuestionEnv(gymnasium.Env[dict[str, Any], Any]):
    """The samples of one task, in any partition."""

    def __init__(
        self, output: str, setting: Setting, source_of: Callable[[str], Source], space: gymnasium.Space[Any]
    ) -> None:
        """`space` stands in for that of the data, which is known when an episode says which."""
        self.setting, self._source_of, self._output = setting, source_of, output
        self.action_space = space
        self._partition = ""
        self.observation_space = gymnasium.spaces.Dict({})

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[dict[str, Any], Any]:
        key: EpisodeKey = (options or {})["episode"]
        source = self._source_of(key.partition)
        self.sample = source.sample(key)
        if key.partition != self._partition:
            self._partition = key.partition
            self.action_space = space_of(self._output, source)
            self.setting = replace(self.setting, statistics=source.statistics)
        self.answers: list[Any] = []
        self.answer: Answer | None = None
        self._told = _contradicting(source, key)
        return self._observe(), {}

    def step(self, action: Any) -> Step:
        self.answers.append(action)
        over = len(self.answers) >= max(1, len(self.sample.turns))
        if not over:
            return self._observe(), 0.0, False, False, {"success": False}
        other = label_text(self._told) if self._told is not None else ""
        self.answer = judged(self.sample, self.answers, self.setting, other)
        return self._observe(), self.answer.strict, True, False, _info(self.answer)

    def digest(self) -> str:
        """Of the question and of what was answered so far."""
        state = hashlib.blake2b(digest_size=16)
        for part in (self.sample.id, self.sample.question, label_text(self.sample), *map(as_text, self.answers)):
            state.update(part.encode(errors="surrogatepass") + b"\0")
        return state.hexdigest()

    def right_answer(self) -> Any:
        """What solves the sample, or the turn that it is at."""
        if self.sample.turns:
            turn = min(len(self.answers), len(self.sample.turns) - 1)
            return "\n".join(self.sample.turns[turn].label) or "[]"
        return self.sample.label

    def _observe(self) -> dict[str, Any]:
        sample = self.sample
        images = {} if sample.image is None else LazyImages((CAMERA,), lambda _: _rgb(sample))
        observation = {"images": images, "state": dict(sample.state), "instruction": self._instruction()}
        return {**observation, **asking(self._output, dict(sample.signatures))}

    def _instruction(self) -> str:
        told = self._told or self.sample
        if not told.turns:
            return told.instruction
        return told.turns[min(len(self.answers), len(told.turns) - 1)].instruction


class RightAnswers(Policy):
    """Knows what is right."""

    def __init__(self, env: QuestionEnv) -> None:
        self.env = env

    def act(self, observations: Sequence[Observation], states: Sequence[Any]) -> list[Any]:
        return [self.env.right_answer() for _ in observations]


def asking(output: str, functions: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """What an observation says besides: the type that is asked for, and the functions that may be called."""
    if output != CALL:
        return {"asks": output}
    tools = [{"name": name, "parameters": list(parameters)} for name, parameters in functions.items()]
    return {"asks": output, "tools": tools}


def _info(answer: Answer) -> dict[str, Any]:
    """Right, wrong, or nothing that could be read; whatever it is, the run file keeps it."""
    info: dict[str, Any] = {"success": solves(answer), "kept": {FIELD: answer.to_record()}}
    if answer.invalid:
        message = f"{answer.invalid.replace('_', ' ')}: {answer.asked.replace('_', ' ')} was asked for"
        info |= {"success": False, "failure": INVALID_OUTPUT, "message": message}
    return info


def _contradicting(source: Source, key: EpisodeKey) -> Sample | None:
    """The sample whose words are said, where a perturbation lets them contradict the picture."""
    level = Perturbation.parse(key.perturbation).level(CONTRADICTION)
    if not level:
        return None
    here = source.sample(replace(key, perturbation=""))
    for attempt in range(20):  # labels must differ, or there is no contradiction
        index = key.index + level * ELSEWHERE + attempt
        other = replace(key, index=index if source.holds(index) else index % len(source))
        found = source.sample(other)
        if label_text(found) != label_text(here):
            return found
    return None


def _rgb(sample: Sample) -> np.ndarray[Any, Any]:
    assert sample.image is not None
    image = np.asarray(sample.image(), np.uint8)
    return image[..., :3] if image.ndim == 3 else np.repeat(image[..., None], 3, axis=-1)
