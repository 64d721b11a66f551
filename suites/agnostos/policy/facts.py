"""What the policies rely on of their suite, taken from the suite: a change there is a change here."""

from __future__ import annotations

from ..tasks import TASKS

__all__ = ["ACTION_NUMBERS", "SEEN", "SUITES"]

SUITES = ("agnostos", "agnostos_strict", "agnostos_floating")  # those whose actions are keyframes
SEEN = tuple(task.name for task in TASKS.values() if task.split == "seen")
ACTION_NUMBERS = 9
