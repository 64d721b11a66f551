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
        columns = [_column("unperturbed", neutral), _column(episode.perturbation.replace(",", ", "), failing)]
    except ImportError:  # without Pillow there are no pictures, and the hunt's words stand alone
        return None
    buffer = io.BytesIO()
    _beside(columns).save(buffer, format="PNG", optimize=True)
    return buffer.getvalue()


def first_observation(suite: Suite, env: gymnasium.Env[Any, Any], episode: EpisodeKey) -> dict[str, Any]:
    """An episode's first images and instruction, as the policy gets them."""
    from pytest_vla.perturb import perturbed

    observation, _ = perturbed(env, suite, episode).reset(seed=episode.seed(), options={"episode": episode})
    # Images may be drawn when looked at: now, before the next reset moves the scene.
    images = {name: np.array(image) for name, image in observation["images"].items()}
    return {"images": images, "instruction": observation["instruction"]}


def _column(title: str, observation: Mapping[str, Any]) -> tuple[Image, Image, Image]:
    """Title, cameras below each other, instruction: three pictures of equal width."""
    from PIL import Image

    from pytest_vla.report.frames import FAINT, INK, PAPER, tile

    pictures = [tile({name: image}) for name, image in observation["images"].items()]
    shown = [picture for picture in pictures if picture is not None]
    width = max(COLUMN_PX, *(picture.width for picture in shown))
    cameras = Image.new("RGB", (width, sum(picture.height + GAP_PX for picture in shown) - GAP_PX), PAPER)
    top = 0
    for picture in shown:
        cameras.paste(picture, (0, top))
        top += picture.height + GAP_PX
    return _words(title, width, FAINT), cameras, _words(observation["instruction"] or "(no words)", width, INK)


def _words(text: str, width: int, ink: tuple[int, int, int]) -> Image:
    from PIL import Image, ImageDraw

    from pytest_vla.report.frames import PAPER, font, wrap

    margin, line_px = LETTER_PX // 2, round(1.35 * LETTER_PX)
    lines = wrap(text, width - 2 * margin, font(LETTER_PX))
    picture = Image.new("RGB", (width, line_px * len(lines) + 2 * margin), PAPER)
    for i, line in enumerate(lines):
        ImageDraw.Draw(picture).text((margin, margin + i * line_px), line, ink, font(LETTER_PX))
    return picture


def _beside(columns: list[tuple[Image, Image, Image]]) -> Image:
    """The columns next to each other, each of their parts as high as the highest."""
    from PIL import Image

    from pytest_vla.report.frames import PAPER

    heights = [max(picture.height for picture in parts) for parts in zip(*columns, strict=True)]
    width = sum(column[0].width + GAP_PX for column in columns) - GAP_PX
    sheet = Image.new("RGB", (width, sum(heights)), PAPER)
    left = 0
    for column in columns:
        top = 0
        for picture, height in zip(column, heights, strict=True):
            sheet.paste(picture, (left, top))
            top += height
        left += column[0].width + GAP_PX
    return sheet
