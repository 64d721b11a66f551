"""Drop a ball through a basketball hoop."""

from __future__ import annotations

import math
from collections.abc import Iterator

from pytest_vla.kit.hand import down
from pytest_vla.kit.keyframes import CLOSED, OPEN, Keyframe, Look, back, grasp, held_at, up
from pytest_vla.kit.predicates import In, NoneHeld, all_of, ordered
from pytest_vla.kit.solids import ball, box, ring, rod, shown
from pytest_vla.kit.things import Thing, Zone, loose
from pytest_vla.sim.pose import Vector, at

from ..protocol import Draw, Instance, task

ORANGE: Vector = (0.90, 0.45, 0.12)
RIM: Vector = (0.85, 0.20, 0.10)
WHITE: Vector = (0.93, 0.93, 0.93)
STEEL: Vector = (0.45, 0.47, 0.50)
HOOP_M, BALL_M, RING_M = 0.30, 0.030, 0.052


@task("unseen_level2")
def basketball_in_hoop(draw: Draw) -> Instance:
    """A hoop with a backboard and a net, a tray under it, and a ball in a ring on the table."""
    root = draw.root(45, x=(0.24, 0.30), y=(-0.12, 0.12))
    hoop = root @ at(0.14)
    knots = [(0.06 * math.cos(n * math.pi / 4), 0.06 * math.sin(n * math.pi / 4)) for n in range(8)]
    net = shown(*(rod(0.0015, (x, y, HOOP_M), (x * 0.7, y * 0.7, HOOP_M - 0.07), WHITE) for x, y in knots))
    board = [
        box((0.01, 0.24, 0.16), (0.085, 0, HOOP_M + 0.06), WHITE),
        *shown(
            box((0.002, 0.10, 0.07), (0.079, 0, HOOP_M + 0.05), RIM),
            box((0.003, 0.08, 0.05), (0.079, 0, HOOP_M + 0.05), WHITE),
        ),
        rod(0.012, (0.10, 0, 0.01), (0.10, 0, HOOP_M + 0.10), STEEL),
        box((0.02, 0.03, 0.008), (0.07, 0, HOOP_M), RIM),
    ]
    rim = ring(RING_M, 0.008, wall_m=0.007, centre=(0, 0, HOOP_M), rgb=RIM, sides=14)
    tray = ring(0.06, 0.03, centre=(0, 0, 0.015), rgb=STEEL)
    draw.add(Thing("hoop", hoop, (*rim, *board, *tray, *net)))
    draw.add(Zone("under the hoop", (0.025, 0.025, 0.025), hoop @ at(z=0.055)))
    draw.add(Zone("hoop opening", (RING_M - 0.01, 0.002), hoop @ at(z=HOOP_M), "cylinder"))
    rest = root @ at(-0.14, draw.uniform(-0.08, 0.08))
    draw.add(Thing("stop", rest, ring(0.018, 0.01, centre=(0, 0, 0.005), rgb=STEEL)))
    seams = [rod(0.0312, (-h, 0, 0), (h, 0, 0), (0.10, 0.08, 0.07), "cylinder") for h in (0.001,)]
    pieces = [ball(BALL_M, rgb=ORANGE), *shown(*seams)]
    sphere = draw.add(loose("ball", rest @ at(z=BALL_M + 0.004), pieces, down(0, 0, -0.004), kg=0.06, movable=False))

    def plan(look: Look) -> Iterator[Keyframe]:
        yield from grasp(look, sphere)
        yield Keyframe(up(look().hand, HOOP_M + 0.06), CLOSED)
        yield Keyframe(held_at(look, sphere, hoop @ at(z=HOOP_M + 0.045)), OPEN)
        yield Keyframe(back(look().hand, 0.10), OPEN)

    there = In("ball", "under the hoop")
    through = ordered(all_of(In("ball", "hoop opening"), NoneHeld()), all_of(there, NoneHeld()))
    return Instance(draw.parts, "put the ball in the hoop", through if draw.strict else there, plan)
