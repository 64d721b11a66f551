"""The push strategy of the original's scripted expert, on our table: from a block's centre, again and again.

It takes the wanted blocks in their order. Where the line half closes the mouth it goes around it: sideways first, then
past the line, then in.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest_vla as vla

BESIDE_M = 0.05  # of the line's ends: from there on a block is beside it ...
CLEAR_M = 0.1  # ... and this is where it is pushed
PAST_M = 0.02


class CentrePush(vla.Policy):
    """Privileged: it reads where the blocks are from the environment."""

    def __init__(self, env: Any) -> None:
        self.env = env

    def act(self, observations: Sequence[Any], states: Sequence[Any]) -> Sequence[Any]:
        from pytest_vla.suites.vima.kit.moves import Move

        instance, state = self.env.instance, self.env.table.state()
        judge = instance.judge
        label = next(label for label in judge.targets if label not in judge.inside(state))
        block = state[label].xy
        around = self.env.task.name == "sweep_without_touching"
        end = self._around(judge, block) if around else _centre(judge.zone)
        return [Move(block, end).action() for _ in observations]

    def _around(self, judge: Any, block: tuple[float, float]) -> tuple[float, float]:
        line, zone = judge.line, judge.zone
        x, y = block
        side = line.y_low - CLEAR_M if y < (line.y_low + line.y_high) / 2 else line.y_high + CLEAR_M
        if line.y_low - BESIDE_M < y < line.y_high + BESIDE_M:
            if x > (line.x_low + line.x_high) / 2:
                return ((line.x_low + line.x_high) / 2 + 0.75) / 2, side  # half way to the table's edge
        elif x > line.x_low - PAST_M:
            return _centre(zone)[0] - PAST_M, side
        return _centre(zone)


def _centre(area: Any) -> tuple[float, float]:
    return (area.x_low + area.x_high) / 2, (area.y_low + area.y_high) / 2
