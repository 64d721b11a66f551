"""A picture of a find: what the policy saw and was told first, unperturbed and perturbed, side by side."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import gymnasium
    from PIL.Image import Image

    from pytest_vla.episode import EpisodeKey
    from pytest_vla.suite import Suite

GAP_PX = 4
COLUMN_PX = 256
LETTER_PX = 14


def side_by_side(suite: Suite, env: gymnasium.Env[Any, Any], episode: EpisodeKey) -> bytes | None:
    """A PNG, neutral on the left, perturbed on the right: all cameras and the instruction; None without images."""
    neutral = first_observation(suite, env, replace(episode, perturbation=""))
    failing = first_observation(suite, env, episode)
    if not neutral["images"]:
        return None
    try:
        picture = _picture({"unperturbed": neutral, episode.perturbation.replace(",", ", "): failing})
    except ImportError:  # without Pillow there are no pictures, and the hunt's words stand alone
        return None
    buffer = io.BytesIO()
    picture.save(buffer, format="PNG", optimize=True)
    return buffer.getvalue()


def first_observation(suite: Suite, env: gymnasium.Env[Any, Any], episode: EpisodeKey) -> dict[str, Any]:
    """An episode's first images and instruction, as the policy gets them."""
    from pytest_vla.perturb import perturbed

    observation, _ = perturbed(env, suite, episode).reset(seed=episode.seed(), options={"episode": episode})
    # Images may be drawn when looked at: now, before the next reset moves the scene.
    images = {name: np.array(image) for name, image in observation["images"].items()}
    return {"images": images, "instruction": observation["instruction"]}


def _picture(sides: Mapping[str, Mapping[str, Any]]) -> Image:
    """Three rows: titles, cameras below each other, instructions."""
    from pytest_vla.pictures import FAINT, INK, in_a_column, in_a_row, picture_of

    cameras = [in_a_column([picture_of(image) for image in seen["images"].values()], GAP_PX) for seen in sides.values()]
    width = max(COLUMN_PX, *(picture.width for picture in cameras))
    rows = [
        [_words(title, width, FAINT) for title in sides],
        [_widened(picture, width) for picture in cameras],
        [_words(seen["instruction"] or "(no words)", width, INK) for seen in sides.values()],
    ]
    return in_a_column([in_a_row(row, GAP_PX) for row in rows], gap_px=0)


def _words(text: str, width: int, ink: tuple[int, int, int]) -> Image:
    from PIL import Image, ImageDraw

    from pytest_vla.pictures import PAPER, font, wrap

    margin, line_px = LETTER_PX // 2, round(1.35 * LETTER_PX)
    lines = wrap(text, width - 2 * margin, font(LETTER_PX))
    picture = Image.new("RGB", (width, line_px * len(lines) + 2 * margin), PAPER)
    for i, line in enumerate(lines):
        ImageDraw.Draw(picture).text((margin, margin + i * line_px), line, ink, font(LETTER_PX))
    return picture


def _widened(picture: Image, width: int) -> Image:
    from PIL import Image

    from pytest_vla.pictures import PAPER

    sheet = Image.new("RGB", (width, picture.height), PAPER)
    sheet.paste(picture, (0, 0))
    return sheet
