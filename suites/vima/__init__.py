"""VIMABench, rebuilt: 17 prompted tabletop tasks over four levels of generalisation."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .benchmark import VimaSuite


def suite() -> VimaSuite:
    """The suite with the rules of the original; cheap, no simulator is imported."""
    from .benchmark import VimaSuite

    return VimaSuite()
