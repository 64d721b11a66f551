"""LIBERO-PRO, LIBERO under five kinds of change, where the user has a checkout of it with its generated files."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .benchmark import LiberoProSuite


def suite() -> LiberoProSuite:
    """The suite `libero_pro`; it runs in the environment `libero_plus`, and the checkout is `--vla-data`."""
    from .benchmark import LiberoProSuite

    return LiberoProSuite()
