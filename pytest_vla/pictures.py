"""What one frame of a film looks like: all cameras side by side, a caption below, and a strip of a few of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageFont import FreeTypeFont, ImageFont

LEAST_HEIGHT_PX = 256
MOST_WIDTH_PX = 1024
STRIP_HEIGHT_PX = 112
LETTER = 1 / 42
"""Height of the letters as a share of the width: films are shown small."""
INK, FAINT, PAPER = (240, 242, 245), (165, 172, 182), (24, 27, 32)
MARKS = {"solved": (91, 201, 151), "unsolved": (242, 166, 90)}


@dataclass(frozen=True, slots=True)
class Caption:
    """The words under a frame."""

    instruction: str
    step: int
    steps: int
    progress: float | None = None
    success: bool = False
    perturbation: str = ""
    ending: str = ""
    """How the episode ended, on its last frame: `solved`, or `unsolved: step_limit`."""

    @property
    def facts(self) -> str:
        parts = [f"step {self.step} of {self.steps}"]
        if self.progress is not None:
            parts.append(f"progress {100 * self.progress:.0f}%")
        parts.append(self.ending or ("success" if self.success else "no success yet"))
        return "  ·  ".join(parts)


def tile(images: Mapping[str, Any]) -> Image | None:
    """All cameras of an observation in one picture, each as high as the highest; None without cameras."""
    pictures = [picture_of(image) for image in images.values()]
    if not pictures:
        return None
    height = max(picture.height for picture in pictures)
    scaled = [_resize(picture, height / picture.height) for picture in pictures]
    return in_a_row(scaled, gap_px=2)


def captioned(picture: Image, caption: Caption) -> Image:
    """The frame of a film: large enough to see, with even sides, as H.264 wants them."""
    from PIL import Image, ImageDraw

    factor = max(1.0, min(LEAST_HEIGHT_PX / picture.height, MOST_WIDTH_PX / picture.width))
    picture = _resize(picture, min(factor, MOST_WIDTH_PX / picture.width))
    width = picture.width
    size = max(13, round(width * LETTER))
    letters, line_px, margin = font(size), round(1.35 * size), size // 2
    lines = wrap(caption.instruction, width - 2 * margin, letters)[:2]
    bar = line_px * (3 + bool(caption.perturbation)) + 2 * margin
    frame = Image.new("RGB", (width - width % 2, (picture.height + bar) // 2 * 2), PAPER)
    frame.paste(picture, (0, 0))
    draw = ImageDraw.Draw(frame)
    top = picture.height + margin
    for line in [*lines, *[""] * (2 - len(lines))]:
        draw.text((margin, top), line, INK, letters)
        top += line_px
    mark = MARKS["solved"] if caption.success else MARKS["unsolved"] if caption.ending else FAINT
    draw.text((margin, top), caption.facts, mark, letters)
    if caption.perturbation:
        draw.text((margin, top + line_px), caption.perturbation, FAINT, letters)
    return frame


def strip(pictures: Sequence[Image]) -> Image:
    """A few frames side by side, small: an episode at a glance."""
    return in_a_row([_resize(picture, STRIP_HEIGHT_PX / picture.height) for picture in pictures], gap_px=4)


def in_a_row(pictures: Sequence[Image], gap_px: int) -> Image:
    """Pictures from left to right."""
    from PIL import Image

    width = sum(picture.width for picture in pictures) + gap_px * (len(pictures) - 1)
    sheet = Image.new("RGB", (width, max(picture.height for picture in pictures)), PAPER)
    left = 0
    for picture in pictures:
        sheet.paste(picture, (left, 0))
        left += picture.width + gap_px
    return sheet


def in_a_column(pictures: Sequence[Image], gap_px: int) -> Image:
    """Pictures from top to bottom."""
    from PIL import Image

    height = sum(picture.height for picture in pictures) + gap_px * (len(pictures) - 1)
    sheet = Image.new("RGB", (max(picture.width for picture in pictures), height), PAPER)
    top = 0
    for picture in pictures:
        sheet.paste(picture, (0, top))
        top += picture.height + gap_px
    return sheet


def wrap(text: str, width: int, letters: FreeTypeFont | ImageFont) -> list[str]:
    """The text in lines that fit the width; a word that is too long by itself is left so."""
    lines: list[str] = []
    for word in text.split():
        if lines and letters.getlength(f"{lines[-1]} {word}") <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def picture_of(image: Any) -> Image:
    """Whatever picture an observation holds, in colour."""
    import numpy as np
    from PIL import Image

    array = np.asarray(image)
    if array.dtype != np.uint8:
        array = (np.clip(array, 0, 1) * 255).astype(np.uint8)
    if array.ndim == 2:
        array = array[:, :, None]
    if array.shape[2] == 1:
        array = np.repeat(array, 3, axis=2)
    return Image.fromarray(np.ascontiguousarray(array[:, :, :3]))


def _resize(picture: Image, factor: float) -> Image:
    from PIL.Image import Resampling

    if factor == 1:
        return picture
    size = (max(2, round(picture.width * factor)), max(2, round(picture.height * factor)))
    return picture.resize(size, Resampling.LANCZOS)


@cache
def font(size: int) -> FreeTypeFont | ImageFont:
    """The letters of all our pictures."""
    from PIL import ImageFont

    return ImageFont.load_default(size)
