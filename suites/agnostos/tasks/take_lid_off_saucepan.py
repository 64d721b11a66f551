"""Lift the lid off a saucepan and hold it."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_vla.kit.hand import down
from pytest_vla.kit.keyframes import CLOSED, Keyframe, Look, grasp, up
from pytest_vla.kit.predicates import Held, In, all_of
from pytest_vla.kit.solids import cup, cylinder, rod
from pytest_vla.kit.things import Thing, Zone, loose
from pytest_vla.sim.pose import Vector, at

from ..protocol import Draw, Instance, task

STEEL: Vector = (0.70, 0.71, 0.74)
BLACK: Vector = (0.10, 0.10, 0.12)
POT_M = 0.09


@task("unseen_level2")
def take_lid_off_saucepan(draw: Draw) -> Instance:
    """A covered saucepan with a long handle."""
    root = draw.root()
    handle = rod(0.012, (0.11, 0, 0.07), (0.26, 0, 0.08), BLACK)
    draw.add(Thing("saucepan", root, (*cup(0.10, POT_M, STEEL, wall_m=0.006), handle)))
    pieces = [
        cylinder(0.108, 0.006, (0, 0, 0.003), (0.55, 0.57, 0.60)),
        cylinder(0.010, 0.016, (0, 0, 0.014), BLACK),
        cylinder(0.024, 0.016, (0, 0, 0.030), BLACK),
    ]
    lid = draw.add(loose("lid", root @ at(z=POT_M + 0.001), pieces, down(0, 0, 0.026), movable=False))
    draw.add(Zone("above", (0.05, 0.05, 0.025), root @ at(z=0.241)))

    def plan(look: Look) -> Iterator[Keyframe]:
        yield from grasp(look, lid)
        yield Keyframe(up(look().hand, 0.16), CLOSED)

    return Instance(draw.parts, "take lid off the saucepan", all_of(Held("lid"), In("lid", "above")), plan)
