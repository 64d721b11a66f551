"""BOMB, the board manipulation benchmark: small stones on named intersections, in MuJoCo."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .benchmark import BombSuite


def suite() -> BombSuite:
    """The suite in MuJoCo; cheap, no simulator is imported."""
    from .benchmark import BombSuite

    return BombSuite()
