"""The prompt-ablation control: the same episode with a prompt that says nothing, or something else.

A policy that scores the same without its prompt does not read it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_vla.suggest import unknown

from .kit.prompt import PromptSpec, blank, shuffled

if TYPE_CHECKING:
    from pytest_vla.episode import EpisodeKey

    from .kit.task import Task

ABLATIONS = ("normal", "blank", "shuffled", "contradicting")
_TRIES = 20


def read_perturbation(text: str) -> str | None:
    """The ablation that a perturbation text such as `prompt=blank` asks for."""
    for part in text.split(","):
        axis, _, level = part.strip().partition("=")
        if axis == "prompt":
            if level not in ABLATIONS:
                raise ValueError(unknown("prompt ablation", level, list(ABLATIONS)))
            return level
    return None


def ablate(spec: PromptSpec, kind: str, task: Task, episode: EpisodeKey, strict: bool) -> PromptSpec:
    """The prompt under an ablation; draws come from streams of their own, so the scene stays bit for bit the same."""
    if kind == "blank":
        return blank(spec)
    if kind == "shuffled":
        return shuffled(spec, episode.rng("prompt.shuffled"))
    if kind == "contradicting":
        return _contradicting(spec, task, episode, strict)
    return spec


def _contradicting(spec: PromptSpec, task: Task, episode: EpisodeKey, strict: bool) -> PromptSpec:
    """The prompt of another episode of the same task: well-formed, and asking for something else."""
    for attempt in range(_TRIES):
        other = task.instance(episode, strict=strict, stream=f"prompt.contradicting.{attempt}").prompt
        if other != spec:
            return other
    return other
