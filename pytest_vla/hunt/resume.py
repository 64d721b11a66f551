"""What a resumed run knows of its hunts: finished ones stay as they are, of others every recorded probe answers again.

The search is the same for the same start and the same answers, so that it comes to where it was without an episode.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_vla.run import HuntStart, Record, Run
from pytest_vla.run.plan import HuntName

if TYPE_CHECKING:
    from pytest_vla.hunt.outcome import Answer

Question = tuple[int, str]
"""The index and the perturbation of a probe."""
Scene = Mapping[str, str | float]
"""The features of a scene by name."""


@dataclass(frozen=True)
class Begun:
    """A hunt that did not end."""

    start: HuntStart | None = None
    answers: Mapping[Question, Sequence[Answer]] = field(default_factory=dict)
    """In the order in which they were given: a question may be asked more than once."""
    scenes: Mapping[int, Scene] = field(default_factory=dict)
    """What the scenes are like, by index, where the suite says."""


@dataclass(frozen=True)
class Resumed:
    """The hunts of a run file, for whoever collects and hunts."""

    finished: frozenset[HuntName] = frozenset()
    begun: Mapping[HuntName, Begun] = field(default_factory=dict)

    @classmethod
    def of(cls, run: Run) -> Resumed:
        finished = frozenset(hunt.name for hunt in run.hunts)
        starts = {start.name: start for start in run.hunt_starts}
        answers: dict[HuntName, dict[Question, list[Answer]]] = {}
        scenes: dict[HuntName, dict[int, Scene]] = {}
        for record in run.probes() if finished != starts.keys() else ():
            key = record.planned
            name = (key.suite, key.task, key.partition)
            answers.setdefault(name, {}).setdefault((key.index, key.perturbation), []).append(answer_of(record))
            if record.result.scene:
                scenes.setdefault(name, {})[key.index] = dict(record.result.scene)
        names = (starts.keys() | answers.keys()) - finished
        return cls(
            finished, {name: Begun(starts.get(name), answers.get(name, {}), scenes.get(name, {})) for name in names}
        )

    def to_dict(self) -> dict[str, Any]:
        """In built-in types, for workers."""
        return {
            "finished": [list(name) for name in sorted(self.finished)],
            "begun": [
                {
                    "name": list(name),
                    "start": None if begun.start is None else begun.start.to_record(),
                    "answers": [[*question, list(answers)] for question, answers in begun.answers.items()],
                    "scenes": [[index, dict(scene)] for index, scene in begun.scenes.items()],
                }
                for name, begun in sorted(self.begun.items())
            ],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Resumed:
        begun = {
            _name(entry["name"]): Begun(
                None if entry["start"] is None else HuntStart.from_record(entry["start"]),
                {(index, perturbation): answers for index, perturbation, answers in entry["answers"]},
                dict(entry["scenes"]),
            )
            for entry in data["begun"]
        }
        return cls(frozenset(map(_name, data["finished"])), begun)


def answer_of(record: Record) -> Answer:
    """What a probe says to the search."""
    return record.test == "passed" if record.measured else None


def _name(parts: Sequence[str]) -> HuntName:
    suite, task, partition = parts
    return (suite, task, partition)
