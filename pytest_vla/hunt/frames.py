"""A picture of a find: what the policy saw first, unperturbed and perturbed, side by side."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import gymnasium

    from pytest_vla.episode import EpisodeKey
    from pytest_vla.suite import Suite

GAP_PX = 4


def first_frames(suite: Suite, env: gymnasium.Env[Any, Any], episode: EpisodeKey) -> dict[str, Any]:
    """The images of an episode's first observation, as the policy gets them."""
    from pytest_vla.perturb import perturbed

    observation, _ = perturbed(env, suite, episode).reset(seed=episode.seed(), options={"episode": episode})
    return {name: np.array(image) for name, image in observation["images"].items()}


def side_by_side(suite: Suite, env: gymnasium.Env[Any, Any], episode: EpisodeKey) -> bytes | None:
    """A PNG with a row per camera: neutral on the left, perturbed on the right; None where there are no images."""
    try:
        from PIL import Image
    except ImportError:
        return None
    neutral = first_frames(suite, env, replace(episode, perturbation=""))
    failing = first_frames(suite, env, episode)
    if not neutral:
        return None
    rows = [np.hstack([neutral[name], _gap(neutral[name]), failing[name]]) for name in neutral]
    width = max(row.shape[1] for row in rows)
    padded = [np.pad(row, ((0, GAP_PX), (0, width - row.shape[1]), (0, 0)), constant_values=255) for row in rows]
    buffer = io.BytesIO()
    Image.fromarray(np.vstack(padded)).save(buffer, format="PNG", optimize=True)
    return buffer.getvalue()


def _gap(image: Any) -> Any:
    return np.full((image.shape[0], GAP_PX, 3), 255, dtype=np.uint8)
