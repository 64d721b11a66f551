"""RLBench itself, the world that AGNOSTOS' 41 tasks come from, where the user has CoppeliaSim."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .benchmark import RLBenchSuite


def suite() -> RLBenchSuite:
    """The suite `rlbench`; `pytest-vla install rlbench` makes its environment, the simulator comes by `--vla-data`."""
    from .benchmark import RLBenchSuite

    return RLBenchSuite()
