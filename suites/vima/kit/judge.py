"""When an episode is won or lost: goals that must be met in stages, and rules that must not be broken.

Everything here is a function of where things are, so it can be tested without a simulator.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from pytest_vla.sim.pose import Pose

from .scene import Spot, TableState, inside_workspace

TURN_TOLERANCE_RAD = math.radians(15)
FULL_TURN_RAD = 2 * math.pi


@dataclass(frozen=True, slots=True)
class Verdict:
    """How the episode stands: won, lost (with one sentence why), or going on."""

    success: bool = False
    failure: str = ""


class Judge(Protocol):
    """Follows one episode. `watch` sees the watched things at every moment of a motion, `update` the settled table."""

    @property
    def watched(self) -> tuple[str, ...]: ...

    def watch(self, state: TableState) -> None: ...

    def update(self, state: TableState) -> Verdict: ...

    def progress(self, state: TableState) -> float: ...


def distance(a: Spot, b: Spot) -> float:
    return math.hypot(a[0] - b[0], a[1] - b[1])


def turn_between(a: float, b: float, symmetry_rad: float | None = FULL_TURN_RAD) -> float:
    """How far two yaws are apart, for an object that looks the same after each turn by its symmetry (0: always)."""
    if symmetry_rad == 0:
        return 0.0
    period = symmetry_rad or FULL_TURN_RAD
    rest = (a - b) % period
    return min(rest, period - rest)


@dataclass(frozen=True, slots=True)
class At:
    """One thing lies at a spot. Rotation and height are shown to the oracle and checked only when asked for."""

    thing: str
    spot: Spot
    within_m: float
    yaw: float | None = None
    check_yaw: bool = False
    symmetry_rad: float | None = FULL_TURN_RAD
    z: float | None = None
    z_within_m: float = math.inf

    def holds(self, state: TableState) -> bool:
        pose = state[self.thing]
        if distance(pose.xy, self.spot) >= self.within_m:
            return False
        if self.check_yaw and self.turn_left(pose) >= TURN_TOLERANCE_RAD:
            return False
        return self.z is None or abs(pose.position[2] - self.z) < self.z_within_m

    def turn_left(self, pose: Pose) -> float:
        return 0.0 if self.yaw is None else turn_between(pose.yaw, self.yaw, self.symmetry_rad)

    def gap(self, state: TableState) -> float:
        """What is missing, in metres; a turn counts a tenth of a metre per radian."""
        pose = state[self.thing]
        away = max(distance(pose.xy, self.spot) - self.within_m, 0.0)
        turn = max(self.turn_left(pose) - TURN_TOLERANCE_RAD, 0.0) if self.check_yaw else 0.0
        return away + 0.1 * turn


class Rule(Protocol):
    """Says in one sentence how it was broken, or nothing."""

    def __call__(self, state: TableState, judge: StagedJudge) -> str: ...


@dataclass(frozen=True, slots=True)
class StayOnTable:
    """A thing that still has to be moved must not leave the workspace."""

    def __call__(self, state: TableState, judge: StagedJudge) -> str:
        left = next((goal.thing for goal in judge.open_goals() if not inside_workspace(state[goal.thing])), None)
        return f"{left} left the workspace" if left else ""


@dataclass(frozen=True, slots=True)
class KeepDistractorsAway:
    """No distractor may come to a goal's spot, and no task object to a distractor (turned like it, if that counts)."""

    distractors: tuple[str, ...]
    things: tuple[str, ...]
    spots: tuple[Spot, ...]
    within_m: float
    same_turn: bool = False
    after_stage: int | None = None
    """Looked at only in the moment in which this many stages have just been completed; None: always."""

    def __call__(self, state: TableState, judge: StagedJudge) -> str:
        if self.after_stage is not None and not (judge.just_advanced and judge.stage == self.after_stage):
            return ""
        for distractor in self.distractors:
            pose = state[distractor]
            if any(distance(pose.xy, spot) < self.within_m for spot in self.spots):
                return f"{distractor} came to where something else belongs"
            for thing in self.things:
                near = distance(pose.xy, state[thing].xy) < self.within_m
                if near and (not self.same_turn or turn_between(pose.yaw, state[thing].yaw) < TURN_TOLERANCE_RAD):
                    return f"{thing} came to {distractor}"
        return ""


@dataclass(frozen=True, slots=True)
class InThisOrder:
    """Of the goals of one stage, the first must not be the last one left."""

    def __call__(self, state: TableState, judge: StagedJudge) -> str:
        remaining = judge.open_goals()
        first = judge.stages[0][0]
        late = len(remaining) == 1 and remaining[0] is first
        return f"{first.thing} should have been first" if late else ""


@dataclass(frozen=True, slots=True)
class NoSkipping:
    """Being at a later spot before its turn ends the episode."""

    spots: tuple[Spot, ...]
    within_m: float

    def __call__(self, state: TableState, judge: StagedJudge) -> str:
        thing = judge.stages[0][0].thing
        later = self.spots[judge.stage + 1 :]
        skipped = any(distance(state[thing].xy, spot) < self.within_m for spot in later)
        return f"{thing} went to a later place before its turn" if skipped else ""


class StagedJudge:
    """Goals in stages: those of one stage in any order, each remembered once met, the next stage from the next action.

    With `every_step`, an action that meets no goal loses the episode.
    """

    def __init__(self, *stages: Sequence[At], rules: Sequence[Rule] = (), every_step: bool = False) -> None:
        self.stages: tuple[tuple[At, ...], ...] = tuple(tuple(stage) for stage in stages)
        self.rules, self.every_step = tuple(rules), every_step
        self.stage = 0
        self.just_advanced = False
        self._open: list[At] = list(self.stages[0])
        self._first_gaps: dict[At, float] = {}

    @property
    def complete(self) -> bool:
        return self.stage == len(self.stages)

    def open_goals(self) -> list[At]:
        """What is left of the current stage."""
        return list(self._open)

    @property
    def watched(self) -> tuple[str, ...]:
        """Nothing that happens on the way counts."""
        return ()

    def watch(self, state: TableState) -> None:
        return None

    def update(self, state: TableState) -> Verdict:
        met = [goal for goal in self._open if goal.holds(state)]
        self._open = [goal for goal in self._open if goal not in met]
        self.just_advanced = not self._open and not self.complete
        if self.just_advanced:
            self.stage += 1
            self._open = [] if self.complete else list(self.stages[self.stage])
        broken = next((message for rule in self.rules if (message := rule(state, self))), "")
        if self.every_step and not met and not broken:
            broken = "the action did not make the next shown move"
        return Verdict(success=self.complete and not broken, failure=broken)

    def progress(self, state: TableState) -> float:
        """Goals met, plus how far the open ones of this stage have come since they were first looked at."""
        total = sum(len(stage) for stage in self.stages)
        later = sum(len(stage) for stage in self.stages[self.stage + 1 :])
        value = float(total - later - len(self._open))
        for goal in self._open:
            first = self._first_gaps.setdefault(goal, max(goal.gap(state), 1e-9))
            value += 0.9 * min(max(1 - goal.gap(state) / first, 0.0), 1.0)
        return value / total
