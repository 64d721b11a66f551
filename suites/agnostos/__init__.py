"""AGNOSTOS, rebuilt: 18 seen and 23 unseen manipulation tasks, for policies that meet tasks they were never shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .benchmark import AgnostosSuite


def suite() -> AgnostosSuite:
    """The suite with the arm and the rules of the original; cheap, no simulator is imported."""
    from .benchmark import AgnostosSuite

    return AgnostosSuite()
