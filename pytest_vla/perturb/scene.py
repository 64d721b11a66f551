"""Perturbations inside a scene: how a suite's table of functions turns an episode's axes into its own edits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from pytest_vla.perturb.perturbation import Perturbation

if TYPE_CHECKING:
    import numpy as np

    from pytest_vla.episode import EpisodeKey

Edits = TypeVar("Edits")
Scene = TypeVar("Scene")


def scene_edits(
    table: Mapping[str, Callable[[Edits, Any, Scene, np.random.Generator], Edits]],
    edits: Edits,
    episode: EpisodeKey,
    scene: Scene,
) -> Edits:
    """The edits with every scene axis of the episode's perturbation applied, in canonical order.

    A function of the table gets the edits so far, the magnitude, what was drawn of the scene, and a generator of its
    own. The very same edits come back when there is nothing to do.
    """
    for axis, level in Perturbation.parse(episode.perturbation):
        if axis.name in table:
            rng = episode.rng(f"perturbation.{axis.name}")
            edits = table[axis.name](edits, axis.value(level), scene, rng)
    return edits
