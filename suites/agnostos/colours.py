"""The twenty colours that tasks name, in the order of the protocol."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_vla.kit.hand_task import Draw
from pytest_vla.sim.pose import Vector

COLOURS: dict[str, Vector] = {
    "red": (1.0, 0.0, 0.0),
    "maroon": (0.5, 0.0, 0.0),
    "lime": (0.0, 1.0, 0.0),
    "green": (0.0, 0.5, 0.0),
    "blue": (0.0, 0.0, 1.0),
    "navy": (0.0, 0.0, 0.5),
    "yellow": (1.0, 1.0, 0.0),
    "cyan": (0.0, 1.0, 1.0),
    "magenta": (1.0, 0.0, 1.0),
    "silver": (0.75, 0.75, 0.75),
    "gray": (0.5, 0.5, 0.5),
    "orange": (1.0, 0.5, 0.0),
    "olive": (0.5, 0.5, 0.0),
    "purple": (0.5, 0.0, 0.5),
    "teal": (0.0, 0.5, 0.5),
    "azure": (0.0, 0.5, 1.0),
    "violet": (0.5, 0.0, 1.0),
    "rose": (1.0, 0.0, 0.5),
    "black": (0.0, 0.0, 0.0),
    "white": (1.0, 1.0, 1.0),
}
NAMES = tuple(COLOURS)


def other_colours(draw: Draw, count: int, taken: Sequence[str]) -> list[str]:
    """Colours that none of the taken ones is."""
    return draw.some([name for name in NAMES if name not in taken], count)
