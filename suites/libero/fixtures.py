"""How LIBERO's expert pulls drawers open, pushes them in, and turns knobs."""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import mujoco
import numpy as np

# Beside this file, which is no package.
hand, relief, scene = (importlib.import_module(name) for name in ("hand", "relief", "scene"))

Array = Any
Actions = Iterator[Array]

CLOSING_STEPS, HALF_CLOSING_STEPS, OPENING_STEPS = 14, 6, 8
LEAN_RAD = 0.6  # of a hand that pushes a drawer in, away from the handles above


class Fixtures:
    """Motions at what is part of the furniture."""

    def __init__(self, hand: Any, scene: Any) -> None:
        self.hand, self.scene = hand, scene

    def slide(self, name: str, *, opened: bool) -> Actions:
        """Pull a drawer by its handle, or push it in."""
        joint = self.scene.joint_of(name)
        if self.scene.model.jnt_type[joint] != mujoco.mjtJoint.mjJNT_SLIDE:
            return
        low, high = self.scene.model.jnt_range[joint]
        out = self.scene.data.xaxis[joint] * (-1.0 if abs(low) > abs(high) else 1.0)
        handle, top = self.scene.handle(joint, out)
        across = np.array([-out[1], out[0], 0.0])
        yaw = hand.wrapped(math.atan2(-out[0], out[1]))
        if opened:
            yield from self._pull(handle, top, out, yaw, name)
            return
        turned = hand.about(across, LEAN_RAD) @ hand.rotation(hand.wrapped(yaw + math.pi / 2))
        before = handle + 0.05 * out
        yield from self.hand.grip(hand.CLOSED, 4)
        yield from self.hand.rise(handle[2] + 0.25)
        yield from self.hand.go([*before[:2], max(self.hand.position[2], handle[2] + 0.2)], turned, tolerance=0.02)
        yield from self.hand.go(before, turned, tolerance=0.015)
        yield from self.hand.go(
            before - 0.27 * out, turned, tolerance=0.01, steps=50, until=lambda: self.scene.holds(["close", name])
        )
        yield from self.hand.go(self.hand.position + 0.05 * out + [0, 0, 0.03], turned, tolerance=0.02)
        yield from self.hand.grip(hand.OPEN, 4)

    def _pull(self, handle: Array, top: float, out: Array, yaw: float, name: str) -> Actions:
        """Take a bar with little room behind it: the fingers are half closed before they come down."""
        turned = hand.rotation(yaw)
        grip = np.array([*handle[:2], max(handle[2] - 0.002, top - relief.PALM_M + 0.004)]) + 0.002 * out
        yield from self.hand.rise(grip[2] + 0.12)
        yield from self.hand.go(grip + [0, 0, 0.1], turned, tolerance=0.006)
        yield from self.hand.grip(hand.CLOSED, HALF_CLOSING_STEPS)
        yield from self.hand.grip(0.0, 4)
        yield from self.hand.go(grip + [0, 0, 0.03], turned, tolerance=0.003, steps=30)
        yield from self.hand.go(grip, turned, tolerance=0.003, steps=30)
        yield from self.hand.grip(hand.CLOSED, CLOSING_STEPS)
        is_open = partial(self.scene.holds, ["open", name])
        yield from self.hand.go(grip + 0.22 * out, turned, tolerance=0.01, steps=60, until=is_open)
        yield from self.hand.grip(hand.OPEN, OPENING_STEPS)
        yield from self.hand.go(self.hand.position + [0, 0, 0.12], turned, tolerance=0.03)

    def turn(self, name: str, *, on: bool) -> Actions:
        """Take the ridge of a knob and turn it."""
        joint = self.scene.joint_of(name)
        body = int(self.scene.model.jnt_bodyid[joint])
        geoms = [
            g
            for g in range(self.scene.model.ngeom)
            if self.scene.model.geom_bodyid[g] == body and not self.scene.model.geom_group[g]
        ]
        top = max(scene.highest(self.scene.model, self.scene.data, g) for g in geoms)
        angle = float(self.scene.data.qpos[self.scene.model.jnt_qposadr[joint]])
        spot = np.array([*self.scene.data.xanchor[joint][:2], top - 0.012 + relief.TIP_M])
        held = hand.rotation(hand.wrapped(angle))
        yield from self.hand.rise(spot[2] + 0.12)
        yield from self.hand.go(spot + [0, 0, 0.1], held, tolerance=0.015)
        yield from self.hand.go(spot, held, tolerance=0.006, steps=40)
        yield from self.hand.grip(hand.CLOSED, CLOSING_STEPS)
        turned = hand.about([0, 0, 1], 1.2 if on else -angle - 0.2) @ held
        goal = ["turnon" if on else "turnoff", name]
        yield from self.hand.go(spot, turned, tolerance=0.002, steps=40, until=lambda: self.scene.holds(goal))
        yield from self.hand.grip(hand.OPEN, OPENING_STEPS)
        yield from self.hand.go(self.hand.position + [0, 0, 0.12], self.hand.turned, tolerance=0.03)
