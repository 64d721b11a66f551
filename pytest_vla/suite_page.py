"""What somebody who writes a policy must know of a suite, on one page of text: what it gets, what it may answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from pytest_vla.policies.base import pixels
from pytest_vla.suite import Suite, Termination

if TYPE_CHECKING:
    import gymnasium

TITLE_WIDTH, WIDTH = 14, 110
NAMED = 8  # partitions in a row
ENDS = {
    Termination.ON_SUCCESS: "the first success ends the episode",
    Termination.AT_HORIZON: "success must hold at the step limit",
}


def format_lines(suite: Suite) -> Iterator[str]:
    """The format of a suite, a line or more for each thing, its tasks last."""
    yield from _titled("cameras", [_camera(suite, name) for name in suite.cameras] or ["none"])
    yield from _titled("state", [f"{key}{_meaning(suite, f'state.{key}')}" for key in suite.state_keys] or ["none"])
    yield from _titled("action", [*_action(suite)])
    yield from _titled("control rate", [_rate(suite.control_hz)])
    yield from _titled("termination", [f"{suite.termination.value}: {ENDS[suite.termination]}"])
    yield from _titled("partitions", wrap(", ".join(suite.default_partitions()), WIDTH - TITLE_WIDTH))
    others = [name for name in suite.partitions() if name not in suite.default_partitions()]
    yield from _titled("  by name", wrap(_first(others), WIDTH - TITLE_WIDTH))
    axes = list(suite.axes())
    yield from _titled("axes", wrap(f"{len(axes)}: {', '.join(axes)}", WIDTH - TITLE_WIDTH))
    oracle = "yes" if suite.has_oracle else "no"
    yield from _titled("oracle", [oracle])
    yield from _titled("tasks", [_task(suite, task) for task in suite.tasks()])


def _titled(title: str, lines: list[str]) -> Iterator[str]:
    for number, line in enumerate(lines):
        yield f"  {title if not number else '':<{TITLE_WIDTH}}{line}"


def _camera(suite: Suite, name: str) -> str:
    size = suite.image_sizes.get(name)
    return f"images.{name}" + (f": {pixels(size)}, RGB bytes" if size else "")


def _meaning(suite: Suite, name: str) -> str:
    return f": {suite.meanings[name]}" if name in suite.meanings else ""


def _action(suite: Suite) -> Iterator[str]:
    from gymnasium import spaces

    declared = type(suite).action_space is not Suite.action_space
    if suite.missing() is not None and not declared:
        yield "known where the suite can run"
        return
    space = suite.action_space(suite.tasks()[0])
    if not isinstance(space, spaces.Dict):
        yield f"{_space(space)}{_meaning(suite, 'action')}"
        return
    for name in sorted(space.spaces):
        yield f"{name}, {_space(space[name])}{_meaning(suite, f'action.{name}')}"
    size = suite.flatten_action(space.sample()).size
    yield f"a dict of these, or one vector of {size} numbers: its parts one after the other, in this order"


def _space(space: gymnasium.Space[Any]) -> str:
    from gymnasium import spaces

    if not isinstance(space, spaces.Box):
        return str(space)
    low, high = (sorted(set(bound.ravel().round(4).tolist())) for bound in (space.low, space.high))
    if len(low) == len(high) == 1:
        bounds = f"each from {low[0]:g} to {high[0]:g}"
    else:
        pairs = zip(space.low.ravel().tolist(), space.high.ravel().tolist(), strict=True)
        bounds = "from " + ", ".join(f"{a:.4g} to {b:.4g}" for a, b in pairs)
    return f"{'x'.join(map(str, space.shape)) or 'one'} {space.dtype} numbers, {bounds}"


def _rate(hertz: float) -> str:
    return f"{hertz:g} actions a second" if hertz != 1 else "an action is a whole motion, or takes a second"


def _task(suite: Suite, task: str) -> str:
    partitions = [partition for name, partition in suite.cells() if name == task]
    steps = suite.step_limit(task)
    return f"{task} (at most {steps} action{'s' * (steps != 1)}): {_first(partitions)}"


def _first(names: Sequence[str]) -> str:
    more = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {more} more" if more > 0 else "")
