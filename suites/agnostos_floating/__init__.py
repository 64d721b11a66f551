"""AGNOSTOS with a hand that floats: the fast mode, without an arm."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..agnostos.benchmark import AgnostosSuite


def suite() -> AgnostosSuite:
    """The suite `agnostos_floating`; the same tasks, cells and limits as `agnostos`."""
    from ..agnostos.benchmark import AgnostosSuite

    return AgnostosSuite(
        "agnostos_floating", mode="floating", test_file=Path(__file__).parent / "test_agnostos_floating.py"
    )
