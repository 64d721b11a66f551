"""What one episode is (its key), which random draws follow from it, and what came out of it (its result)."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    import numpy as np

Outcome = Literal["solved", "unsolved", "error"]

UNSOLVED_REASONS = ("step_limit", "constraint_violated", "invalid_action", "invalid_output", "terminated")
ERROR_REASONS = ("policy_error", "env_error", "timeout", "server_lost", "worker_lost", "test_error")
REASONS: Mapping[str, tuple[str | None, ...]] = {
    "solved": (None,),
    "unsolved": UNSOLVED_REASONS,
    "error": ERROR_REASONS,
}


class EpisodeError(Exception):
    """An episode ended for a reason that is nobody's measurement; `reason` is one of ERROR_REASONS."""

    def __init__(self, reason: str, message: str) -> None:
        if reason not in ERROR_REASONS:
            raise ValueError(f"an episode's error is one of {', '.join(ERROR_REASONS)}, not {reason!r}")
        super().__init__(message)
        self.reason = reason


class Cell(NamedTuple):
    """The group of episodes whose success rate is one number."""

    suite: str
    task: str
    partition: str
    perturbation: str = ""

    def __str__(self) -> str:
        """`suite/task/partition perturbation`."""
        return " ".join(filter(None, ("/".join(self[:3]), self.perturbation)))


@dataclass(frozen=True, slots=True)
class EpisodeKey:
    """One seeded instance of a task. The key (and the suite's version) alone determines every random draw.

    A perturbation is part of the key but not of the seed: the perturbed episode and its control are the same scene.
    The version is part of the seed but not of the key: the n-th episode of a task is that in every version.
    """

    suite: str
    task: str
    partition: str
    index: int
    perturbation: str = ""
    version: str = field(default="1", compare=False)
    repeat: int = 0  # the same episode once more (`--vla-repeat`); no part of the seed either

    def __str__(self) -> str:
        return f"{self.suite}/{self.id}"

    @property
    def id(self) -> str:
        """The text between the brackets of the pytest node id; it does not depend on how many episodes are run."""
        text = f"{self.task}-{self.partition}-{self.index:02d}"
        text = f"{text}-{self.perturbation}" if self.perturbation else text
        return f"{text}-r{self.repeat}" if self.repeat else text

    @property
    def cell(self) -> Cell:
        return Cell(self.suite, self.task, self.partition, self.perturbation)

    def seed(self, stream: str = "scene") -> int:
        """A 128-bit seed for one named stream of draws (``scene``, ``policy``, ``perturbation``, ...)."""
        text = "\0".join((self.suite, self.version, self.task, self.partition, str(self.index), stream))
        return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=16).digest(), "little")

    def rng(self, stream: str = "scene") -> np.random.Generator:
        """A fresh numpy generator for one named stream, the same in every process and at any ``-n``."""
        import numpy as np

        return np.random.default_rng(np.random.SeedSequence(self.seed(stream)))


