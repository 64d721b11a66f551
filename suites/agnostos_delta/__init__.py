"""AGNOSTOS by small steps of the hand, 20 a second, for policies that give no keyframes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..agnostos.benchmark import AgnostosSuite


def suite() -> AgnostosSuite:
    """The suite `agnostos_delta`; the same tasks and cells as `agnostos`."""
    from ..agnostos.benchmark import AgnostosSuite

    return AgnostosSuite("agnostos_delta", mode="delta", test_file=Path(__file__).parent / "test_agnostos_delta.py")
