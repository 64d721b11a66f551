"""What a reader gives: the episodes of another harness in our words, and what its own summary says of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_vla.episode import EpisodeKey, Result, printable
from pytest_vla.run import RunFileError

UNSEEDED = {"seed": "none"}
"""What pairs with nothing: nobody knows which scene it was."""


class ReaderError(RunFileError):
    """A file that is no result of a harness we know, or of a version we do not know."""


@dataclass(frozen=True)
class Foreign:
    """A result file, read."""

    harness: str
    version: str
    policy: str
    results: tuple[Result, ...]
    claimed: tuple[int, int] | None = None
    """Solved and counted episodes by the harness's own summary, errors counting as failures."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What else the file says of how it was made."""


@dataclass(frozen=True, slots=True)
class Reader:
    """One format: `reads` says whether a file is of it, without reading all of it."""

    name: str
    what: str
    reads: Callable[[Path], bool]
    read: Callable[[Path], Foreign]


def key(suite: object, task: object, partition: object, index: int) -> EpisodeKey:
    """The key of an episode, by names that can stand in a node id."""
    return EpisodeKey(_name(suite, "suite"), _name(task, "task"), _name(partition, "all"), index, version="imported")


def result(
    episode: EpisodeKey, success: bool, error: str = "", *, pairs: bool, steps: int = 0, seconds: float = 0.0,
    instruction: str = "", made_with: Mapping[str, str] | None = None,
) -> Result:  # fmt: skip
    """An episode's result; `error` is what the harness calls it, and no failure of the policy."""
    made = {**(made_with or {}), **({} if pairs else UNSEEDED)}
    common: dict[str, Any] = {"steps": max(steps, 0), "seconds": max(seconds, 0.0), "made_with": made}
    common["instruction"] = printable(instruction)
    if error:
        return Result(episode, "error", _reason(error), printable(error), **common)
    return Result(episode, *(("solved", None) if success else ("unsolved", "step_limit")), **common)


def counted(results: Iterable[Result]) -> tuple[int, int]:
    """Solved episodes and all, errors among them: as harnesses count that know no errors."""
    outcomes = [each.outcome for each in results]
    return outcomes.count("solved"), len(outcomes)


def _reason(error: str) -> str:
    text = error.lower()
    if "timeout" in text or "timed out" in text:
        return "timeout"
    if any(word in text for word in ("connection", "server", "websocket")):
        return "server_lost"
    return "policy_error" if any(word in text for word in ("act", "policy", "model")) else "env_error"


def _name(text: object, otherwise: str) -> str:
    return re.sub(r"[^\w.]+", "_", printable(str(text or ""))).strip("_") or otherwise
