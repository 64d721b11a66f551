"""How the table is seen: the cameras `front` (fixed) and `wrist` (on the carriage)."""

from __future__ import annotations

from pytest_vla.kit.cameras import edited
from pytest_vla.kit.gantry import WRIST
from pytest_vla.sim.view import View, looking_at

from .edits import SceneEdits

IMAGE_PX = 256
FRONT = looking_at((0.0, -0.30, 0.44), (0.0, 0.0, 0.0), 45.0)


def views(edits: SceneEdits) -> dict[str, View]:
    """Both cameras as an edit leaves them; the very same views when it leaves them alone."""
    return {"front": edited(FRONT, edits.front, (0.0, 0.0, 0.0)), "wrist": edited(WRIST, edits.wrist)}
