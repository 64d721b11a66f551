"""What makes a function a task: its name, its place in the protocol, its tool, and how many steps it may take."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from pytest_vla.episode import EpisodeKey

from .draw import Draw
from .partitions import Choices
from .placement import NoRoom
from .scene import Instance, TableState

if TYPE_CHECKING:
    from .moves import Move

Tool = Literal["suction", "spatula"]
EXTRA_STEPS = 2  # what the protocol allows a policy beyond the oracle's budget
DRAWS = 200

Plan = Callable[[Instance, TableState], "Move | None"]


@dataclass(frozen=True, slots=True)
class Task:
    """One template of the suite. `draw` makes an episode of it, `plan` is how the oracle goes about it."""

    name: str
    summary: str
    group: str
    oracle_steps: int
    partitions: Mapping[str, Choices] = field(repr=False)
    draw: Callable[[Draw], Instance] = field(repr=False)
    tool: Tool = "suction"
    plan: Plan | None = None

    @property
    def step_limit(self) -> int:
        return self.oracle_steps + EXTRA_STEPS

    def instance(self, episode: EpisodeKey, *, strict: bool = False, stream: str = "scene") -> Instance:
        """The episode of that key; where its table turned out too full, it is drawn again from the next stream."""
        choices = self.partitions[episode.partition]
        for attempt in range(DRAWS):
            rng = episode.rng(stream if attempt == 0 else f"{stream}.{attempt}")
            try:
                return self.draw(Draw(rng, choices, strict))
            except NoRoom:
                continue
        raise RuntimeError(
            f"{episode} has no room on the table after {DRAWS} draws; the task asks for too many objects"
        )


def task(
    *,
    group: str,
    oracle_steps: int,
    partitions: Mapping[str, Choices],
    tool: Tool = "suction",
    plan: Plan | None = None,
) -> Callable[[Callable[[Draw], Instance]], Task]:
    """Turn a function that draws an episode into a task of the function's name, described by its docstring."""

    def wrap(draw: Callable[[Draw], Instance]) -> Task:
        summary = (draw.__doc__ or "").strip().split("\n")[0]
        return Task(draw.__name__, summary, group, oracle_steps, partitions, draw, tool, plan)

    return wrap
