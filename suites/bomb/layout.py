"""Other layouts of the same episode: stones that start elsewhere, more stones, and things that are no stones.

Whatever is drawn leaves the instruction true and every stone within the gripper's reach.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from pytest_vla.kit.layout import Spot, distance, far_from
from pytest_vla.kit.parts import Block

from .board import (
    BESIDE_X_M,
    BESIDE_Y_M,
    CLEARANCE_M,
    POSITIONS,
    STONE_HEIGHT_M,
    STONE_KG,
    STONE_RADIUS_M,
    free_spots,
    on_board,
    spot_of,
)
from .scene import Colour, Instance, Put, Stone, stone_of
from .tasks import NEARER_BY_M
from .textures import STONE_COLOURS

Places = Callable[[Spot, np.random.Generator, float], list[Spot]]

DRAWS = 200
NUDGE_M, NUDGE_SHARE = 0.003, 0.075  # of a stone that must stay on its intersection
BLOCK_HALF_M = 0.009
TILE_HALF_M = (0.9 * STONE_RADIUS_M, 0.9 * STONE_RADIUS_M, STONE_HEIGHT_M / 2)
BLOCK_COLOURS = ((0.75, 0.2, 0.2), (0.2, 0.45, 0.75), (0.25, 0.6, 0.3), (0.85, 0.65, 0.15))


def shift_stones(
    instance: Instance,
    rng: np.random.Generator,
    reach_m: float = np.inf,
    *,
    only: Collection[str] | None = None,
    places: Places | None = None,
) -> dict[str, Spot]:
    """Move each stone (or only some) that lies beside the board to another place there; by label, how far.

    The `places` are tried in turn; without others they are random ones that are at most `reach_m` away.
    """
    spots = {stone.label: stone.spot for stone in instance.stones}
    shifts: dict[str, Spot] = {}
    for stone in instance.stones:
        if not stone.beside or (only is not None and stone.label not in only):
            continue
        others = [spot for label, spot in spots.items() if label != stone.label]
        for spot in (places or _places)(stone.spot, rng, reach_m):
            if far_from(spot, others, CLEARANCE_M) and still_nearest(instance, {**spots, stone.label: spot}):
                spots[stone.label] = spot
                shifts[stone.label] = spot[0] - stone.spot[0], spot[1] - stone.spot[1]
                break
    return shifts


def shift_or_nudge(
    instance: Instance,
    rng: np.random.Generator,
    reach_m: float,
    *,
    only: Collection[str] | None = None,
    places: Places | None = None,
) -> dict[str, Spot]:
    """The same; where all of them lie on the board, each moves a little on its intersection."""
    chosen = [stone for stone in instance.stones if only is None or stone.label in only]
    if any(stone.beside for stone in chosen):
        return shift_stones(instance, rng, reach_m, only=only, places=places)
    angles = rng.uniform(0, 2 * np.pi, len(chosen))
    length = min(NUDGE_SHARE * reach_m, NUDGE_M)
    return {
        stone.label: (float(length * np.cos(angle)), float(length * np.sin(angle)))
        for stone, angle in zip(chosen, angles, strict=True)
    }


def far_places(start: Spot, rng: np.random.Generator, reach_m: float) -> list[Spot]:
    """Places beside the board, those first that are as far from the start as they should be."""
    spots = [spot for spot, _ in zip(free_spots(rng, []), range(DRAWS), strict=False)]
    return sorted(spots, key=lambda spot: abs(distance(spot, start) - reach_m))


def shifted(instance: Instance, shifts: Mapping[str, Spot]) -> Instance:
    """The episode with its stones where the shifts bring them."""
    moved = [replace(s, spot=spot) for s, spot in zip(instance.stones, _taken(instance, shifts), strict=True)]
    return replace(instance, stones=tuple(moved))


def added(shifts: Mapping[str, Spot], more: Mapping[str, Spot]) -> dict[str, Spot]:
    """Both shifts, one after the other."""
    still = (0.0, 0.0)
    pairs = {label: (shifts.get(label, still), more.get(label, still)) for label in {**shifts, **more}}
    return {label: (ax + bx, ay + by) for label, ((ax, ay), (bx, by)) in pairs.items()}


def still_nearest(instance: Instance, spots: Mapping[str, Spot], board_m: Spot = (0.0, 0.0)) -> bool:
    """Whether "the nearest" still means the stone it meant."""
    goal = instance.goals[0]
    if instance.nearest_to is None or not isinstance(goal, Put) or goal.label is None:
        return True
    target = spot_of(instance.nearest_to, board_m)
    rivals = [s.label for s in instance.stones if s.colour == goal.colour and s.label != goal.label]
    mine = distance(spots[goal.label], target)
    return all(distance(spots[label], target) - mine >= NEARER_BY_M for label in rivals)


def extra_stones(
    instance: Instance, rng: np.random.Generator, count: int, shifts: Mapping[str, Spot] | None = None
) -> tuple[Stone, ...]:
    """Up to `count` further stones, on the board or beside it, of colours that leave the instruction clear."""
    taken = _taken(instance, shifts or {})
    found: list[Stone] = []
    for number in range(count):
        places: list[tuple[Spot, tuple[Colour, ...]]] = []
        free = [spot_of(p) for p in POSITIONS if p not in _goals(instance) and far_from(spot_of(p), taken, 0.03)]
        if instance.spares.on_board and free:
            places.append((free[int(rng.integers(len(free)))], instance.spares.on_board))
        beside = next(free_spots(rng, taken), None)
        if instance.spares.beside and beside:
            places.append((beside, instance.spares.beside))
        if not places:
            break
        spot, colours = places[int(rng.integers(len(places)))]
        taken.append(spot)
        found.append(Stone(f"extra_{number}", colours[int(rng.integers(len(colours)))], spot))
    return tuple(found)


def lookalikes(instance: Instance, rng: np.random.Generator, count: int, taken: Sequence[Spot]) -> tuple[Block, ...]:
    """Up to `count` square tiles beside the board, as large as a stone and of the colour that is to be moved."""
    there = list(taken)
    colour = STONE_COLOURS[stone_of(instance, instance.goals[0]).colour]
    found: list[Block] = []
    for number in range(count):
        spot = next(free_spots(rng, there), None)
        if spot is None:
            break
        there.append(spot)
        found.append(Block(f"lookalike_{number}", spot, TILE_HALF_M, colour, kg=STONE_KG))
    return tuple(found)


def blocks(
    instance: Instance, rng: np.random.Generator, count: int, shifts: Mapping[str, Spot] | None = None
) -> tuple[Block, ...]:
    """Up to `count` coloured blocks beside the board."""
    taken = _taken(instance, shifts or {})
    found: list[Block] = []
    for number in range(count):
        spot = next(free_spots(rng, taken), None)
        if spot is None:
            break
        taken.append(spot)
        colour = BLOCK_COLOURS[int(rng.integers(len(BLOCK_COLOURS)))]
        found.append(Block(f"block_{number}", spot, (BLOCK_HALF_M,) * 3, colour))
    return tuple(found)


def _taken(instance: Instance, shifts: Mapping[str, Spot]) -> list[Spot]:
    still = (0.0, 0.0)
    return [
        (stone.spot[0] + shifts.get(stone.label, still)[0], stone.spot[1] + shifts.get(stone.label, still)[1])
        for stone in instance.stones
    ]


def _goals(instance: Instance) -> set[tuple[int, int]]:
    return {goal.position for goal in instance.goals if isinstance(goal, Put)}


def _places(start: Spot, rng: np.random.Generator, reach_m: float) -> list[Spot]:
    """Places beside the board within reach of a start, in random order."""
    if np.isinf(reach_m):
        return [spot for spot, _ in zip(free_spots(rng, []), range(DRAWS), strict=False)]
    steps = rng.uniform(-reach_m, reach_m, (DRAWS, 2))
    spots = [(start[0] + float(dx), start[1] + float(dy)) for dx, dy in steps]
    low, high = BESIDE_X_M
    return [
        (x, y) for x, y in spots
        if low <= abs(x) <= high and BESIDE_Y_M[0] <= y <= BESIDE_Y_M[1] and not on_board((x, y))
    ]  # fmt: skip
