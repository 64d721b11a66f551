"""When an episode is won or lost, and how near it is: functions of where stones are, tested without a simulator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pytest_vla.kit.goals import ALMOST, Verdict, Ways
from pytest_vla.kit.layout import Spot, distance

from .board import STONE_HEIGHT_M, STONE_RADIUS_M, off_board_by, spot_of
from .scene import Goal, Instance, Put, Remove, Stone, StoneState, TableState

TOLERANCE_M = 0.008
STILL_M_S = 0.005
OPEN_M = 0.027  # fingertips this far apart hold no stone, not even one scaled by 1.2
LYING_M = 0.75 * STONE_HEIGHT_M  # centre of a stone that lies flat, and on no other; on its edge it is at 11 mm


class Judge:
    """Follows one episode, from the table as it stood at the start."""

    def __init__(
        self,
        instance: Instance,
        stones: Sequence[Stone],
        start: TableState,
        scale: float = 1.0,
        board_m: Spot = (0.0, 0.0),
    ) -> None:
        self.goals, self.in_order = instance.goals, instance.in_order
        self.start, self.lying_m, self.board_m = start, LYING_M * scale, board_m
        self.eligible: dict[Goal, tuple[str, ...]] = {goal: _eligible(goal, stones) for goal in self.goals}
        self.made = 0
        self.failure = ""
        self._ways = Ways()
        self._made(start)

    def update(self, state: TableState) -> Verdict:
        """The verdict after one action."""
        fulfilled = self.fulfilled(state)
        if self.in_order and is_open(state):
            while self.made < len(self.goals) and self.goals[self.made] in fulfilled:
                self.made += 1
            early = next((goal for goal in self.goals[self.made :] if goal in fulfilled), None)
            if early is not None and not self.failure:
                self.failure = f"move {self.goals.index(early) + 1} was made before move {self.made + 1}"
        return Verdict(not self.failure and self._done(state, fulfilled), self.failure)

    def pushed(self, label: str, state: TableState) -> None:
        """A stone was moved by nobody's fault: what is to stay stays where it is now."""
        self.start = replace(self.start, stones={**self.start.stones, label: state.stones[label]})

    def fulfilled(self, state: TableState) -> dict[Goal, str]:
        """The goals that are met, each with the stone that meets it."""
        met = {}
        for goal in self.goals:
            label = self.nearest(goal, state)
            if self._gap(goal, state) <= 0 and self._rests(state.stones[label]):
                met[goal] = label
        return met

    def disturbed(self, state: TableState, fulfilled: dict[Goal, str]) -> list[str]:
        """Stones that were to stay where they are and did not."""
        used = set(fulfilled.values())
        return [
            label
            for label, stone in state.stones.items()
            if label not in used and distance(stone.spot, self.start.stones[label].spot) > TOLERANCE_M
        ]

    def nearest(self, goal: Goal, state: TableState) -> str:
        """The stone that would meet this goal soonest."""
        labels = self.eligible[goal]
        return labels[0] if len(labels) == 1 else min(labels, key=lambda label: self._gap_of(goal, state, label))

    def progress(self, state: TableState) -> float:
        """1 when all is done; below that the mean over goals of how far their stones have come."""
        if not self.failure and self._done(state, self.fulfilled(state)):
            return 1.0
        return ALMOST * sum(self._made(state)) / len(self.goals)

    def _made(self, state: TableState) -> list[float]:
        return [self._ways.made(goal, self._gap(goal, state)) for goal in self.goals]

    def _done(self, state: TableState, fulfilled: dict[Goal, str]) -> bool:
        return len(fulfilled) == len(self.goals) and is_open(state) and not self.disturbed(state, fulfilled)

    def _gap(self, goal: Goal, state: TableState) -> float:
        return self._gap_of(goal, state, self.nearest(goal, state))

    def _gap_of(self, goal: Goal, state: TableState, label: str) -> float:
        """How many metres the stone is short of the goal; none when it is there."""
        spot = state.stones[label].spot
        if isinstance(goal, Remove):
            return STONE_RADIUS_M - off_board_by(spot, self.board_m)
        return distance(spot, spot_of(goal.position, self.board_m)) - TOLERANCE_M

    def _rests(self, stone: StoneState) -> bool:
        return stone.speed_m_s < STILL_M_S and 0.0 < stone.position[2] <= self.lying_m


def is_open(state: TableState) -> bool:
    return state.opening_m >= OPEN_M


def _eligible(goal: Goal, stones: Sequence[Stone]) -> tuple[str, ...]:
    if isinstance(goal, Put) and goal.label is None:
        return tuple(stone.label for stone in stones if stone.colour == goal.colour and stone.beside)
    assert goal.label is not None
    return (goal.label,)
