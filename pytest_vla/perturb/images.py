"""What can go wrong between the scene and the policy's eyes: filters over the frames of a camera.

Each function makes the filter of one camera for one episode. All cameras of an episode get generators with the same
seed, so a frame that is dropped is dropped everywhere; what is to differ between cameras goes by their number.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.uint8]
Filter = Callable[[Image], Image]
Rng = np.random.Generator

GREY = 128.0
FOG_GREY = 220.0
LARGEST_PATCH = 0.24
PATCH_PLACES = 64
MOMENTS = 8


def brightness(added: float, rng: Rng, camera: int = 0) -> Filter:
    """`added` of the full range on top of every pixel."""
    return lambda image: _bytes(image + 255.0 * added)


def contrast(factor: float, rng: Rng, camera: int = 0) -> Filter:
    """Distances from mid grey times `factor`."""
    return lambda image: _bytes(GREY + (image - GREY) * factor)


def colour_balance(shift: float, rng: Rng, camera: int = 0) -> Filter:
    """Red up and blue down by the share `shift`: a camera set to the wrong white."""
    gains = np.array([1 + shift, 1.0, 1 - shift])
    return lambda image: _bytes(image * gains)


def noise(sigma: float, rng: Rng, camera: int = 0) -> Filter:
    """Gaussian noise, new in each frame; `sigma` in grey values."""
    return lambda image: _bytes(image + sigma * rng.standard_normal(image.shape))


def blur(sigma_px: float, rng: Rng, camera: int = 0) -> Filter:
    """Out of focus; sigma for an image 256 pixels wide, so that a level looks the same at every size."""
    from scipy.ndimage import gaussian_filter

    def apply(image: Image) -> Image:
        sigma = sigma_px * image.shape[1] / 256
        return _bytes(gaussian_filter(image.astype(np.float32), (sigma, sigma, 0)))

    return apply


def motion_blur(length_px: float, rng: Rng, camera: int = 0) -> Filter:
    """Smeared along one direction, drawn per episode; length for an image 256 pixels wide."""
    angle = rng.uniform(-np.pi / 4, np.pi / 4)

    def apply(image: Image) -> Image:
        from scipy.ndimage import shift

        length = length_px * image.shape[1] / 256
        offsets = np.linspace(-length / 2, length / 2, max(2, round(length) + 1))
        moved = [
            shift(image.astype(np.float32), (np.sin(angle) * d, np.cos(angle) * d, 0), order=1, mode="nearest")
            for d in offsets
        ]
        return _bytes(np.mean(moved, axis=0))

    return apply


def zoom(factor: float, rng: Rng, camera: int = 0) -> Filter:
    """The middle of the frame, enlarged `factor` times to the full size."""
    return lambda image: _resample(image, *(_scaled(n, factor) for n in image.shape[:2]))


def glass(sigma_px: float, rng: Rng, camera: int = 0) -> Filter:
    """Seen through frosted glass: every pixel taken from a place nearby, the same places in each frame."""
    offsets: dict[tuple[int, ...], NDArray[np.float64]] = {}

    def apply(image: Image) -> Image:
        height, width = image.shape[:2]
        if (height, width) not in offsets:
            offsets[height, width] = sigma_px * width / 256 * rng.standard_normal((2, height, width))
        rows, columns = offsets[height, width]
        y = np.clip(np.arange(height)[:, None] + rows, 0, height - 1).round().astype(int)
        x = np.clip(np.arange(width)[None, :] + columns, 0, width - 1).round().astype(int)
        return np.ascontiguousarray(image[y, x])

    return apply


def fog(share: float, rng: Rng, camera: int = 0) -> Filter:
    """A light grey veil with soft clouds in it, covering `share` of what is seen."""
    phases = rng.uniform(0, 2 * np.pi, (4, 2))

    def apply(image: Image) -> Image:
        height, width = image.shape[:2]
        y, x = np.linspace(0, 2 * np.pi, height)[:, None], np.linspace(0, 2 * np.pi, width)[None, :]
        waves = [np.sin(n * y + a) * np.cos(n * x + b) / n for n, (a, b) in enumerate(phases, start=1)]
        veil = np.clip(share * (1 + 0.3 * np.sum(waves, axis=0)), 0, 1)[:, :, None]
        return _bytes(image * (1 - veil) + FOG_GREY * veil)

    return apply


def jpeg(quality: float, rng: Rng, camera: int = 0) -> Filter:
    """Compressed and read back at that quality (100 is the best)."""

    def apply(image: Image) -> Image:
        from PIL import Image as Pillow

        buffer = io.BytesIO()
        Pillow.fromarray(image).save(buffer, format="JPEG", quality=round(quality))
        return np.asarray(Pillow.open(buffer), dtype=np.uint8)

    return lambda image: image if quality >= 100 else apply(image)


def patch(share: float, rng: Rng, camera: int = 0) -> Filter:
    """A grey square over `share` of the frame's area, at one place for the whole episode: where it hides least.

    One camera has it in the left half, the next in the right half, so that cameras which look the same way do not miss
    the same thing. Of some places there that are drawn for the largest square it takes the one with the least detail in
    the first frame. Smaller squares lie in the middle of the largest.
    """
    right = (camera + int(rng.integers(2))) % 2 == 1
    drawn = np.clip(rng.uniform(-0.25, 1.25, (PATCH_PLACES, 2)), 0, 1)  # many at the edges
    middles: dict[tuple[int, ...], tuple[float, float]] = {}

    def apply(image: Image) -> Image:
        if not share:
            return image
        if image.shape not in middles:
            middles[image.shape] = _plainest(image, drawn, right)
        row, column = middles[image.shape]
        tall, wide = _square(image, share)
        top, left = round(row - tall / 2), round(column - wide / 2)
        covered = image.copy()
        covered[top : top + tall, left : left + wide] = round(GREY)
        return covered

    return apply


def _plainest(image: Image, drawn: NDArray[np.float64], right: bool) -> tuple[float, float]:
    """The middle of the largest square in that half with the fewest and weakest edges in it, of the drawn ones."""
    height, width = image.shape[:2]
    tall, wide = _square(image, LARGEST_PATCH)
    grey = image.mean(axis=2)
    edges = np.abs(np.diff(grey, axis=0, prepend=grey[:1])) + np.abs(np.diff(grey, axis=1, prepend=grey[:, :1]))
    sums = np.pad(edges.cumsum(axis=0).cumsum(axis=1), ((1, 0), (1, 0)))
    top, left = np.rint(drawn * (height - tall, max(width // 2 - wide, 0))).astype(int).T
    left = width - wide - left if right else left
    inside = sums[top + tall, left + wide] - sums[top, left + wide] - sums[top + tall, left] + sums[top, left]
    best = int(np.argmin(inside))
    return float(top[best] + tall / 2), float(left[best] + wide / 2)


def _square(image: Image, share: float) -> tuple[int, int]:
    """Height and width of a square over that share of the image; it is cut off where the image is narrow."""
    height, width = image.shape[:2]
    side = round((share * height * width) ** 0.5)
    return min(side, height), min(side, width)


def camera_loss(lost: float, rng: Rng) -> Callable[[Mapping[str, Image]], Mapping[str, Image]]:
    """Of every eight moments so many are black in one camera, drawn per episode; all others see on.

    A camera that is the only one still shows every eighth frame.
    """
    choice, frame = rng.uniform(), count()

    def apply(images: Mapping[str, Image]) -> Mapping[str, Image]:
        most = lost if len(images) > 1 else min(lost, MOMENTS - 1)
        if not images or next(frame) % MOMENTS >= most:
            return images
        name = sorted(images)[int(choice * len(images))]
        return {**images, name: np.zeros_like(images[name])}

    return apply


def dropped_frames(chance: float, rng: Rng, camera: int = 0) -> Filter:
    """With that chance a frame does not arrive and the last one is seen again; the first always arrives."""
    last: list[Image] = []

    def apply(image: Image) -> Image:
        if not last or rng.uniform() >= chance:
            last[:] = [image]
        return last[0]

    return apply


def _bytes(values: NDArray[Any]) -> Image:
    return np.asarray(np.clip(np.rint(values), 0, 255), dtype=np.uint8)


def _scaled(size: int, factor: float) -> NDArray[np.float64]:
    middle = (size - 1) / 2
    return np.asarray(middle + (np.arange(size) - middle) / factor, dtype=np.float64)


def _resample(image: Image, rows: NDArray[np.float64], columns: NDArray[np.float64]) -> Image:
    """Bilinear values at these rows and columns."""
    y, x = np.floor(rows).astype(int), np.floor(columns).astype(int)
    below, right = np.minimum(y + 1, image.shape[0] - 1), np.minimum(x + 1, image.shape[1] - 1)
    v, u = (rows - y)[:, None, None], (columns - x)[None, :, None]
    pixels = image.astype(np.float32)
    top = pixels[y][:, x] * (1 - u) + pixels[y][:, right] * u
    bottom = pixels[below][:, x] * (1 - u) + pixels[below][:, right] * u
    return _bytes(top * (1 - v) + bottom * v)
