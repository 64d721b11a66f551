"""VIMABench under strict rules: height, shown rotation and true restoration count, and train shows nothing held out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..vima.benchmark import VimaSuite


def suite() -> VimaSuite:
    """The suite `vima_strict`; the same tasks, cells and limits as `vima`."""
    from ..vima.benchmark import VimaSuite

    return VimaSuite("vima_strict", rules="strict", test_file=Path(__file__).parent / "test_vima_strict.py")
