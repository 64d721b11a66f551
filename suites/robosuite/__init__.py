"""robosuite itself, its 19 tasks for one or two Panda arms, in an environment of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .benchmark import RobosuiteSuite


def suite() -> RobosuiteSuite:
    """The suite `robosuite`; `pytest-vla install robosuite` makes its environment."""
    from .benchmark import RobosuiteSuite

    return RobosuiteSuite()
