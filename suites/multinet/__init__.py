"""MultiNet: one policy across seven domains and five types of answers, with its failure modes measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .benchmark import MultiNetSuite


def suite() -> MultiNetSuite:
    """The suite `multinet`."""
    from .benchmark import MultiNetSuite

    return MultiNetSuite()
