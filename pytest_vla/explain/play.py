"""Masks held for a whole episode: does hiding a word or a place change what the robot does in the end?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_vla.explain.errors import ExplainError
from pytest_vla.explain.interventions import HIDDEN, Ablation, Intervention, Patch, Span
from pytest_vla.inference.local import kept
from pytest_vla.policies.base import Observation, Policy
from pytest_vla.replay import Replayer, suite_of
from pytest_vla.rollout import Step

if TYPE_CHECKING:
    from pytest_vla.episode import EpisodeKey
    from pytest_vla.explain.episodes import Episode
    from pytest_vla.policies import PolicySource, PolicySpec
    from pytest_vla.run import Record
    from pytest_vla.suite import Suite

MOST_SPANS = 5


class Masked(Policy):
    """A policy that never sees a part of what there is."""

    def __init__(self, policy: Policy, change: Intervention | None, spec: PolicySpec, cameras: Sequence[str]) -> None:
        self.policy, self.change, self.cameras = policy, change, tuple(cameras)
        self.spec, self._asked = policy.spec, spec

    def reset(self, episode: EpisodeKey) -> Any:
        return self.policy.reset(episode)

    def act(self, observations: Sequence[Observation], states: Sequence[Any]) -> Sequence[Any]:
        if self.change is None:
            return self.policy.act(observations, states)
        seen = [kept(observation, self._asked, self.cameras) for observation in observations]
        return self.policy.act([self.change.apply(each) for each in seen], states)


@dataclass(frozen=True, slots=True)
class Mask:
    name: str
    change: Intervention | None


def masks_of(episode: Episode, typed: Sequence[str] = ()) -> list[Mask]:
    """None, those that a person named, or the words and the place with the largest effects, and no words at all."""
    told = episode.record.result.instruction
    masked = any(step.masked for step in episode.steps)
    chosen: list[Mask] = [Mask("nothing hidden", None)]
    if typed:
        return chosen + [Mask(f"'{text}' hidden", _span(told, text, masked)) for text in typed]
    best: dict[str, tuple[float, Span]] = {}
    for step in episode.steps:
        for each in step.spans if step.above("spans") else ():
            if isinstance(each.change, Span) and each.effect > best.get(each.name, (0.0, None))[0]:
                best[each.name] = each.effect, each.change
    ranked = sorted(best.values(), key=lambda each: -each[0])[:MOST_SPANS]
    chosen += [Mask(f"'{span.text}' hidden", span) for _, span in ranked]
    for step in episode.steps:
        cells = [cell for cell in step.cells if step.above(f"patches {cell.camera}")]
        if cells:
            top = max(cells, key=lambda cell: cell.effect)
            box = next(v.what for name, v in step.verdicts.items() if name == f"patches {top.camera}")
            x0, y0, x1, y1 = (int(each) for each in box.strip("[]").split(","))
            chosen.append(Mask(f"patch {box} of {top.camera} hidden", Patch(top.camera, (x0, y0, x1, y1))))
            break
    return [*chosen, Mask("all words hidden", Ablation("instruction", HIDDEN))] if told else chosen


def check_masks(record: Record, typed: Sequence[str]) -> None:
    """ExplainError for words that the instruction does not have."""
    told = record.result.instruction
    for text in typed:
        if not text or text not in told:
            raise ExplainError(f"--mask {text!r} is not in the instruction {told!r}")


def _span(told: str, text: str, masked: bool) -> Span:
    start = told.index(text)
    return Span(start, start + len(text), text, masked)


def play(
    source: PolicySource,
    replayer: Replayer,
    record: Record,
    masks: Sequence[Mask],
    cameras: Sequence[str],
    tell: Callable[[str], None] = lambda line: None,
) -> list[dict[str, Any]]:
    """The episode from its key with each mask held: outcome, and the way of the gripper from above."""
    suite = suite_of(record, replayer.trust)
    played = []
    for mask in masks:
        tell(f"explain: playing with {mask.name} ...")
        way = Way(suite)
        result = replayer.run_with(
            record,
            lambda suite, env: Masked(source.bind(suite, env), mask.change, source.spec, cameras),  # noqa: B023
            way.add,
        )
        outcome = f"{result.outcome}: {result.reason}" if result.reason else result.outcome
        played.append({"mask": mask.name, "outcome": outcome, "steps": result.steps, "path": way.points})
    return played


class Way:
    """Where the gripper was, from the state or else from where actions went: x and y in metres."""

    def __init__(self, suite: Suite) -> None:
        self.suite = suite
        self.points: list[list[float]] = []

    def add(self, step: Step) -> None:
        for point in self._places(step):
            self.points.append([round(float(point[0]), 4), round(float(point[1]), 4)])

    def _places(self, step: Step) -> list[Any]:
        conventions = self.suite.conventions
        start = 0
        state = step.observation.get("state", {}) if isinstance(step.observation, dict) else {}
        used: dict[str, int] = {}
        for part in conventions.state:
            first = used.get(part.name, 0)
            used[part.name] = first + part.size
            if part.kind == "position" and part.name in state:
                return [np.ravel(state[part.name])[first : first + part.size]]
        if step.action is None:
            return []
        vector, found = self.suite.flatten_action(step.action), []
        for part in conventions.action:
            if part.kind == "position" and part.mode == "absolute":
                found.append(vector[start : start + part.size])
            start += part.size
        return found
