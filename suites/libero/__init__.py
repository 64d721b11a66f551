"""LIBERO itself, 130 tasks of a Panda arm, in an environment of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .benchmark import LiberoSuite


def suite() -> LiberoSuite:
    """The suite `libero`; `pytest-vla install libero` makes its environment, and its assets come by `--vla-data`."""
    from .benchmark import LiberoSuite

    return LiberoSuite()
