"""The five tasks: what lies on the table, what is said, and when it is done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np

from pytest_vla.episode import EpisodeKey

from .board import POSITIONS, Position, Spot, distance, free_spots, neighbours, spot_of
from .scene import COLOURS, Colour, Instance, Put, Remove, Spares, Stone, other

HOME_X_M = {"black": -0.15, "white": 0.15}
HOME_GAP_M = 0.063
HOME_JITTER_M = 0.008
NEARER_BY_M = 0.020
DRAWS = 200

T = TypeVar("T")


@dataclass
class Draw:
    """An episode being drawn: random choices, and the stones put down so far."""

    rng: np.random.Generator
    stones: list[Stone] = field(default_factory=list)

    def one(self, choices: Sequence[T]) -> T:
        return choices[int(self.rng.integers(len(choices)))]

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


@dataclass(frozen=True, slots=True)
class Task:
    """One template: `draw` makes an episode of it."""

    name: str
    summary: str
    step_limit: int
    draw: Callable[[Draw], Instance | None]

    def instance(self, episode: EpisodeKey) -> Instance:
        """The episode of that index: the same scene in every partition and in both simulators."""
        key = replace(episode, suite="bomb", partition="unperturbed", perturbation="")
        for attempt in range(DRAWS):
            found = self.draw(Draw(key.rng("scene" if attempt == 0 else f"scene.{attempt}")))
            if found is not None:
                return found
        raise RuntimeError(f"{episode} found no scene in {DRAWS} draws; the task asks for too much")


TASKS: dict[str, Task] = {}


def task(step_limit: int) -> Callable[[Callable[[Draw], Instance | None]], Task]:
    """Make a function that draws an episode (or None: draw again) the task of its name."""

    def wrap(draw: Callable[[Draw], Instance | None]) -> Task:
        name = draw.__name__
        TASKS[name] = Task(name, (draw.__doc__ or "").strip(), step_limit, draw)
        return TASKS[name]

    return wrap


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
def place_nearest(draw: Draw) -> Instance | None:
    """Three stones of one colour and two of the other; the nearest one of the named colour is to be taken."""
    colour, target = draw.one(COLOURS), draw.one(POSITIONS)
    mine = [draw.anywhere_beside(colour) for _ in range(3)]
    for _ in range(2):
        draw.anywhere_beside(other(colour))
    first, second, _ = sorted(mine, key=lambda stone: distance(stone.spot, spot_of(target)))
    if distance(second.spot, spot_of(target)) - distance(first.spot, spot_of(target)) < NEARER_BY_M:
        return None
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
