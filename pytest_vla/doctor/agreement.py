"""How well a policy's actions agree with demonstrated ones on the same observations, part by part of an action."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_vla.policies.actions import bounds
from pytest_vla.policies.conventions.declared import Part
from pytest_vla.policies.conventions.rotations import to_matrix

if TYPE_CHECKING:
    from pytest_vla.doctor.recorded import Recorded
    from pytest_vla.policies import Policy
    from pytest_vla.suite import Suite

LEAST_ANGLE = 0.1  # rad: what rotations differ by, where all that were demonstrated are nearly the same
LEAST_SHARE = 0.02  # of the space's width: the same for numbers
BEYOND = 0.01  # of the space's width that an action may be outside of it, as regressed numbers often are
MANY = 0.05  # of all actions
Array = Any


@dataclass(frozen=True)
class Agreement:
    """Skill by kind of part: 1 as demonstrated, 0 no better than always the same, below 0 worse; and their mean."""

    skills: Mapping[str, float]
    details: Mapping[str, float] = field(default_factory=dict)
    outside: str = ""  # what there is to say of actions outside of the space

    @property
    def score(self) -> float:
        return float(np.mean([*self.skills.values()])) if self.skills else 0.0

    def __str__(self) -> str:
        parts = ", ".join(f"{kind} {skill:.2f}" for kind, skill in self.skills.items())
        return f"{self.score:.2f} ({parts})"


def answers(policy: Policy, suite: Suite, recorded: Sequence[Recorded]) -> list[Array]:
    """What a policy does along recorded episodes: it sees what was seen then, and remembers what it does."""
    states = [policy.reset(episode.key) for episode in recorded]
    made: list[list[Array]] = [[] for _ in recorded]
    for step in range(max(len(episode.observations) for episode in recorded)):
        rows = [row for row, episode in enumerate(recorded) if step < len(episode.observations)]
        actions = policy.act([recorded[row].observations[step] for row in rows], [states[row] for row in rows])
        for row, action in zip(rows, actions, strict=True):
            if isinstance(action, Exception):
                raise action
            made[row].append(as_vector(policy, suite, action, recorded[row].space))
    return [np.stack(vectors) for vectors in made]


def as_vector(policy: Policy, suite: Suite, action: Any, space: Any) -> Array:
    """An action as the environment would get it, in one vector."""
    rotation = getattr(getattr(policy, "spec", None), "rotation", None)
    given = action if rotation is None else suite.action(action, rotation)
    return np.asarray(suite.flatten_action(suite.accept(given, space)), np.float64)


def agreement(suite: Suite, recorded: Sequence[Recorded], given: Sequence[Array]) -> Agreement:
    """How well answers agree with what was demonstrated."""
    wanted = np.concatenate([episode.actions for episode in recorded])
    made = np.concatenate(list(given))
    parts = suite.conventions.action or (Part("other", size=wanted.shape[1]),)
    skills: dict[str, list[float]] = {}
    start = 0
    for part in parts:
        columns = slice(start, start + part.size)
        start += part.size
        if part.kind != "flag":
            skills.setdefault(part.kind, []).append(_skill(part, wanted[:, columns], made[:, columns]))
    means = {kind: float(np.mean(each)) for kind, each in skills.items()}
    return Agreement(means, details(parts, wanted, made), outside(recorded, given))


def details(parts: Sequence[Part], wanted: Array, made: Array) -> dict[str, float]:
    """What a person asks next: the error itself, which way it goes, how far, and when the gripper closes."""
    found = {"l1": float(np.abs(made - wanted).mean())}
    start = 0
    for part in parts:
        ours, theirs = made[:, start : start + part.size], wanted[:, start : start + part.size]
        start += part.size
        if part.kind == "position" and "scale" not in found:
            square = float((ours * ours).sum())
            found["scale"] = float((ours * theirs).sum()) / square if square > 1e-12 else 0.0
            lengths = np.linalg.norm(ours, axis=1) * np.linalg.norm(theirs, axis=1)
            counts = lengths > 1e-9
            if counts.any():
                found["direction"] = float(((ours * theirs).sum(1)[counts] / lengths[counts]).mean())
        elif part.kind == "gripper":
            middle = (part.open + part.closed) / 2
            found["gripper_timing"] = float(((ours > middle) == (theirs > middle)).mean())
    return found


def outside(recorded: Sequence[Recorded], given: Sequence[Array]) -> str:
    """How many actions are beyond the bounds of the space, and in which number; nothing of a few, or of a little."""
    low, high = bounds(recorded[0].space)
    fitting = [vectors for vectors in given if vectors.shape[1] == len(low)]  # tasks may have spaces of their own
    if not fitting:
        return ""
    made = np.concatenate(fitting)
    beyond = np.maximum(low - made, made - high) > BEYOND * (high - low)
    share = float(beyond.any(1).mean())
    if share < MANY:
        return ""
    worst = int(beyond.mean(0).argmax())
    least, most = made[:, worst].min(), made[:, worst].max()
    return (
        f"{100 * share:.0f} % of its actions are outside the space: number {worst + 1} of {len(low)} goes from "
        f"{least:.3g} to {most:.3g}, and may from {low[worst]:.3g} to {high[worst]:.3g}"
    )


def _skill(part: Part, wanted: Array, made: Array) -> float:
    """One less the error, over that of the best constant answer; at least -1."""
    if part.kind == "rotation":
        error, constant = _angles(part, wanted, made)
    else:
        error = float(np.abs(made - wanted).mean())
        constant = float(np.abs(wanted - np.median(wanted, axis=0)).mean())
        width = abs(part.open - part.closed) if part.kind == "gripper" else float(np.abs(wanted).max())
        constant = max(constant, LEAST_SHARE * width, 1e-6)
    return max(-1.0, 1.0 - error / constant)


def _angles(part: Part, wanted: Array, made: Array) -> tuple[float, float]:
    """Mean angle between rotations, and between the demonstrated ones and the one amidst them."""
    unit = part.unit if part.form == "axis_angle" or part.form.startswith("euler") else 1.0
    theirs = np.stack([to_matrix(unit * row, part.form) for row in wanted])
    ours = np.stack([to_matrix(unit * row, part.form) for row in made])
    some = theirs[:: max(1, len(theirs) // 40)]
    spreads = [float(_between(theirs, np.broadcast_to(each, theirs.shape)).mean()) for each in some]
    return float(_between(ours, theirs).mean()), max(min(spreads), 0.02 if part.mode == "delta" else LEAST_ANGLE)


def _between(one: Array, other: Array) -> Array:
    trace = np.einsum("nij,nij->n", one, other)
    return np.arccos(np.clip((trace - 1) / 2, -1.0, 1.0))
