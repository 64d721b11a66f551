"""What the policy relies on of its suite, taken from the suite: a change there is a change here."""

from __future__ import annotations

from ..board import BOARD_M
from ..cameras import FRONT
from ..oracle import TRAVEL_M
from ..rig import GRIPPER, HEIGHT, HIGH, LOW, START_M

__all__ = ["BOARD_M", "CAMERA", "FRONT", "GRIPPER", "HEIGHT", "REST_SPOT", "SUITES", "TABLE_M", "TRAVEL_M"]

SUITES = ("bomb", "bomb_bullet")
CAMERA = "front"  # calibrated: what it sees of the table plane is known as `FRONT`
TABLE_M = (float(HIGH[0] - LOW[0]), float(HIGH[1] - LOW[1]))  # of the table in the hand's reach, about the origin
REST_SPOT = START_M[:2]
