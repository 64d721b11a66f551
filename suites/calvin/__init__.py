"""CALVIN itself: chains of five tasks at a play table, on a checkout of mees/calvin."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .benchmark import CalvinSuite


def suite() -> CalvinSuite:
    """The suite `calvin`; `pytest-vla install calvin` makes its environment, and `CALVIN_ROOT` names the checkout."""
    from .benchmark import CalvinSuite

    return CalvinSuite()
