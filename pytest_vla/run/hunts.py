"""Hunts as the run file keeps them: what was searched, what was found, and how far each axis held."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from pytest_vla.episode import EpisodeKey, builtin


@dataclass(frozen=True, slots=True)
class Cause:
    """One smallest perturbation that breaks the policy, with the episode that shows it."""

    perturbation: str
    failed: int
    asked: int
    index: int
    shrink_episodes: int = 0
    picture: str = ""
    """The neutral and the failing first frame: a file in the run folder."""


@dataclass(frozen=True, slots=True)
class Reach:
    """One axis on the brittleness map: the lowest level that fails, or how far it was off in solved episodes."""

    fails_at: int | None = None
    together_with: tuple[str, ...] = ()
    holds_to: int = 0
    seen: int = 0
    episodes: int = 0


@dataclass(frozen=True, slots=True)
class Tested:
    """What a hunt has looked at."""

    points: int = 0
    most_axes: int = 0
    severity: int = 0
    pairs: float = 0.0


@dataclass(frozen=True, slots=True)
class HuntStart:
    """The line of type `hunt_start`: what a search follows from besides its answers, so that it can be done again."""

    suite: str
    task: str
    partition: str
    batch: int = 1
    """Probes asked at once."""
    known: tuple[str, ...] = ()
    """Earlier finds, tried first."""

    @property
    def name(self) -> tuple[str, str, str]:
        return (self.suite, self.task, self.partition)

    def to_record(self) -> dict[str, Any]:
        return builtin({"type": "hunt_start", **asdict(self)})  # type: ignore[no-any-return]

    @classmethod
    def from_record(cls, line: Mapping[str, Any]) -> HuntStart:
        """The start behind a line; ValueError, KeyError or TypeError where it is not one that `to_record` writes."""
        names = (str(line["suite"]), str(line["task"]), str(line["partition"]))
        return cls(*names, batch=int(line["batch"]), known=tuple(map(str, line["known"])))


@dataclass(frozen=True, slots=True)
class HuntRecord:
    """The line of type `hunt`, written when the hunt ended; its probes are lines of their own."""

    suite: str
    task: str
    partition: str
    axes: tuple[str, ...] = ()
    episodes: int = 0
    errors: int = 0
    overloads: int = 0
    control: tuple[int, int] = (0, 0)
    """Solved of unperturbed episodes."""
    tested: Tested = field(default_factory=Tested)
    causes: tuple[Cause, ...] = ()
    map: Mapping[str, Reach] = field(default_factory=dict)

    @property
    def where(self) -> str:
        return f"{self.suite}/{self.task}-{self.partition}"

    @property
    def name(self) -> tuple[str, str, str]:
        return (self.suite, self.task, self.partition)

    def episode(self, cause: Cause) -> EpisodeKey:
        """The episode that shows the cause."""
        return EpisodeKey(self.suite, self.task, self.partition, cause.index, cause.perturbation)

    def to_record(self) -> dict[str, Any]:
        return builtin({"type": "hunt", **asdict(self)})  # type: ignore[no-any-return]

    @classmethod
    def from_record(cls, line: Mapping[str, Any]) -> HuntRecord:
        """The hunt behind a line; ValueError, KeyError or TypeError where it is not one that `to_record` writes."""
        solved, controls = line["control"]
        return cls(
            suite=str(line["suite"]),
            task=str(line["task"]),
            partition=str(line["partition"]),
            axes=tuple(map(str, line.get("axes", ()))),
            episodes=int(line["episodes"]),
            errors=int(line.get("errors", 0)),
            overloads=int(line.get("overloads", 0)),
            control=(int(solved), int(controls)),
            tested=_tested(line.get("tested", {})),
            causes=tuple(map(_cause, line["causes"])),
            map={str(axis): _reach(entry) for axis, entry in dict(line["map"]).items()},
        )


def _tested(data: Mapping[str, Any]) -> Tested:
    return Tested(
        int(data.get("points", 0)),
        int(data.get("most_axes", 0)),
        int(data.get("severity", 0)),
        float(data.get("pairs", 0.0)),
    )


def _cause(data: Mapping[str, Any]) -> Cause:
    return Cause(
        str(data["perturbation"]),
        int(data["failed"]),
        int(data["asked"]),
        int(data["index"]),
        int(data.get("shrink_episodes", 0)),
        str(data.get("picture") or ""),
    )


def _reach(data: Mapping[str, Any]) -> Reach:
    fails_at = data.get("fails_at")
    return Reach(
        None if fails_at is None else int(fails_at),
        tuple(map(str, data.get("together_with") or ())),
        int(data.get("holds_to") or 0),
        int(data.get("seen") or 0),
        int(data.get("episodes") or 0),
    )
