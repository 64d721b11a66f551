"""What makes a function a task: its name, its docstring, and how many actions a policy has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

TaskT = TypeVar("TaskT", bound="Task")


@dataclass(frozen=True)
class Task:
    """One template of a suite: `draw` makes an episode of it. A suite adds what else its tasks differ in."""

    name: str
    summary: str
    step_limit: int
    draw: Callable[[Any], Any] = field(repr=False)


def task_of(kind: type[TaskT], step_limit: int, **details: Any) -> Callable[[Callable[[Any], Any]], TaskT]:
    """Turn a function that draws an episode into a task of the function's name, described by its docstring."""

    def wrap(draw: Callable[[Any], Any]) -> TaskT:
        summary = (draw.__doc__ or "").strip().split("\n")[0]
        return kind(name=draw.__name__, summary=summary, step_limit=step_limit, draw=draw, **details)

    return wrap
