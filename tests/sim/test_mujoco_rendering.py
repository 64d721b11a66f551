"""Pictures on any machine: the renderer is found without risk, and all of them show the same scene."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("mujoco")

from pytest_vla.sim.mujoco import VARIABLE, MujocoError, MujocoStage, MujocoWorld, backend, renderers

SCENE = """
<mujoco>
  <statistic extent="0.6" center="0 0 0"/>
  <visual><headlight ambient="0.3 0.3 0.3" diffuse="0.3 0.3 0.3" specular="0 0 0"/></visual>
  <asset>
    <texture name="tiles" type="2d" builtin="flat" width="64" height="32"/>
    <material name="tiles" texture="tiles" texrepeat="2 2"/>
    <material name="green" rgba="0.2 0.5 0.2 1" specular="0.8" shininess="0.3"/>
  </asset>
  <worldbody>
    <light type="directional" dir="0.4 0.3 -1" diffuse="0.6 0.6 0.6" castshadow="true"/>
    <light type="spot" pos="0.3 0 0.6" dir="-0.3 0 -0.6" diffuse="0.3 0.3 0" cutoff="30"/>
    <camera name="front" pos="0 -0.6 0.6" xyaxes="1 0 0 0 0.7 0.7" fovy="45"/>
    <geom type="plane" size="0.4 0.4 0.1"/>
    <geom type="plane" size="0.12 0.06 0.1" material="tiles" pos="-0.15 0.15 0.001"/>
    <geom type="ellipsoid" size="0.12 0.06 0.04" material="green" pos="-0.15 -0.1 0.04"/>
    <body pos="0.15 0.05 {height}"><freejoint/><geom type="cylinder" size="0.1 0.01" material="green"/></body>
  </worldbody>
</mujoco>
"""
TILES = np.zeros((32, 64, 3), np.uint8)
TILES[:16, :32], TILES[:16, 32:], TILES[16:, :32], TILES[16:, 32:] = (
    (255, 0, 0),
    (0, 255, 0),
    (0, 0, 255),
    (255, 255, 0),
)
GL = ("egl", "osmesa")

DRAW = """
from pytest_vla.sim.mujoco import MujocoStage, MujocoWorld, backend
world, stage = MujocoWorld(), MujocoStage(32, 32)
world.load("<mujoco><worldbody><camera name='c' pos='0 0 3'/><geom size='1'/></worldbody></mujoco>")
print(backend(), stage.picture(world.snapshot(), "c").max() > 0)
"""


@pytest.fixture(autouse=True)
def no_memory(monkeypatch):
    """What one test finds out about the machine is nothing another may rely on."""
    monkeypatch.delenv("PYOPENGL_PLATFORM", raising=False)  # set by whichever GL was loaded first
    renderers.problem.cache_clear()
    yield
    backend.cache_clear()


def alone(check: Callable[..., None], *args: object) -> None:
    """Run a check in a process of its own: PyOpenGL knows one platform for the life of a process."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        pool.submit(check, *args).result()


def need(renderer: str) -> None:
    if renderer in GL and (why := renderers.problem(renderer)):
        pytest.skip(f"{renderer}: {why}")


def scene(height: float = 0.02, tiles: np.ndarray = TILES) -> MujocoWorld:
    world = MujocoWorld()
    world.load(SCENE.format(height=height), {"tiles": tiles})
    return world


