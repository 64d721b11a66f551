"""What the policies rely on of their suite, taken from the suite: a change there is a change here."""

from __future__ import annotations

from collections.abc import Mapping

from ..benchmark import AgnostosSuite, Mode
from ..protocol import KEYFRAMES, ROOM
from ..tasks import TASKS

__all__ = ["ACTION_NUMBERS", "CAMERAS", "HIGH_M", "KEYFRAMES", "LOW_M", "ROBOTS", "SEEN", "SUITES"]

ROBOTS: Mapping[str, Mode] = {"agnostos": "arm", "agnostos_strict": "arm", "agnostos_floating": "floating"}
SUITES = tuple(ROBOTS)  # those whose actions are keyframes
SEEN = tuple(task.name for task in TASKS.values() if task.split == "seen")
ACTION_NUMBERS = 9
CAMERAS = tuple(AgnostosSuite.cameras)
LOW_M, HIGH_M = ROOM.low_m, ROOM.high_m
