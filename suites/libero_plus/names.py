"""What is in the names of LIBERO-plus' tasks: the task of LIBERO, and behind it what is off about it."""

from __future__ import annotations

import re

#: What the names end with: camera and robot (`view` with `initstate`, and `noise` behind them), words, light, table and
#: wall, added things, and things that were moved.
SUFFIX = re.compile(r"(_moved)?_(view_-?\d|language_\d|light_\d|table_\d|tb_\d|add_\d|level\d).*$|_moved$")

#: The seven dimensions under the names that upstream's list gives them.
DIMENSIONS = {
    "Camera Viewpoints": "camera",
    "Robot Initial States": "robot",
    "Language Instructions": "language",
    "Light Conditions": "light",
    "Background Textures": "background",
    "Sensor Noise": "noise",
    "Objects Layout": "layout",
}


def base_of(task: str) -> str:
    """The task of LIBERO that it is made from."""
    return SUFFIX.sub("", task)


def rewords(task: str) -> bool:
    """Whether its instruction is another one, which only its bddl file says."""
    return "_language_" in task
