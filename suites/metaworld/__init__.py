"""MetaWorld itself, 50 tasks of a Sawyer arm, in an environment of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .benchmark import MetaworldSuite


def suite() -> MetaworldSuite:
    """The suite `metaworld`; `pytest-vla install metaworld` makes its environment."""
    from .benchmark import MetaworldSuite

    return MetaworldSuite()
