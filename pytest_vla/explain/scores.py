"""How far an answer moved: the drop of a log-likelihood, or the distance of the action, also in metres."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pytest_vla.policies.actions import flatten_action
from pytest_vla.policies.base import PolicyError
from pytest_vla.policies.chunking import steps_of

if TYPE_CHECKING:
    from pytest_vla.explain.asking import Answers
    from pytest_vla.suite import Suite

Floats = NDArray[np.float64]
TINY = 1e-4  # nats, or share of the action space: less is rounding
NATS = "log-likelihood of the clean action lost, nats"
SHARE = "distance of the action, share of the action space"


@dataclass(frozen=True)
class Ruler:
    """Measures the answers of one policy in one suite's space of actions."""

    suite: Suite
    space: Any
    chunk: int = 1
    rotation: str | None = None

    def effects(self, answers: Answers, clean_score: float | None) -> Floats:
        """One number a row: more is a larger effect of what was changed."""
        if answers.scores is not None and clean_score is not None:
            found = clean_score - answers.scores
        else:
            clean = self._vectors(answers.clean)
            found = np.array([self._apart(self._vectors(each), clean) for each in answers.actions])
        return np.where(np.abs(found) < TINY, 0.0, found)

    def metres(self, answers: Answers) -> Floats | None:
        """How far the places that the rows go to are from the clean one's; None where the suite does not say."""
        columns = self._positions()
        if not columns or not answers.actions:
            return None
        clean = self._vectors(answers.clean)
        if isinstance(clean, str) or clean.shape[1] < columns[-1][0].stop:
            return None
        return np.array([_way(self._vectors(each), clean, columns) for each in answers.actions])

    def phase(self, action: Any, step: int) -> str:
        """What the clean action is for: where it moves the gripper, or else the how many-th it is."""
        vectors = self._vectors(action)
        start = 0
        for part in self.suite.conventions.action:
            if part.kind == "gripper" and not isinstance(vectors, str) and start < vectors.shape[1]:
                opening = (vectors[:, start] - part.closed) / (part.open - part.closed)
                return _gripping(opening)
            start += part.size
        return f"step {step}"

    def _positions(self) -> list[tuple[slice, float]]:
        found, start = [], 0
        for part in self.suite.conventions.action:
            if part.kind == "position":
                found.append((slice(start, start + part.size), part.unit))
            start += part.size
        return found

    def _vectors(self, action: Any) -> Any:
        """(steps, numbers) as the environment takes them, or as the policy gives them; words as they are."""
        if isinstance(action, str):
            return action
        rows = []
        for each in steps_of(action) if self.chunk > 1 else [action]:
            given = each if self.rotation is None else self.suite.action(each, self.rotation)
            try:
                rows.append(self.suite.flatten_action(self.suite.accept(given, self.space)))
            except PolicyError:
                rows.append(flatten_action(given))
        return np.stack(rows).astype(np.float64)

    def _apart(self, one: Any, other: Any) -> float:
        if isinstance(one, str) or isinstance(other, str) or one.shape != other.shape:
            return float(not np.array_equal(one, other))
        return float(np.sqrt((((one - other) / self._widths(one.shape[1])) ** 2).mean()))

    def _widths(self, size: int) -> Floats:
        low, high = _bounds(self.space)
        if low.size != size:
            return np.ones(size)
        wide = high.astype(np.float64) - low
        return np.where(np.isfinite(wide) & (wide > 0), wide, 1.0)


def _way(one: Any, other: Any, columns: list[tuple[slice, float]]) -> float:
    """The mean over steps and places of an action."""
    away = [unit * np.linalg.norm(one[:, part] - other[:, part], axis=1).mean() for part, unit in columns]
    return float(np.mean(away))


def _gripping(opening: Floats) -> str:
    """By an opening of 0 to 1 along the action."""
    if opening[0] > 0.5:
        return "to pick" if opening.min() <= 0.5 else "open hand"
    return "to release" if opening.max() > 0.5 else "closed hand"


def _bounds(space: Any) -> tuple[Any, Any]:
    """Of all numbers of an action, in the order of its vector; no numbers where they are not known."""
    parts = (
        [space[name] for name in sorted(space.spaces)]
        if isinstance(getattr(space, "spaces", None), Mapping)
        else [space]
    )
    if not all(hasattr(part, "low") and hasattr(part, "high") for part in parts):
        return np.zeros(0), np.zeros(0)
    return np.concatenate([np.ravel(part.low) for part in parts]), np.concatenate(
        [np.ravel(part.high) for part in parts]
    )
