"""A MuJoCo toolkit that gives the same bits every time and pictures on every machine, with or without GL.

A world is compiled from MJCF text or an `MjSpec` for each episode, so nothing is left of the one before. Pictures are
made from snapshots on a stage of their own: looking, early, late or never, cannot reach the physics. MuJoCo is imported
when the first world or picture needs it, never earlier.
"""

from pytest_vla.sim.mujoco.renderers import VARIABLE, Backend, MujocoError, backend, load_mujoco, made_with
from pytest_vla.sim.mujoco.scene import Lights, Scene
from pytest_vla.sim.mujoco.stage import MujocoStage
from pytest_vla.sim.mujoco.world import Image, MujocoWorld, Snapshot

__all__ = [
    "VARIABLE",
    "Backend",
    "Image",
    "Lights",
    "MujocoError",
    "MujocoStage",
    "MujocoWorld",
    "Scene",
    "Snapshot",
    "backend",
    "load_mujoco",
    "made_with",
]
