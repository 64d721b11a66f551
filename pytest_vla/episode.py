"""What one episode is (its key), which random draws follow from it, and what came out of it (its result)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import numpy as np

Outcome = Literal["solved", "unsolved", "error"]

UNSOLVED_REASONS = ("step_limit", "constraint_violated", "invalid_action", "terminated")
ERROR_REASONS = ("policy_error", "env_error", "timeout", "server_lost", "worker_lost", "test_error")


@dataclass(frozen=True, slots=True)
class EpisodeKey:
    """One seeded instance of a task. The key (and the suite's version) alone determines every random draw.

    A perturbation is part of the key but not of the seed: the perturbed episode and its control are the same scene.
    """

    suite: str
    task: str
    partition: str
    index: int
    perturbation: str = ""
    version: str = "1"
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
    def cell(self) -> tuple[str, str, str]:
        """The group of episodes whose success rate is one number: same suite, task and partition."""
        return (self.suite, self.task, self.partition)

    def seed(self, stream: str = "scene") -> int:
        """A 128-bit seed for one named stream of draws (``scene``, ``policy``, ``perturbation``, ...)."""
        text = "\0".join((self.suite, self.version, self.task, self.partition, str(self.index), stream))
        return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=16).digest(), "little")

    def rng(self, stream: str = "scene") -> np.random.Generator:
        """A fresh numpy generator for one named stream, the same in every process and at any ``-n``."""
        import numpy as np

        return np.random.default_rng(np.random.SeedSequence(self.seed(stream)))


@dataclass(frozen=True, slots=True)
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
    extra: dict[str, Any] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return self.outcome == "solved"

    def __str__(self) -> str:
        why = f": {self.reason}" if self.reason else ""
        progress = "" if self.progress is None else f", progress {self.progress:.2f}"
        detail = f"\n{self.message}" if self.message else ""
        return f"{self.episode} {self.outcome}{why} after {self.steps} steps{progress}{detail}"

    def to_record(self) -> dict[str, Any]:
        """The line of the run file: built-in types only, so that it crosses processes and reads back equal."""
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
                **self.extra,
            }
        )


def builtin(value: Any) -> Any:
    """The same value in built-in types: one numpy scalar in a report would end a whole xdist run."""
    if value is None or isinstance(value, (str, bool, int, float)):
        # Subclasses (np.float64 is a float, np.str_ a str) are converted too: execnet refuses them.
        for kind in (bool, int, float, str):
            if isinstance(value, kind):
                return kind(value)
        return value
    if isinstance(value, dict):
        return {str(key): builtin(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [builtin(item) for item in value]
    if hasattr(value, "tolist"):
        return builtin(value.tolist())
    return str(value)
