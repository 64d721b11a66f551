"""A Gymnasium environment as a suite of one task, in a process of its own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from pytest_vla.isolate.described import DescribedSuite
from pytest_vla.suite import Termination

if TYPE_CHECKING:
    import gymnasium


class GymSuite(DescribedSuite):
    """What it asks of the world is its action space, its limit, and whether it heeds its seeds."""

    version = "1"
    test_file = Path(__file__).parent / "test_gym.py"

    def __init__(self, name: str, environment: str, text: str) -> None:
        super().__init__(name, environment, text)
        at_end = parse_qs(text.partition("?")[2]).get("at") == ["end"]
        self.termination = Termination.AT_HORIZON if at_end else Termination.ON_SUCCESS

    def action_space(self, task: str) -> gymnasium.Space[Any]:
        return space_of(self.entry(task).get("action", {"kind": "Discrete", "n": 1, "start": 0}))


def space_of(described: Mapping[str, Any]) -> gymnasium.Space[Any]:
    """The space that a world has described."""
    import numpy as np
    from gymnasium import spaces

    match described["kind"]:
        case "Box":
            low, high = (np.array(described[side], described["dtype"]) for side in ("low", "high"))
            return spaces.Box(low, high, dtype=np.dtype(described["dtype"]).type)
        case "Discrete":
            return spaces.Discrete(described["n"], start=described["start"])
        case _:
            return spaces.Dict({name: space_of(part) for name, part in described["parts"].items()})
