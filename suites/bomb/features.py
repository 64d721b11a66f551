"""What a drawn episode is like in a few words, so that a failure can be told by its scene."""

from __future__ import annotations

from pytest_vla.kit.layout import distance

from .board import PITCH_M, STONE_RADIUS_M, off_board_by, spot_of
from .scene import Goal, Instance, Put, Stone, stone_of


def features(instance: Instance) -> dict[str, str | float]:
    """Of the first goal: the stone's colour, side and way to go, and where on the board it is about."""
    goal = instance.goals[0]
    stone = stone_of(instance, goal)
    x, y = spot_of(goal.position) if isinstance(goal, Put) else stone.spot
    return {
        "colour": stone.colour,
        "side": _where(stone.spot[0], "left", "right"),
        "board_column": _where(x, "left", "right"),
        "board_row": _where(y, "near", "far"),
        "way_m": round(_way_m(goal, stone), 3),
        "stones": float(len(instance.stones)),
    }


def _way_m(goal: Goal, stone: Stone) -> float:
    if isinstance(goal, Put):
        return distance(stone.spot, spot_of(goal.position))
    return STONE_RADIUS_M - off_board_by(stone.spot)


def _where(value: float, low: str, high: str) -> str:
    """Which end, as the front camera sees it; the board's middle line is neither."""
    return "middle" if abs(value) < PITCH_M / 2 else low if value < 0 else high
