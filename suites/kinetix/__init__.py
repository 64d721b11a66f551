"""Kinetix itself, the 74 levels of its wheel, in an environment of its own; many episodes are played at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .benchmark import KinetixSuite


def suite() -> KinetixSuite:
    """The suite `kinetix`; `pytest-vla install kinetix` makes its environment."""
    from .benchmark import KinetixSuite

    return KinetixSuite()
