"""Pull both ends of a rope to the marks beside it."""

from __future__ import annotations

import math
from collections.abc import Iterator

from pytest_vla.kit.hand import down
from pytest_vla.kit.keyframes import CLOSED, OPEN, Keyframe, Look, easier, turned, up
from pytest_vla.kit.mechanisms import rope
from pytest_vla.kit.predicates import In, all_of
from pytest_vla.kit.solids import box, shown
from pytest_vla.kit.things import Thing, Zone
from pytest_vla.sim.pose import Pose, at

from ..protocol import Draw, Instance, task

LINKS, LINK_M = 14, 0.028
APART_M = 0.39
LOW_M = 0.006


@task("unseen_level2")
def straighten_rope(draw: Draw) -> Instance:
    """A rope that lies in a wave between two marks."""
    root = draw.root(180, x=(0.20, 0.32), y=(-0.06, 0.06))
    angles = [1.05 * math.sin(2 * math.pi * (n + 0.5) / LINKS * 1.5) for n in range(LINKS)]
    xs, ys = [0.0], [0.0]
    for angle in angles:
        xs.append(xs[-1] + LINK_M * math.cos(angle))
        ys.append(ys[-1] + LINK_M * math.sin(angle))
    points = [(root @ at(x - xs[-1] / 2, y - ys[-1] / 2)).xy for x, y in zip(xs, ys, strict=True)]
    links = rope("rope", points, (0.75, 0.55, 0.25))
    draw.add_all(links)
    ends = {links[0].label: -1, links[-1].label: 1}
    for label, side in ends.items():
        place = root @ at(side * APART_M / 2)
        draw.add(Thing(f"mark {label}", place, shown(box((0.06, 0.10, 0.001), rgb=(0.2, 0.6, 0.3)))))
        draw.add(Zone(f"end {label}", (0.03, 0.05, 0.01), place @ at(z=0.01)))

    def plan(look: Look) -> Iterator[Keyframe]:
        for label, side in ends.items():
            end = look().pose(label) @ at(0.0 if side < 0 else LINK_M)
            hold = easier(down(*end.xy, LOW_M, end.yaw))
            yield Keyframe(up(hold, 0.08), OPEN)
            yield Keyframe(hold, CLOSED)
            x, y, _ = (root @ at(side * (APART_M / 2 - 0.005))).position
            # Along the rope as it is to lie, the short way: a hand that turns further would swing it about.
            turn_rad = (root.yaw - end.yaw + math.pi / 2) % math.pi - math.pi / 2
            drop = turned(Pose((x, y, LOW_M + 0.004), hold.rotation), turn_rad)
            yield Keyframe(drop, OPEN)
            yield Keyframe(up(drop, 0.10), OPEN)

    done = all_of(*(In(label, f"end {label}") for label in ends))
    return Instance(draw.parts, "straighten rope", done, plan)
