"""Which way of rendering works on this machine, found out in a process of its own.

A missing driver can end the process that asks for it, and a wrong MUJOCO_GL makes `import mujoco` itself raise.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from functools import cache
from importlib.metadata import version
from typing import Any, Literal, get_args

Backend = Literal["egl", "osmesa", "rays"]
GlBackend = Literal["egl", "osmesa"]

VARIABLE = "PYTEST_VLA_MUJOCO_RENDERER"
CHOICES = ("auto", *get_args(Backend))
NO_GL = "disable"  # the value of MUJOCO_GL with which `import mujoco` touches no driver
SAFE_GL = ("", "glfw", NO_GL)
PROBE_TIMEOUT_S = 60.0
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # of glibc's malloc.h
LARGE_BLOCK = 128 << 10  # bytes

_PROBE = """
import importlib, sys
import mujoco, numpy
context = importlib.import_module("mujoco." + sys.argv[1]).GLContext(32, 32)
context.make_current()
model = mujoco.MjModel.from_xml_string("<mujoco><worldbody><geom size='1'/></worldbody></mujoco>")
model.vis.quality.offsamples = model.vis.quality.shadowsize = 0
data, scene, view = mujoco.MjData(model), mujoco.MjvScene(model, 10), mujoco.MjrRect(0, 0, 32, 32)
mujoco.mj_forward(model, data)
painter = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100)
mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, painter)
mujoco.mjv_updateScene(
    model, data, mujoco.MjvOption(), None, mujoco.MjvCamera(), mujoco.mjtCatBit.mjCAT_ALL, scene)
mujoco.mjr_render(view, scene, painter)
pixels = numpy.zeros((32, 32, 3), numpy.uint8)
mujoco.mjr_readPixels(pixels, None, view, painter)
print("drawn" if pixels.any() else "the picture is black")
"""


class MujocoError(Exception):
    """The simulator was asked for something it cannot do here."""


@cache
def backend() -> Backend:
    """The renderer of this process: the first of EGL, OSMesa and the ray caster that works, or what VARIABLE names."""
    wanted = os.environ.get(VARIABLE, "").strip().lower() or "auto"
    if wanted not in CHOICES:
        raise MujocoError(f"{VARIABLE} is '{wanted}'; it can be {', '.join(CHOICES)}")
    if wanted == "auto":
        order: list[GlBackend] = ["egl", "osmesa"]
        order.sort(key=lambda name: name != os.environ.get("MUJOCO_GL", "").strip().lower())
        return next((name for name in order if not problem(name)), "rays")
    if wanted == "rays":
        return "rays"
    name: GlBackend = "egl" if wanted == "egl" else "osmesa"
    if why := problem(name):
        raise MujocoError(f"{VARIABLE}={name} does not work here: {why}. Unset it, or set it to 'rays'")
    return name


@cache
def problem(name: GlBackend) -> str:
    """Why this renderer cannot draw here, or nothing when it can."""
    try:
        probe = subprocess.run(
            [sys.executable, "-c", _PROBE, name],
            env=os.environ | {"MUJOCO_GL": NO_GL},
            capture_output=True,
            text=True,
            timeout=PROBE_TIMEOUT_S,
        )
    except subprocess.TimeoutExpired:
        return f"it drew nothing in {PROBE_TIMEOUT_S:.0f} s"
    if probe.returncode == 0 and probe.stdout.strip() == "drawn":
        return ""
    said = (probe.stderr or probe.stdout).strip().splitlines()
    return said[-1] if said else f"the process that tried it ended with {probe.returncode}"


@cache
def load_mujoco() -> Any:
    """The mujoco module, imported without falling over a MUJOCO_GL that does not work here."""
    _return_large_blocks()
    before = os.environ.get("MUJOCO_GL")
    name = (before or "").strip().lower()
    works = name in SAFE_GL or (name == "egl" and not problem("egl")) or (name == "osmesa" and not problem("osmesa"))
    if works or "mujoco" in sys.modules:
        import mujoco

        return mujoco
    os.environ["MUJOCO_GL"] = NO_GL
    try:
        import mujoco
    finally:
        os.environ["MUJOCO_GL"] = str(before)
    return mujoco


@cache
def _return_large_blocks() -> None:
    """Let the C library give large blocks back when they are freed.

    A model for each episode is a few megabytes; left to itself, glibc begins to keep such blocks, in pieces that nobody
    can use: a worker grew to four times its size within 450 episodes.
    """
    if sys.platform != "linux":
        return
    allocator = ctypes.CDLL(None)
    if hasattr(allocator, "mallopt"):
        allocator.mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK)
        allocator.mallopt(M_TRIM_THRESHOLD, LARGE_BLOCK)


def made_with() -> dict[str, str]:
    """What bits and pixels depend on besides a scene: MuJoCo's version, and what draws."""
    return {"renderer": f"mujoco-{backend()}", "simulator": f"mujoco-{_version()}"}


@cache
def _version() -> str:
    return version("mujoco")
