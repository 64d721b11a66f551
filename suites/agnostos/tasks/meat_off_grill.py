"""Take the named meat off a grill and put it down beside it."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_vla.kit.hand import down
from pytest_vla.kit.keyframes import Keyframe, Look, carry
from pytest_vla.kit.predicates import In, NoneHeld, all_of
from pytest_vla.kit.solids import ball, box, cylinder, rod, shown
from pytest_vla.kit.things import Thing, Zone, loose
from pytest_vla.sim.pose import Vector, at

from ..protocol import Draw, Instance, task

IRON: Vector = (0.16, 0.16, 0.17)
ROAST: Vector = (0.80, 0.52, 0.25)
RAW: Vector = (0.55, 0.18, 0.15)
GRATE_M = 0.16


@task("seen", variations=2)
def meat_off_grill(draw: Draw) -> Instance:
    """A grill with a chicken and a steak on it, and a plate beside it."""
    name = ("chicken", "steak")[draw.variation]
    root = draw.root(180, x=(0.20, 0.28), y=(-0.06, 0.06))
    grill = root @ at(0.08)
    bars = [rod(0.004, (-0.10, y * 0.02, GRATE_M), (0.10, y * 0.02, GRATE_M), (0.5, 0.5, 0.52)) for y in range(-7, 8)]
    legs = [
        rod(0.010, (sx * 0.09, sy * 0.13, 0), (sx * 0.09, sy * 0.13, 0.08), IRON) for sx in (-1, 1) for sy in (-1, 1)
    ]
    body = box((0.22, 0.30, 0.07), (0, 0, 0.115), IRON)
    draw.add(
        Thing(
            "grill", grill, (body, *legs, *bars, box((0.22, 0.30, 0.006), (0, 0, GRATE_M - 0.003), IRON)), radius_m=0.2
        )
    )
    chicken = [
        rod(0.022, (-0.02, 0, 0.022), (0.02, 0, 0.022), ROAST),
        *(rod(0.010, (0.03, s * 0.012, 0.02), (0.06, s * 0.020, 0.014), ROAST) for s in (-1, 1)),
        ball(0.009, (0.066, 0.022, 0.012), (0.95, 0.92, 0.85)),
    ]
    steak = [
        box((0.09, 0.055, 0.022), (0, 0, 0.011), RAW),
        box((0.02, 0.045, 0.023), (0.03, 0, 0.0115), (0.92, 0.85, 0.78)),
    ]
    things = {
        label: draw.add(
            loose(
                label, grill @ at(0, y, GRATE_M + 0.006, draw.uniform(-0.6, 0.6)), pieces, down(0, 0, z), movable=False
            )
        )
        for label, y, pieces, z in (("chicken", 0.07, chicken, 0.024), ("steak", -0.07, steak, 0.012))
    }
    side = root @ at(-0.14)
    draw.add(Thing("plate", side, shown(cylinder(0.08, 0.004, (0, 0, 0.002), (0.92, 0.92, 0.95)))))
    draw.add(Zone("beside", (0.08, 0.08, 0.03), side @ at(z=0.03)))

    def plan(look: Look) -> Iterator[Keyframe]:
        yield from carry(look, things[name], *(side @ at(z=0.008, yaw=turn) for turn in (0.0, 1.57, 3.14, -1.57)))

    return Instance(draw.parts, f"take the {name} off the grill", all_of(In(name, "beside"), NoneHeld()), plan)
