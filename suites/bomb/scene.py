"""What an episode is made of, as data: stones, goals, the instruction; and what of the table a judge may see."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pytest_vla.kit.layout import Spot, distance
from pytest_vla.sim.pose import Vector

from .board import Position, on_board, spot_of

Colour = Literal["black", "white"]
COLOURS: tuple[Colour, ...] = ("black", "white")


def other(colour: Colour) -> Colour:
    return "white" if colour == "black" else "black"


@dataclass(frozen=True, slots=True)
class Stone:
    """A stone where it lies at the start."""

    label: str
    colour: Colour
    spot: Spot

    @property
    def beside(self) -> bool:
        """Whether it starts beside the board, to be played."""
        return not on_board(self.spot)


@dataclass(frozen=True, slots=True)
class Put:
    """A stone lies on an intersection: this one, or without a label any of its colour that started beside the board."""

    position: Position
    colour: Colour
    label: str | None = None


@dataclass(frozen=True, slots=True)
class Remove:
    """This stone lies beside the board."""

    label: str


Goal = Put | Remove


@dataclass(frozen=True, slots=True)
class Spares:
    """Which colours further stones may have without making the instruction mean something else."""

    beside: tuple[Colour, ...]
    on_board: tuple[Colour, ...]


@dataclass(frozen=True, slots=True)
class Instance:
    """One drawn episode."""

    stones: tuple[Stone, ...]
    instruction: str
    goals: tuple[Goal, ...]
    spares: Spares
    in_order: bool = False
    picture: Mapping[Position, Colour] | None = None
    """The board to be copied."""
    nearest_to: Position | None = None
    """The goal's stone must stay the nearest of its colour to this intersection."""


@dataclass(frozen=True, slots=True)
class StoneState:
    """Where a stone's centre is, and how fast it moves."""

    position: Vector
    speed_m_s: float

    @property
    def spot(self) -> Spot:
        return self.position[0], self.position[1]


@dataclass(frozen=True, slots=True)
class TableState:
    """The stones, the point between the fingertips, and how far these are apart."""

    stones: Mapping[str, StoneState]
    tip: Vector
    opening_m: float


def stone_of(instance: Instance, goal: Goal) -> Stone:
    """The stone that the goal is about, or of those that would do the nearest."""
    if goal.label is not None:
        return next(stone for stone in instance.stones if stone.label == goal.label)
    assert isinstance(goal, Put)
    fit = [stone for stone in instance.stones if stone.colour == goal.colour and stone.beside]
    return min(fit, key=lambda stone: distance(stone.spot, spot_of(goal.position)))


def labels_to_move(instance: Instance) -> frozenset[str]:
    """Every stone that a goal may be about."""
    fit = {
        stone.label
        for goal in instance.goals
        for stone in instance.stones
        if stone.label == goal.label or (goal.label is None and stone.colour == goal.colour and stone.beside)
    }
    return frozenset(fit)
