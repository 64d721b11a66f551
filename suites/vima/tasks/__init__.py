"""The 17 tasks, one file each, in the order of the protocol."""

from __future__ import annotations

from importlib import import_module

from ..kit.task import Task

NAMES = (
    "visual_manipulation",
    "scene_understanding",
    "rotate",
    "rearrange",
    "rearrange_then_restore",
    "novel_adj",
    "novel_noun",
    "novel_adj_and_noun",
    "twist",
    "follow_motion",
    "follow_order",
    "sweep_without_exceeding",
    "sweep_without_touching",
    "same_texture",
    "same_shape",
    "manipulate_old_neighbor",
    "pick_in_order_then_restore",
)


def _load(name: str) -> Task:
    found: Task = getattr(import_module(f"{__name__}.{name}"), name)
    return found


TASKS: dict[str, Task] = {name: _load(name) for name in NAMES}
