"""What the policy relies on of its suite, taken from the suite: a change there is a change here."""

from __future__ import annotations

from ..env import EE_NUMBER, HIGH, LOW
from ..world import FLOOR_ID, NOTHING_ID, TABLE_CENTRE, TABLE_ID, VIEWS

__all__ = ["BACKDROP", "CAMERA", "HIGH", "LOW", "METRES_PER_PIXEL", "NOTHING_ID", "SUITES", "TABLE_CENTRE_M", "TOOLS"]

SUITES = ("vima", "vima_strict")
CAMERA = "top"  # looks straight down from far away: pixels are places on the table
METRES_PER_PIXEL = (VIEWS[CAMERA].position[2] - TABLE_CENTRE[2]) / VIEWS[CAMERA].focal_px
TABLE_CENTRE_M = TABLE_CENTRE[:2]
BACKDROP = (FLOOR_ID, TABLE_ID, NOTHING_ID)  # the segmentation's numbers that are no object
TOOLS = len(EE_NUMBER)
