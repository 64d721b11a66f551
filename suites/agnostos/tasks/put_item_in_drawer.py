"""Open the named drawer of a chest and put the cube that stands on it inside."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_vla.kit.hand import down
from pytest_vla.kit.keyframes import CLOSED, OPEN, Keyframe, Look, back, grasp, shifted, up
from pytest_vla.kit.mechanisms import CHEST_TOP_M, chest
from pytest_vla.kit.predicates import In, NoneHeld, all_of
from pytest_vla.kit.solids import box
from pytest_vla.kit.things import Zone, loose
from pytest_vla.sim.pose import at

from ..protocol import Draw, Instance, task

LEVELS = ("bottom", "middle", "top")
PULL_M = 0.17


@task("seen", variations=3)
def put_item_in_drawer(draw: Draw) -> Instance:
    """A chest of three drawers with a cube on top."""
    level = LEVELS[draw.variation]
    root = draw.root(22.5, x=(0.46, 0.50), y=(-0.08, 0.08))
    shell, *drawers = chest("chest", root, LEVELS)
    draw.add_all([shell, *drawers])
    drawer = drawers[draw.variation]
    draw.add(Zone("inside", (0.13, 0.13, 0.035), at(), on=drawer.label))
    spot = root @ at(draw.uniform(-0.12, -0.07), draw.uniform(-0.08, 0.08), CHEST_TOP_M, draw.uniform(-0.7, 0.7))
    cube = [box((0.04, 0.04, 0.04), (0, 0, 0.02), (0.85, 0.2, 0.2))]
    item = draw.add(loose("item", spot, cube, down(0, 0, 0.025), movable=False))

    def plan(look: Look) -> Iterator[Keyframe]:
        yield from grasp(look, drawer)
        pulled = shifted(look().hand, root, x=-PULL_M)
        yield Keyframe(pulled, OPEN)
        yield Keyframe(back(pulled, 0.05), OPEN)
        yield Keyframe(down(*pulled.position[:2], CHEST_TOP_M + 0.15, root.yaw), OPEN)
        yield from grasp(look, item)
        yield Keyframe(up(look().hand, 0.10), CLOSED)
        x, y = (root @ at(-0.14 - PULL_M / 2)).xy
        height = look().pose(drawer.label).position[2] + 0.06
        yield Keyframe(down(x, y, CHEST_TOP_M + 0.10, root.yaw), CLOSED)
        yield Keyframe(down(x, y, height, root.yaw), OPEN)

    there = In("item", "inside")
    done = all_of(there, NoneHeld()) if draw.strict else there
    return Instance(draw.parts, f"put the item in the {level} drawer", done, plan)