def drawn_elsewhere(**environment: str) -> str:
    """What another process says that draws with these variables set."""
    clean = {
        name: value for name, value in os.environ.items() if name not in ("MUJOCO_GL", "PYOPENGL_PLATFORM", VARIABLE)
    }
    done = subprocess.run(
        [sys.executable, "-c", DRAW], env=clean | environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("renderer", GL)
@pytest.mark.parametrize("shadows", [False, True])
def test_the_ray_caster_shows_what_gl_shows(renderer, shadows):
    need(renderer)
    alone(rays_show_what_gl_shows, renderer, shadows)


def rays_show_what_gl_shows(renderer, shadows):
    one, two = MujocoStage(128, 128, renderer), MujocoStage(128, 128, "rays")
    snapshot = scene().snapshot()
    gl, rays = (stage.picture(snapshot, "front", shadows=shadows).astype(int) for stage in (one, two))
    one.close()
    apart = np.abs(gl - rays).max(axis=2)
    # GL's shadow map is coarse and speckles flat ground; edges differ by a pixel.
    assert np.mean(apart > 30) < (0.25 if shadows else 0.05)
    assert np.median(apart) <= 3


@pytest.mark.parametrize("renderer", [*GL, "rays"])
def test_pictures_depend_on_the_snapshot_alone(renderer):
    need(renderer)
    alone(pictures_depend_on_the_snapshot_alone, renderer)


def pictures_depend_on_the_snapshot_alone(renderer):
    stage = MujocoStage(64, 64, renderer)
    early, other, faded = scene(), scene(0.3), scene(tiles=TILES // 2)
    before = early.snapshot()
    first = stage.picture(before, "front")
    early.step(50)
    for world in (other, faded, early):
        stage.picture(world.snapshot(), "front")
    assert np.array_equal(stage.picture(before, "front"), first)
    assert not np.array_equal(stage.picture(faded.snapshot(), "front"), first)
    stage.close()
    assert np.array_equal(stage.picture(before, "front"), first)
    stage.close()


def test_drawing_does_not_reach_the_physics():
    seen, unseen, stage = scene(0.3), scene(0.3), MujocoStage(32, 32, "rays")
    for _ in range(20):
        stage.picture(seen.snapshot(), "front", shadows=True)
        seen.step(5)
        unseen.step(5)
    assert seen.digest() == unseen.digest()


def test_an_unknown_camera_is_named():
    with pytest.raises(MujocoError, match="no camera 'back'"):
        MujocoStage(32, 32, "rays").picture(scene().snapshot(), "back")


@pytest.mark.parametrize("name", ["egl", "osmesa", "nonsense"])
def test_a_wrong_mujoco_gl_does_not_stop_anything(name):
    renderer, drawn = drawn_elsewhere(MUJOCO_GL=name, PYOPENGL_PLATFORM="nonsense").split()
    assert (renderer, drawn) == ("rays", "True")


def test_without_any_gl_library_rays_are_cast(tmp_path: Path):
    """Python is started with a hook that hides the libraries, in the probing processes as well."""
    (tmp_path / "sitecustomize.py").write_text(
        "import ctypes, ctypes.util\n"
        "class Hidden(ctypes.CDLL):\n"
        "    def __init__(self, name=None, *args, **kwargs):\n"
        "        if name and any(word in str(name) for word in ('EGL', 'OSMesa', 'libGL', 'OpenGL')):\n"
        "            raise OSError(f'{name}: cannot open shared object file')\n"
        "        super().__init__(name, *args, **kwargs)\n"
        "ctypes.CDLL = Hidden\n"
        "for loader in (ctypes.cdll, ctypes.pydll): loader._dlltype = Hidden\n"
        "find = ctypes.util.find_library\n"
        "ctypes.util.find_library = lambda name: None if name in ('EGL', 'OSMesa', 'GL', 'OpenGL') else find(name)\n"
    )
    for environment in ({}, {"MUJOCO_GL": "egl"}, {"MUJOCO_GL": "osmesa"}):
        assert drawn_elsewhere(PYTHONPATH=str(tmp_path), **environment) == "rays True"


@pytest.mark.parametrize("renderer", [*GL, "rays"])
def test_the_variable_chooses_the_renderer(renderer):
    need(renderer)
    assert drawn_elsewhere(**{VARIABLE: renderer}) == f"{renderer} True"


def test_a_renderer_that_was_asked_for_and_does_not_work_is_an_error(monkeypatch):
    backend.cache_clear()
    monkeypatch.setenv(VARIABLE, "osmesa")
    monkeypatch.setattr(renderers, "problem", lambda name: "no such library")
    with pytest.raises(MujocoError, match=f"{VARIABLE}=osmesa does not work here: no such library"):
        backend()
    monkeypatch.setenv(VARIABLE, "vulkan")
    with pytest.raises(MujocoError, match="'vulkan'; it can be auto, egl, osmesa, rays"):
        backend()


def test_without_a_choice_the_first_that_works_is_taken(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.delenv("MUJOCO_GL", raising=False)
    for working, expected in (({"egl", "osmesa"}, "egl"), ({"osmesa"}, "osmesa"), (set(), "rays")):
        backend.cache_clear()
        monkeypatch.setattr(renderers, "problem", lambda name, working=working: "" if name in working else "no")
        assert backend() == expected
