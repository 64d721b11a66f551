"""PushT itself (gym-pusht), in an environment of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .benchmark import PushtSuite


def suite() -> PushtSuite:
    """The suite `pusht`; `pytest-vla install pusht` makes its environment."""
    from .benchmark import PushtSuite

    return PushtSuite()
