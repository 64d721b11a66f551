"""The five tasks: what lies on the table, what is said, and when it is done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from pytest_vla.episode import EpisodeKey
from pytest_vla.kit import draw as kit
from pytest_vla.kit.draw import Redraw, drawn
from pytest_vla.kit.layout import Spot, distance
from pytest_vla.kit.task import Task, task_of

from .board import POSITIONS, Position, free_spots, neighbours, spot_of
from .scene import COLOURS, Colour, Instance, Put, Remove, Spares, Stone, other

HOME_X_M = {"black": -0.15, "white": 0.15}
HOME_GAP_M = 0.063
HOME_JITTER_M = 0.008
NEARER_BY_M = 0.020


@dataclass
class Draw(kit.Draw):
    """An episode being drawn: random choices, and the stones put down so far."""

    stones: list[Stone] = field(default_factory=list)

    def positions(self, count: int) -> list[Position]:
        """Different intersections in random order."""
        return [POSITIONS[i] for i in self.rng.choice(len(POSITIONS), count, replace=False)]

    def put(self, colour: Colour, spot: Spot) -> Stone:
        stone = Stone(f"{colour}_{sum(s.colour == colour for s in self.stones)}", colour, spot)
        self.stones.append(stone)
        return stone

    def at_home(self, colour: Colour, count: int = 1) -> list[Stone]:
        """A column of stones on their colour's side of the board, each a little off its place."""
        ys = (np.arange(count) - (count - 1) / 2) * HOME_GAP_M
        shifts = self.rng.uniform(-HOME_JITTER_M, HOME_JITTER_M, (count, 2))
        return [
            self.put(colour, (HOME_X_M[colour] + float(dx), float(y + dy)))
            for y, (dx, dy) in zip(ys, shifts, strict=True)
        ]

    def anywhere_beside(self, colour: Colour) -> Stone:
        return self.put(colour, next(free_spots(self.rng, [stone.spot for stone in self.stones])))


@dataclass(frozen=True)
class BombTask(Task):
    """One template: episode n of it is the same scene in every partition and in both simulators."""

    def instance(self, episode: EpisodeKey) -> Instance:
        key = replace(episode, suite="bomb", partition="unperturbed", perturbation="")
        instance: Instance = drawn(lambda rng: self.draw(Draw(rng)), key)
        return instance


def task(step_limit: int) -> Callable[[Callable[[Draw], Instance]], BombTask]:
    """Make a function that draws an episode the task of its name."""
    return task_of(BombTask, step_limit)


def named(position: Position) -> str:
    return f"position ({position[0]},{position[1]})"


@task(step_limit=60)
def place_stone(draw: Draw) -> Instance:
    """One stone of each colour beside an empty board; the named one goes to the named intersection."""
    colour, target = draw.one(COLOURS), draw.one(POSITIONS)
    stone, _ = draw.at_home(colour)[0], draw.at_home(other(colour))
    return Instance(
        tuple(draw.stones),
        f"place the {colour} stone at {named(target)}",
        (Put(target, colour, stone.label),),
        Spares(beside=(other(colour),), on_board=(other(colour),)),
    )


@task(step_limit=60)
def place_nearest(draw: Draw) -> Instance:
    """Three stones of one colour and two of the other; the nearest one of the named colour is to be taken."""
    colour, target = draw.one(COLOURS), draw.one(POSITIONS)
    mine = [draw.anywhere_beside(colour) for _ in range(3)]
    for _ in range(2):
        draw.anywhere_beside(other(colour))
    first, second, _ = sorted(mine, key=lambda stone: distance(stone.spot, spot_of(target)))
    if distance(second.spot, spot_of(target)) - distance(first.spot, spot_of(target)) < NEARER_BY_M:
        raise Redraw
    return Instance(
        tuple(draw.stones),
        f"place the {colour} stone nearest to {named(target)} at {named(target)}",
        (Put(target, colour, first.label),),
        Spares(beside=(other(colour),), on_board=(other(colour),)),
        nearest_to=target,
    )


@task(step_limit=150)
def place_sequence(draw: Draw) -> Instance:
    """Three stones of each colour beside the board; three moves are to be made in the order in which they are told."""
    for colour in COLOURS:
        draw.at_home(colour, 3)
    moves = [(draw.one(COLOURS), position) for position in draw.positions(3)]
    told = [f"a {colour} stone at {named(position)}" for colour, position in moves]
    return Instance(
        tuple(draw.stones),
        f"place {', then '.join(told)}",
        tuple(Put(position, colour) for colour, position in moves),
        Spares(beside=COLOURS, on_board=()),
        in_order=True,
    )


@task(step_limit=60)
def capture(draw: Draw) -> Instance:
    """A stone with stones of the other colour on all its neighbours; it is to be taken off the board."""
    colour, target = draw.one(COLOURS), draw.one(POSITIONS)
    captured = draw.put(colour, spot_of(target))
    for position in neighbours(target):
        draw.put(other(colour), spot_of(position))
    return Instance(
        tuple(draw.stones),
        f"remove the {colour} stone at {named(target)}",
        (Remove(captured.label),),
        Spares(beside=COLOURS, on_board=COLOURS),
    )


@task(step_limit=110)
def copy_position(draw: Draw) -> Instance:
    """Two stones lie on the board, two of each colour beside it; a picture shows the board with two more."""
    for colour in COLOURS:
        draw.at_home(colour, 2)
    lying = [(position, draw.one(COLOURS)) for position in draw.positions(2)]
    for position, colour in lying:
        draw.put(colour, spot_of(position))
    free = [position for position in POSITIONS if position not in dict(lying)]
    missing = [(free[i], draw.one(COLOURS)) for i in draw.rng.choice(len(free), 2, replace=False)]
    return Instance(
        tuple(draw.stones),
        "make the board match the picture",
        tuple(Put(position, colour) for position, colour in missing),
        Spares(beside=COLOURS, on_board=()),
        picture=dict(lying + missing),
    )


TASKS: dict[str, BombTask] = {
    task.name: task for task in (place_stone, place_nearest, place_sequence, capture, copy_position)
}
