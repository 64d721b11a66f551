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
    from PIL import Image

    pictures = [Image.fromarray(_rgb(image)) for image in images.values()]
    if not pictures:
        return None
    height = max(picture.height for picture in pictures)
    scaled = [_resize(picture, height / picture.height) for picture in pictures]
    sheet = Image.new("RGB", (sum(picture.width for picture in scaled) + 2 * (len(scaled) - 1), height), PAPER)
    left = 0
    for picture in scaled:
        sheet.paste(picture, (left, 0))
        left += picture.width + 2
    return sheet


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
    from PIL import Image

    small = [_resize(picture, STRIP_HEIGHT_PX / picture.height) for picture in pictures]
    sheet = Image.new("RGB", (sum(picture.width + 4 for picture in small) - 4, STRIP_HEIGHT_PX), PAPER)
    left = 0
    for picture in small:
        sheet.paste(picture, (left, 0))
        left += picture.width + 4
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


def _rgb(image: Any) -> Any:
    """Height x width x 3 bytes of whatever picture an observation holds."""
    import numpy as np

    array = np.asarray(image)
    if array.dtype != np.uint8:
        array = (np.clip(array, 0, 1) * 255).astype(np.uint8)
    if array.ndim == 2:
        array = array[:, :, None]
    if array.shape[2] == 1:
        array = np.repeat(array, 3, axis=2)
    return np.ascontiguousarray(array[:, :, :3])


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
