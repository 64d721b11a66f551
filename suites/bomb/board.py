"""Where things are: the board's intersections, the places beside it, and the sizes of what lies there.

The table's top is z = 0 and the board is let into it. Seen by the front camera, x points right and y away; row 0 is the
far one, column 0 the left one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from pytest_vla.kit.layout import Rim, Spot, far_from

SIZE = 5
PITCH_M = 0.040
BOARD_M = 0.216  # side
STONE_RADIUS_M = 0.011
STONE_HEIGHT_M = 0.008
STONE_KG = 0.005
STONE_FRICTION = 0.8
TABLE_HALF_M = 0.8
RIM = Rim((0.21, 0.16), TABLE_HALF_M)
BESIDE_X_M = (0.132, 0.182)  # stones that are not on the board lie this far left or right of its centre
BESIDE_Y_M = (-0.105, 0.125)
CLEARANCE_M = 0.046  # between centres beside the board: room for the gripper's fingers
DRAWS = 1000

Position = tuple[int, int]  # row, column

POSITIONS: tuple[Position, ...] = tuple((row, column) for row in range(SIZE) for column in range(SIZE))


def spot_of(position: Position, board_m: Spot = (0.0, 0.0)) -> Spot:
    """The intersection's place on the table, on a board that is so far from its own place."""
    row, column = position
    return (column - SIZE // 2) * PITCH_M + board_m[0], (SIZE // 2 - row) * PITCH_M + board_m[1]


def neighbours(position: Position) -> list[Position]:
    """The intersections that a line joins to this one."""
    row, column = position
    around = ((row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1))
    return [(r, c) for r, c in around if 0 <= r < SIZE and 0 <= c < SIZE]


def on_board(spot: Spot) -> bool:
    """Whether a stone there covers some of the board."""
    return off_board_by(spot) < STONE_RADIUS_M


def off_board_by(spot: Spot, board_m: Spot = (0.0, 0.0)) -> float:
    """How far a spot is outside the board's edge (negative: inside)."""
    return max(abs(spot[0] - board_m[0]), abs(spot[1] - board_m[1])) - BOARD_M / 2


def free_spots(rng: np.random.Generator, taken: Iterable[Spot]) -> Iterator[Spot]:
    """Endless random places beside the board with room for the gripper; it ends when no more can be found."""
    taken = list(taken)
    for _ in range(DRAWS):
        x, y = rng.uniform(*BESIDE_X_M) * rng.choice((-1, 1)), rng.uniform(*BESIDE_Y_M)
        if far_from((float(x), float(y)), taken, CLEARANCE_M):
            yield float(x), float(y)
