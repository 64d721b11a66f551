"""A PyBullet toolkit that gives the same bits every time: a physics world, a picture stage, cameras, digests.

Physics and pictures live in two clients. The world is emptied by a full simulator reset before each episode, because
a broadphase that remembers removed bodies changes the last bits of later contacts. The stage only draws, so it keeps
its meshes and textures for the life of the process: nothing it remembers can reach the physics.
"""

from pytest_vla.sim.bullet.client import BulletError
from pytest_vla.sim.bullet.stage import (
    DAYLIGHT,
    BulletStage,
    Camera,
    Light,
    Mesh,
    Picture,
    Prop,
    unpacked,
)
from pytest_vla.sim.bullet.world import STEP_HZ, BulletWorld, Contact, Watch

__all__ = [
    "DAYLIGHT",
    "STEP_HZ",
    "BulletError",
    "BulletStage",
    "BulletWorld",
    "Camera",
    "Contact",
    "Light",
    "Mesh",
    "Picture",
    "Prop",
    "Watch",
    "unpacked",
]
