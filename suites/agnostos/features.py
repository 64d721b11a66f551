"""What a scene is like, as drawn: what a person would say of it who looks for what goes with failure."""

from __future__ import annotations

import math

from pytest_vla.kit.hand import BASE
from pytest_vla.kit.hand_task import Instance
from pytest_vla.kit.things import things_of


def features(instance: Instance, variation: int) -> dict[str, str | float]:
    """Of the scene as a whole: where its middle is, and how many things there are; which variation it is."""
    standing = [thing for thing in things_of(instance.parts) if not thing.on]
    x = sum(thing.spot[0] for thing in standing) / len(standing)
    y = sum(thing.spot[1] for thing in standing) / len(standing)
    return {
        "side": "left" if y > 0 else "right",
        "distance_m": round(math.dist((x, y), BASE), 4),
        "things": float(len(standing)),
        "variation": str(variation),
    }
