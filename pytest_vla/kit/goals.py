"""When an episode is won or lost: goals that must be met in stages, and rules that must not be broken.

Everything here is a function of where things are, so it can be tested without a simulator. A goal says whether it
holds and what is missing (its gap); progress follows from how much of that has been made up for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from pytest_vla.kit.layout import Spot, distance
from pytest_vla.sim.pose import Pose, Vector

TURN_TOLERANCE_RAD = math.radians(15)
FULL_TURN_RAD = 2 * math.pi
ALMOST = 0.9  # what a goal counts for that is all but met


@dataclass(frozen=True, slots=True)
class Verdict:
    """How the episode stands: won (so far), lost for good (with one sentence why), or going on."""

    success: bool = False
    failure: str = ""


class Goal(Protocol):
    """One thing to be done with something that has a label. What its state is, is up to the suite."""

    @property
    def thing(self) -> str: ...

    def holds(self, state: Any) -> bool: ...

    def gap(self, state: Any) -> float: ...


class Judge(Protocol):
    """Follows one episode from settled state to settled state."""

    def update(self, state: Any) -> Verdict: ...

    def progress(self, state: Any) -> float: ...


class Ways:
    """How much of the way to each goal is made, 0..1, reckoned from the gap it was first seen with."""

    def __init__(self) -> None:
        self._first_gaps: dict[object, float] = {}

    def made(self, goal: object, gap: float) -> float:
        first = self._first_gaps.setdefault(goal, max(gap, 1e-9))
        return min(max(1 - gap / first, 0.0), 1.0)


# --- goals about where things are -------------------------------------------------------------------------------------


class Poses(Protocol):
    """A state that knows the pose of everything with a label; a mapping will do."""

    def __getitem__(self, label: str, /) -> Pose: ...


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

    def holds(self, state: Poses) -> bool:
        pose = state[self.thing]
        if distance(pose.xy, self.spot) >= self.within_m:
            return False
        if self.check_yaw and self.turn_left(pose) >= TURN_TOLERANCE_RAD:
            return False
        return self.z is None or abs(pose.position[2] - self.z) < self.z_within_m

    def turn_left(self, pose: Pose) -> float:
        return 0.0 if self.yaw is None else turn_between(pose.yaw, self.yaw, self.symmetry_rad)

    def gap(self, state: Poses) -> float:
        """What is missing, in metres; a turn counts a tenth of a metre per radian."""
        pose = state[self.thing]
        away = max(distance(pose.xy, self.spot) - self.within_m, 0.0)
        turn = max(self.turn_left(pose) - TURN_TOLERANCE_RAD, 0.0) if self.check_yaw else 0.0
        return away + 0.1 * turn


@dataclass(frozen=True, slots=True)
class TableState:
    """What a judge or an oracle may see of parts under a hand: the poses of those with a body, and their joints."""

    tip: Vector
    opening_m: float
    poses: Mapping[str, Pose]
    joints: Mapping[str, float]
    """How far they have gone, in m or rad."""

    def __getitem__(self, label: str) -> Pose:
        return self.poses[label]


@dataclass(frozen=True, slots=True)
class LetGo:
    """A thing is where it belongs, and the hand is open."""

    at: At
    least_m: float

    @property
    def thing(self) -> str:
        return self.at.thing

    def holds(self, state: TableState) -> bool:
        return state.opening_m >= self.least_m and self.at.holds(state)

    def gap(self, state: TableState) -> float:
        return self.at.gap(state)


@dataclass(frozen=True, slots=True)
class Past:
    """A part's joint has gone this far: the button is pressed, the drawer open."""

    thing: str
    least: float

    def holds(self, state: TableState) -> bool:
        return state.joints[self.thing] >= self.least

    def gap(self, state: TableState) -> float:
        return max(self.least - state.joints[self.thing], 0.0)


# --- the judge, and the rules it keeps --------------------------------------------------------------------------------


GoalT = TypeVar("GoalT", bound=Goal)


class Rule(Protocol):
    """Says in one sentence how it was broken, or nothing."""

    def __call__(self, state: Any, judge: StagedJudge[Any], /) -> str: ...


class StagedJudge(Generic[GoalT]):
    """Goals in stages: those of one stage in any order, each remembered once met, the next stage from the next action.

    With `every_step`, an action that meets no goal loses the episode.
    """

    def __init__(self, *stages: Sequence[GoalT], rules: Sequence[Rule] = (), every_step: bool = False) -> None:
        self.stages: tuple[tuple[GoalT, ...], ...] = tuple(tuple(stage) for stage in stages)
        self.rules, self.every_step = tuple(rules), every_step
        self.stage = 0
        self.just_advanced = False
        self._open: list[GoalT] = list(self.stages[0])
        self._ways = Ways()

    @property
    def complete(self) -> bool:
        return self.stage == len(self.stages)

    def open_goals(self) -> list[GoalT]:
        """What is left of the current stage."""
        return list(self._open)

    def update(self, state: Any) -> Verdict:
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

    def progress(self, state: Any) -> float:
        """Goals met, plus how far the open ones of this stage have come since they were first looked at."""
        total = sum(len(stage) for stage in self.stages)
        later = sum(len(stage) for stage in self.stages[self.stage + 1 :])
        value = float(total - later - len(self._open))
        for goal in self._open:
            value += ALMOST * self._ways.made(goal, goal.gap(state))
        return value / total


@dataclass(frozen=True, slots=True)
class StayInside:
    """A thing that still has to be moved must not leave the workspace."""

    x_m: Spot
    y_m: Spot

    def __call__(self, state: Poses, judge: StagedJudge[Any]) -> str:
        left = next((goal.thing for goal in judge.open_goals() if not self.holds(state[goal.thing])), None)
        return f"{left} left the workspace" if left else ""

    def holds(self, pose: Pose) -> bool:
        x, y, _ = pose.position
        return self.x_m[0] <= x <= self.x_m[1] and self.y_m[0] <= y <= self.y_m[1]


@dataclass(frozen=True, slots=True)
class LeaveAlone:
    """The joints of these parts must not go as far as this."""

    things: tuple[str, ...]
    most: float

    def __call__(self, state: TableState, judge: StagedJudge[Any]) -> str:
        moved = next((thing for thing in self.things if state.joints[thing] >= self.most), None)
        return f"{moved} was to be left alone" if moved else ""


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

    def __call__(self, state: Poses, judge: StagedJudge[Any]) -> str:
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

    def __call__(self, state: Any, judge: StagedJudge[Any]) -> str:
        remaining = judge.open_goals()
        first = judge.stages[0][0]
        late = len(remaining) == 1 and remaining[0] is first
        return f"{first.thing} should have been first" if late else ""


@dataclass(frozen=True, slots=True)
class NoSkipping:
    """Being at a later spot before its turn ends the episode."""

    spots: tuple[Spot, ...]
    within_m: float

    def __call__(self, state: Poses, judge: StagedJudge[Any]) -> str:
        thing = judge.stages[0][0].thing
        later = self.spots[judge.stage + 1 :]
        skipped = any(distance(state[thing].xy, spot) < self.within_m for spot in later)
        return f"{thing} went to a later place before its turn" if skipped else ""
