"""Drop the crumpled paper, not a tomato, into the bin."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_vla.kit.hand import down
from pytest_vla.kit.keyframes import CLOSED, OPEN, Keyframe, Look, easier, up
from pytest_vla.kit.predicates import In, NoneHeld, all_of
from pytest_vla.kit.solids import Piece, ball, cup, cylinder
from pytest_vla.kit.things import Thing, Zone, loose
from pytest_vla.sim.pose import Pose, Vector, at, multiply, turn

from ..protocol import Draw, Instance, task

PAPER: Vector = (0.93, 0.93, 0.88)
TOMATO: Vector = (0.85, 0.12, 0.08)
BIN_M = 0.19
FOLDS = ((0.0, 0.0), (0.7, 0.5), (-0.6, 1.1), (0.4, 2.0))  # tilt and yaw of each crumple


@task("unseen_level1")
def put_rubbish_in_bin(draw: Draw) -> Instance:
    """A bin, a ball of paper and two tomatoes in three places."""
    root = draw.root()
    bin_place = root @ at(0.13)
    draw.add(Thing("bin", bin_place, cup(0.09, BIN_M, (0.30, 0.33, 0.36), flare_m=0.02), radius_m=0.12))
    draw.add(Zone("bin floor", (0.07, 0.03), bin_place @ at(z=0.035), "cylinder"))
    ours, *others = (root @ at(-0.12, y, 0.0) for y in draw.some((-0.13, 0.0, 0.13), 3))
    draw.within_reach(bin_place, ours, *others)
    crumples = [
        Piece(
            "box",
            (0.026, 0.024, 0.014),
            Pose((0, 0, 0.024), multiply(turn((1, 0, 0), tilt), turn((0, 0, 1), yaw))),
            PAPER,
        )
        for tilt, yaw in FOLDS
    ]
    draw.add(loose("rubbish", ours @ at(z=0.004, yaw=draw.yaw()), crumples, down(0, 0, 0.02), kg=0.03))
    for number, place in enumerate(others):
        stalk = cylinder(0.005, 0.012, (0, 0, 0.054), (0.20, 0.45, 0.15))
        draw.add(loose(f"tomato_{number}", place, (ball(0.027, (0, 0, 0.027), TOMATO), stalk), down(0, 0, 0.025)))

    def plan(look: Look) -> Iterator[Keyframe]:
        paper = look().pose("rubbish")
        hold = easier(down(*paper.xy, 0.024, paper.yaw))
        drop = Pose((bin_place @ at(z=BIN_M + 0.04)).position, hold.rotation)
        yield Keyframe(up(hold, 0.10), OPEN)
        yield Keyframe(hold, CLOSED)
        yield Keyframe(up(hold, BIN_M + 0.10), CLOSED)
        yield Keyframe(drop, OPEN)
        yield Keyframe(up(drop, 0.05), OPEN)

    there = In("rubbish", "bin floor")
    return Instance(draw.parts, "put rubbish in bin", all_of(there, NoneHeld()) if draw.strict else there, plan)
