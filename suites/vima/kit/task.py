"""What tasks have here beyond any task: a place in the protocol, a tool, and how the oracle goes about them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from pytest_vla.episode import EpisodeKey
from pytest_vla.kit import task as kit
from pytest_vla.kit.draw import drawn

from .draw import Draw
from .partitions import Choices
from .scene import Instance, TableState

if TYPE_CHECKING:
    from .moves import Move

Tool = Literal["suction", "spatula"]
EXTRA_STEPS = 2  # what the protocol allows a policy beyond the oracle's budget

Plan = Callable[[Instance, TableState], "Move | None"]


@dataclass(frozen=True)
class Task(kit.Task):
    """One template of the suite. `plan` is how the oracle goes about it, where that is more than goal after goal."""

    group: str
    partitions: Mapping[str, Choices] = field(repr=False)
    tool: Tool = "suction"
    plan: Plan | None = None

    @property
    def oracle_steps(self) -> int:
        return self.step_limit - EXTRA_STEPS

    def instance(self, episode: EpisodeKey, *, strict: bool = False, stream: str = "scene") -> Instance:
        """The episode of that key."""
        choices = self.partitions[episode.partition]
        instance: Instance = drawn(lambda rng: self.draw(Draw(rng, choices, strict)), episode, stream)
        return instance


def task(
    *,
    group: str,
    oracle_steps: int,
    partitions: Mapping[str, Choices],
    tool: Tool = "suction",
    plan: Plan | None = None,
) -> Callable[[Callable[[Draw], Instance]], Task]:
    """Turn a function that draws an episode into a task of the function's name, described by its docstring."""
    return kit.task_of(Task, oracle_steps + EXTRA_STEPS, group=group, partitions=partitions, tool=tool, plan=plan)
