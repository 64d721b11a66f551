"""Hunts as the run file keeps them: what was searched, what was found, and how far each axis held."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from pytest_vla.episode import EpisodeKey, builtin


@dataclass(frozen=True, slots=True)
class Count:
    """Failures of so many episodes."""

    failed: int = 0
    asked: int = 0

    @property
    def rate(self) -> float:
        return self.failed / self.asked if self.asked else 0.0

    def add(self, failed: bool) -> Count:
        return Count(self.failed + failed, self.asked + 1)


@dataclass(frozen=True, slots=True)
class Condition:
    """In which scenes a cause fails, by a feature of theirs; both counts are on the scenes that measured the cause."""

    feature: str
    relation: str
    """`=`, `<` or `>`."""
    value: str | float
    inside: Count = Count()
    outside: Count = Count()

    def __str__(self) -> str:
        return f"{self.feature} {self.relation} {self.value}"

    def holds(self, scene: Mapping[str, str | float]) -> bool:
        """Whether a scene is one of them; one without the feature is not."""
        there = scene.get(self.feature)
        if self.relation == "=" or isinstance(self.value, str):
            return there == self.value
        if there is None or isinstance(there, str):
            return False
        return there < self.value if self.relation == "<" else there > self.value


@dataclass(frozen=True, slots=True)
class Lower:
    """The same cause one level lower, on the same scenes."""

    perturbation: str
    count: Count


@dataclass(frozen=True, slots=True)
class Cause:
    """One smallest perturbation that makes the policy fail more often, with the episode that shows it."""

    perturbation: str
    failed: int
    asked: int
    """Scenes that had no part in finding it; in so many of them it failed."""
    index: int
    shrink_episodes: int = 0
    picture: str = ""
    """The neutral and the failing first frame: a file in the run folder."""
    confirmed: Count = Count()
    """On the scenes that confirmed it: no estimate, since it was confirmed because they failed."""
    lower: Lower | None = None
    condition: Condition | None = None
    also: tuple[str, ...] = ()
    """Other perturbations that fail in the same scenes: the same cause by another name."""

    @property
    def rate(self) -> Count:
        return Count(self.failed, self.asked)


@dataclass(frozen=True, slots=True)
class Reach:
    """One axis on the brittleness map: the lowest level that fails, or how far it was seen to hold."""

    fails_at: int | None = None
    together_with: tuple[str, ...] = ()
    holds_to: int = 0
    """Up to this level, in either direction, it failed no more often than without it."""
    seen: int = 0
    """Levels off neutral that hold."""
    episodes: int = 0
    failed: int = 0
    """Of these episodes, in which the axis was off and no cause explains a failure."""
    doubtful: Count | None = None
    """Beyond `holds_to`: more failures than without the axis, though no cause was confirmed."""


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
    seed: int = 0
    """Of its random draws."""

    @property
    def name(self) -> tuple[str, str, str]:
        return (self.suite, self.task, self.partition)

    def to_record(self) -> dict[str, Any]:
        return builtin({"type": "hunt_start", **asdict(self)})  # type: ignore[no-any-return]

    @classmethod
    def from_record(cls, line: Mapping[str, Any]) -> HuntStart:
        """The start behind a line; ValueError, KeyError or TypeError where it is not one that `to_record` writes."""
        names = (str(line["suite"]), str(line["task"]), str(line["partition"]))
        known = tuple(map(str, line["known"]))
        return cls(*names, batch=int(line["batch"]), known=known, seed=int(line.get("seed", 0)))


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
    unconfirmed: int = 0
    """Failing points that came to nothing: chance, or too rare to be confirmed."""
    known: tuple[int, int] = (0, 0)
    """Earlier finds that still fail, of those that were tried again."""

    @property
    def base(self) -> Count:
        """Failures of the policy's own, without perturbation."""
        solved, asked = self.control
        return Count(asked - solved, asked)

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
            unconfirmed=int(line.get("unconfirmed", 0)),
            known=_pair(line.get("known", (0, 0))),
        )


def _tested(data: Mapping[str, Any]) -> Tested:
    return Tested(
        int(data.get("points", 0)),
        int(data.get("most_axes", 0)),
        int(data.get("severity", 0)),
        float(data.get("pairs", 0.0)),
    )


def _pair(data: Any) -> tuple[int, int]:
    first, second = data
    return int(first), int(second)


def _count(data: Mapping[str, Any] | None) -> Count:
    return Count(int(data["failed"]), int(data["asked"])) if data else Count()


def _lower(data: Mapping[str, Any] | None) -> Lower | None:
    return Lower(str(data["perturbation"]), _count(data["count"])) if data else None


def _condition(data: Mapping[str, Any] | None) -> Condition | None:
    if not data:
        return None
    value = data["value"] if isinstance(data["value"], str) else float(data["value"])
    counts = _count(data["inside"]), _count(data["outside"])
    return Condition(str(data["feature"]), str(data["relation"]), value, *counts)


def _cause(data: Mapping[str, Any]) -> Cause:
    return Cause(
        str(data["perturbation"]),
        int(data["failed"]),
        int(data["asked"]),
        int(data["index"]),
        int(data.get("shrink_episodes", 0)),
        str(data.get("picture") or ""),
        _count(data.get("confirmed")),
        _lower(data.get("lower")),
        _condition(data.get("condition")),
        tuple(map(str, data.get("also") or ())),
    )


def _reach(data: Mapping[str, Any]) -> Reach:
    fails_at = data.get("fails_at")
    return Reach(
        None if fails_at is None else int(fails_at),
        tuple(map(str, data.get("together_with") or ())),
        int(data.get("holds_to") or 0),
        int(data.get("seen") or 0),
        int(data.get("episodes") or 0),
        int(data.get("failed") or 0),
        _count(data["doubtful"]) if data.get("doubtful") else None,
    )
