"""LIBERO-plus, 10,030 perturbed tasks of LIBERO, where the user has a checkout of it with its assets."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .benchmark import LiberoPlusSuite


def suite() -> LiberoPlusSuite:
    """The suite `libero_plus`; `pytest-vla install libero_plus` makes its environment, the checkout is `--vla-data`."""
    from .benchmark import LiberoPlusSuite

    return LiberoPlusSuite()
