"""The strategies under their public name, without importing Hypothesis or numpy before somebody draws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

    from pytest_vla.perturb import Perturbation


def perturbations(
    axes: str | Sequence[str] = ("all",), *, min_axes: int = 0, max_axes: int | None = None
) -> SearchStrategy[Perturbation]:
    """A Hypothesis strategy: perturbations of these axes or groups, which shrink to fewer axes and lower levels.

    Args:
        axes: names of axes or of groups.
        min_axes, max_axes: how many are off neutral; by default up to two thirds of them.
    """
    from pytest_vla.hunt import strategies

    return strategies.perturbations(axes, min_axes=min_axes, max_axes=max_axes)
