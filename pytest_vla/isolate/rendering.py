"""Which of MuJoCo's OpenGL back ends an environment can draw with here, found out in processes that may die of it."""

from __future__ import annotations

import json
import os
import subprocess
from ctypes.util import find_library
from functools import cache
from pathlib import Path

from pytest_vla.isolate.environment import Environment, python_of
from pytest_vla.isolate.install import clean_variables

BACKENDS = ("egl", "osmesa")
VARIABLE = "MUJOCO_GL"
INSTALL = "apt-get install libegl1 libgl1, or libosmesa6"
_PROBE = """
import mujoco
model = mujoco.MjModel.from_xml_string("<mujoco><worldbody><geom size='1'/></worldbody></mujoco>")
renderer = mujoco.Renderer(model, 16, 16)
data = mujoco.MjData(model)
mujoco.mj_forward(model, data)
renderer.update_scene(data)
assert renderer.render().shape == (16, 16, 3)
print("drawn", flush=True)
import os
os._exit(0)
"""


@cache
def renderer(environment: str, folder: Path, variables: tuple[tuple[str, str], ...]) -> str:
    """The first back end that draws, or nothing; asked once, and again when the machine's libraries have changed."""
    chosen = os.environ.get(VARIABLE)
    if chosen:
        return chosen
    libraries = {name: find_library(name) or "" for name in ("EGL", "GL", "OSMesa")}
    note = folder / "renderer.json"
    try:
        known = json.loads(note.read_text(encoding="utf-8"))
        if known["libraries"] == libraries:
            return str(known["renderer"])
    except (OSError, ValueError, KeyError, TypeError):
        pass
    found = next((name for name in BACKENDS if _draws(folder, name, dict(variables))), "")
    unfinished = note.with_name(f"renderer.{os.getpid()}.new")
    unfinished.write_text(json.dumps({"libraries": libraries, "renderer": found}), encoding="utf-8")
    unfinished.replace(note)
    return found


def renderer_of(environment: Environment) -> str:
    """The same for a declared environment."""
    return renderer(environment.name, environment.folder, tuple(sorted(environment.variables.items())))


def _draws(folder: Path, backend: str, variables: dict[str, str]) -> bool:
    command = [str(python_of(folder)), "-I", "-c", _PROBE]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=60,
            stdin=subprocess.DEVNULL,
            env=clean_variables({**variables, VARIABLE: backend}),
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return "drawn" in done.stdout
