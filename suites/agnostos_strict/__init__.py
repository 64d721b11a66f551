"""AGNOSTOS under strict rules: what is asked for must be done, and is looked at in every moment."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..agnostos.benchmark import AgnostosSuite


def suite() -> AgnostosSuite:
    """The suite `agnostos_strict`; the same tasks, cells and limits as `agnostos`."""
    from ..agnostos.benchmark import AgnostosSuite

    return AgnostosSuite("agnostos_strict", rules="strict", test_file=Path(__file__).parent / "test_agnostos_strict.py")