@dataclass(frozen=True)
class Result:
    """The outcome of one rollout. It is true when the task was solved, and says why when it was not."""

    episode: EpisodeKey
    outcome: Outcome
    reason: str | None = None
    message: str = ""
    steps: int = 0
    progress: float | None = None
    digest: str = ""
    initial_digest: str = ""
    seconds: float = 0.0
    timings: dict[str, float] = field(default_factory=dict)
    instruction: str = ""
    scene: Mapping[str, str | float] = field(default_factory=dict)
    """What the scene is like, as drawn: see `Suite.features`."""
    made_with: Mapping[str, str] = field(default_factory=dict)
    """What the episode depends on besides its key, such as the renderer: see `Suite.provenance`."""
    actions: Mapping[str, Any] | None = None
    """What the policy did, as `run.trace` writes it."""
    curve: list[float | None] | None = None
    """The progress after every step."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the line in the run file."""

    def __post_init__(self) -> None:
        if self.reason not in REASONS.get(self.outcome, ()):
            allowed = ", ".join(map(str, REASONS.get(self.outcome, ())))
            raise ValueError(f"an episode that is {self.outcome} has one of the reasons {allowed}, not {self.reason!r}")

    def __bool__(self) -> bool:
        return self.outcome == "solved"

    @property
    def ending(self) -> str:
        """In two words: `solved`, or `unsolved: step_limit`."""
        return f"{self.outcome}: {self.reason}" if self.reason else self.outcome

    def __str__(self) -> str:
        progress = "" if self.progress is None else f", progress {self.progress:.2f}"
        detail = f"\n{self.message}" if self.message else ""
        return f"{self.episode} {self.ending} after {self.steps} steps{progress}{detail}"

    def to_record(self) -> dict[str, Any]:
        """The line of the run file: built-in types only, so that it crosses processes and reads back equal."""
        return dict(self._line)

    @cached_property
    def _line(self) -> dict[str, Any]:
        """Made once: it is checked where the episode ends, and written where the run file is."""
        key = self.episode
        return builtin(  # type: ignore[no-any-return]
            {
                "type": "episode",
                "suite": key.suite,
                "task": key.task,
                "partition": key.partition,
                "index": key.index,
                "perturbation": key.perturbation,
                "version": key.version,
                "repeat": key.repeat,
                "outcome": self.outcome,
                "reason": self.reason,
                "steps": self.steps,
                "progress": self.progress,
                "digest": self.digest,
                "initial_digest": self.initial_digest,
                "seconds": round(self.seconds, 6),
                "timings": {name: round(value, 6) for name, value in self.timings.items()},
                "instruction": self.instruction,
                "message": self.message,
                **({"scene": self.scene} if self.scene else {}),
                "made_with": self.made_with,
                **({} if self.actions is None else {"actions": self.actions}),
                **({} if self.curve is None else {"curve": self.curve}),
                **self.extra,
            }
        )

    @cached_property
    def text(self) -> str:
        """The same line as JSON; ValueError or TypeError where a value is none that a run file can hold."""
        text = json.dumps(self._line, ensure_ascii=False, allow_nan=False)
        text.encode()  # half a surrogate pair is no text
        return text

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Result:
        """The result behind a line of the run file; ValueError where the line is not one that `to_record` writes."""
        left = {name: value for name, value in record.items() if name != "type"}
        key = EpisodeKey(
            suite=_text(left, "suite"),
            task=_text(left, "task"),
            partition=_text(left, "partition"),
            index=_count(left, "index"),
            perturbation=_text(left, "perturbation", ""),
            version=_text(left, "version", ""),
            repeat=_count(left, "repeat", 0),
        )
        outcome: Any = _text(left, "outcome")
        reason = left.pop("reason", None)
        timings, made_with = left.pop("timings", None) or {}, left.pop("made_with", None) or {}
        scene = left.pop("scene", None) or {}
        actions, curve = left.pop("actions", None), left.pop("curve", None)
        progress = left.pop("progress", None)
        if progress is not None:
            progress = _number(progress, "progress")
        for name, value, kinds in (
            ("timings", timings, dict),
            ("made_with", made_with, dict),
            ("scene", scene, dict),
            ("actions", actions, (dict, type(None))),
            ("curve", curve, (list, type(None))),
        ):
            if not isinstance(value, kinds):
                raise ValueError(f"{name} is a {type(value).__name__}")
        for value in curve or ():
            if value is not None:
                _number(value, "a value of the curve")
        return cls(
            episode=key,
            outcome=outcome,
            reason=reason,
            message=_text(left, "message", ""),
            steps=_count(left, "steps", 0),
            progress=progress,
            digest=_text(left, "digest", ""),
            initial_digest=_text(left, "initial_digest", ""),
            seconds=_number(left.pop("seconds", 0.0), "seconds"),
            timings={name: _number(value, name) for name, value in timings.items()},
            instruction=_text(left, "instruction", ""),
            scene={name: item if isinstance(item, str) else _number(item, name) for name, item in scene.items()},
            made_with=made_with,
            actions=actions,
            curve=curve,
            extra=left,
        )


def writable(result: Result) -> Result:
    """The result, or the error that it is where its values are none that a run file can hold, such as NaN."""
    try:
        result.text  # noqa: B018
        Result.from_record(result.to_record())
    except (TypeError, ValueError, RecursionError) as problem:
        reason = result.reason if result.outcome == "error" else "env_error"
        message = f"{printable(result.message)}\nthe result cannot be written down: {problem}".strip()
        return Result(result.episode, "error", reason, message, result.steps, seconds=result.seconds)
    return result


def printable(text: str) -> str:
    """The text with what no file can hold, half a surrogate pair, as an escape."""
    return text if text.isascii() else text.encode(errors="backslashreplace").decode()


def _text(record: dict[str, Any], name: str, default: str | None = None) -> str:
    value = record.pop(name, default)
    if not isinstance(value, str):
        raise ValueError(f"{name} is {'missing' if value is None else f'a {type(value).__name__}'}")
    return value


def _count(record: dict[str, Any], name: str, default: int | None = None) -> int:
    value = record.pop(name, default)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{name} is {value!r}, not a whole number of 0 or more")
    return value


def _number(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ValueError(f"{name} is {value!r}, not a finite number")
    return value


_BUILTIN = frozenset((str, bool, int, float, type(None)))


def builtin(value: Any) -> Any:
    """The same value in built-in types: one numpy scalar in a report would end a whole xdist run."""
    kind = type(value)
    if kind in _BUILTIN:
        return value
    if kind is dict or isinstance(value, Mapping):
        return {str(key): builtin(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [builtin(item) for item in value]
    for plain in (bool, int, float, str):  # subclasses (np.float64 is a float, np.str_ a str): execnet refuses them
        if isinstance(value, plain):
            return plain(value)
    if hasattr(value, "tolist"):
        return builtin(value.tolist())
    return str(value)
