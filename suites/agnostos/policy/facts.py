"""What the policies rely on of their suite, taken from the suite: a change there is a change here."""

from __future__ import annotations

from ..benchmark import AgnostosSuite
from ..tasks import TASKS

__all__ = ["ACTION_NUMBERS", "CAMERAS", "SEEN", "SUITES"]

SUITES = ("agnostos", "agnostos_strict", "agnostos_floating")  # those whose actions are keyframes
SEEN = tuple(task.name for task in TASKS.values() if task.split == "seen")
ACTION_NUMBERS = 9
CAMERAS = tuple(AgnostosSuite.cameras)
