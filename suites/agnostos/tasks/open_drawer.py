"""Pull the named drawer of a chest open."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_vla.kit.keyframes import CLOSED, Keyframe, Look, grasp, shifted
from pytest_vla.kit.mechanisms import chest
from pytest_vla.kit.predicates import JointMoved

from ..protocol import Draw, Instance, task

LEVELS = ("bottom", "middle", "top")


@task("seen", variations=3)
def open_drawer(draw: Draw) -> Instance:
    """A chest of three drawers."""
    level = LEVELS[draw.variation]
    root = draw.root(22.5, x=(0.46, 0.50), y=(-0.1, 0.1))
    shell, *drawers = chest("chest", root, LEVELS)
    draw.add_all([shell, *drawers])
    drawer = drawers[draw.variation]

    def plan(look: Look) -> Iterator[Keyframe]:
        yield from grasp(look, drawer)
        yield Keyframe(shifted(look().hand, root, x=-0.165), CLOSED)

    return Instance(draw.parts, f"open the {level} drawer", JointMoved(drawer.label, 0.15), plan)
