"""Pictures of snapshots, by whichever renderer works here: a pure function of the snapshot and the camera."""

from __future__ import annotations

import atexit
import importlib
from typing import Any, Protocol

import numpy as np

from pytest_vla.sim.mujoco.rays import RayCaster, Scan, scan
from pytest_vla.sim.mujoco.renderers import Backend, GlBackend, MujocoError, backend, load_mujoco
from pytest_vla.sim.mujoco.world import Image, Snapshot, drawn_state

MAX_GEOMS = 1000


class Painter(Protocol):
    """What draws: it is shown each new model, and then moments of it."""

    def show(self, model: Any) -> None: ...

    def paint(self, data: Any, camera: int, shadows: bool) -> Image: ...

    def close(self) -> None: ...


class MujocoStage:
    """Draws snapshots of any model in one size. The renderer is chosen and set up by the first picture."""

    def __init__(self, width_px: int, height_px: int, renderer: Backend | None = None) -> None:
        self.width_px, self.height_px, self._renderer = width_px, height_px, renderer
        self._painter: Painter | None = None
        self._model: Any = None
        self._shown: Any = None
        """The model that the painter was shown."""

    @property
    def renderer(self) -> Backend:
        """Its name, for the provenance of a run: pixels differ between renderers."""
        return self._renderer or backend()

    def picture(self, snapshot: Snapshot, camera: str, *, shadows: bool = False) -> Image:
        """What the named camera of the snapshot's model sees; shadows cost several times the picture."""
        number = self._set(snapshot, camera)
        if self._painter is None:
            self._painter = self._make_painter()
        if self._shown is not self._model:
            self._shown = None  # should this be cut off between two lines
            self._painter.show(self._model)
            self._shown = self._model
        return self._painter.paint(self._data, number, shadows)

    def scan(self, snapshot: Snapshot, camera: str, side_px: int | None = None) -> Scan:
        """What the named camera measures, in as many pixels as its pictures have or in a square of so many."""
        number = self._set(snapshot, camera)
        return scan(self._model, self._data, number, side_px or self.width_px, side_px or self.height_px)

    def _set(self, snapshot: Snapshot, camera: str) -> int:
        """Come to the moment of a snapshot; returns the camera's number."""
        mj = load_mujoco()
        if snapshot.model is not self._model:
            self._model = None  # should this be cut off between two lines
            self._data = mj.MjData(snapshot.model)
            self._model = snapshot.model
        number: int = mj.mj_name2id(self._model, mj.mjtObj.mjOBJ_CAMERA, camera)
        if number < 0:
            raise MujocoError(f"the scene has no camera '{camera}'")
        mj.mj_setState(self._model, self._data, snapshot.state, drawn_state())
        mj.mj_kinematics(self._model, self._data)
        mj.mj_comPos(self._model, self._data)
        mj.mj_camlight(self._model, self._data)
        return number

    def _make_painter(self) -> Painter:
        name = self.renderer
        if name == "rays":
            return RayCaster(self.width_px, self.height_px)
        return GlPainter(name, self.width_px, self.height_px)

    def close(self) -> None:
        """Free the renderer; the next picture sets up a new one."""
        painter, self._painter, self._model, self._shown = self._painter, None, None, None
        if painter is not None:
            painter.close()


class GlPainter:
    """MuJoCo's own renderer. Its context is kept while models bring the same meshes and texture sizes."""

    def __init__(self, name: GlBackend, width_px: int, height_px: int) -> None:
        mj = self._mj = load_mujoco()
        self._size = width_px, height_px
        self._gl = importlib.import_module(f"mujoco.{name}").GLContext(width_px, height_px)
        self._view = mj.MjrRect(0, 0, width_px, height_px)
        self._pixels = np.empty((height_px, width_px, 3), np.uint8)
        self._option, self._camera = mj.MjvOption(), mj.MjvCamera()
        self._camera.type = mj.mjtCamera.mjCAMERA_FIXED
        self._context: Any = None
        self._assets: tuple[object, ...] = ()
        self._texels: Image | None = None
        atexit.register(self.close)  # a context that outlives the driver complains when Python ends

    def show(self, model: Any) -> None:
        mj = self._mj
        self._gl.make_current()
        assets = _assets(model)
        if self._context is None or assets != self._assets:
            self._free()
            model.vis.global_.offwidth, model.vis.global_.offheight = self._size
            self._context = mj.MjrContext(model, mj.mjtFontScale.mjFONTSCALE_100)
            mj.mjr_setBuffer(mj.mjtFramebuffer.mjFB_OFFSCREEN, self._context)
            self._assets = assets
        elif self._texels is None or not np.array_equal(self._texels, model.tex_data):
            self._texels = None
            for number in range(model.ntex):
                mj.mjr_uploadTexture(model, self._context, number)
        self._texels = model.tex_data.copy()
        self._model, self._scene = model, mj.MjvScene(model, MAX_GEOMS)

    def paint(self, data: Any, camera: int, shadows: bool) -> Image:
        mj = self._mj
        self._gl.make_current()
        self._camera.fixedcamid = camera
        self._scene.flags[mj.mjtRndFlag.mjRND_SHADOW] = shadows
        mj.mjv_updateScene(
            self._model, data, self._option, None, self._camera, mj.mjtCatBit.mjCAT_ALL.value, self._scene
        )
        mj.mjr_render(self._view, self._scene, self._context)
        mj.mjr_readPixels(self._pixels, None, self._view, self._context)
        return np.ascontiguousarray(self._pixels[::-1])

    def close(self) -> None:
        atexit.unregister(self.close)
        self._gl.make_current()
        self._free()
        self._gl.free()

    def _free(self) -> None:
        context, self._context = self._context, None
        if context is not None:
            context.free()


def _assets(model: Any) -> tuple[object, ...]:
    """What a context is made from: a model with the same answer can be drawn with it."""
    meshes = (model.mesh_vert, model.mesh_face, model.mesh_texcoord, model.hfield_data, model.skin_vert)
    return (
        tuple(zip(model.tex_type.tolist(), model.tex_height.tolist(), model.tex_width.tolist(), strict=True)),
        tuple(array.tobytes() for array in meshes if array.size),
        model.stat.extent,
        model.vis.map.shadowclip,
        model.vis.map.shadowscale,
        model.vis.quality.shadowsize,
        model.vis.quality.offsamples,
    )
