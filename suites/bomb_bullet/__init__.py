"""BOMB in PyBullet: the same tasks, scenes, goals and oracle, so that a score can be told apart from its simulator."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..bomb.benchmark import BombSuite


def suite() -> BombSuite:
    """The suite in PyBullet; cheap, no simulator is imported."""
    from ..bomb.benchmark import BombSuite

    return BombSuite("bomb_bullet", simulator="bullet", test_file=Path(__file__).parent / "test_bomb_bullet.py")
