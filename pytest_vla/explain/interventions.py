"""Changes to one observation, as data: a patch hidden, words hidden, a whole modality hidden or swapped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_vla.explain.fills import Fill

Observation = Mapping[str, Any]
Image = NDArray[np.uint8]
Box = tuple[int, int, int, int]  # x0, y0, x1, y1 in pixels of the camera's own picture; the last ones are outside
RING_PX = 4
MASK = "instruction_mask"
HIDDEN, SWAPPED = "hidden", "swapped"
KNOWN = (
    "images",
    "state",
    "instruction",
    "prompt",
    "scan",
    "space",
    MASK,
)  # parts that are hidden in ways of their own


@dataclass(frozen=True, slots=True)
class Nothing:
    """The observation as it is: what chance alone does to an answer."""

    def apply(self, seen: Observation) -> Observation:
        return dict(seen)


@dataclass(frozen=True, slots=True)
class Patch:
    """A rectangle of one camera's picture replaced."""

    camera: str
    box: Box
    fill: Fill = "mean"

    def apply(self, seen: Observation) -> Observation:
        return with_image(seen, self.camera, patched(seen["images"][self.camera], self.box, self.fill))


@dataclass(frozen=True, eq=False, slots=True)
class Thing:
    """The pixels of one thing replaced by what is around them."""

    camera: str
    name: str
    mask: NDArray[np.bool_] = field(repr=False)

    def apply(self, seen: Observation) -> Observation:
        image = np.array(seen["images"][self.camera])
        around = grown(self.mask) & ~self.mask
        image[self.mask] = np.median(image[around], axis=0) if around.any() else image.mean((0, 1))
        made = with_image(seen, self.camera, image)
        masks = seen.get("segmentation")
        if not isinstance(masks, Mapping) or self.camera not in masks or not around.any():
            return made
        numbers = np.array(masks[self.camera])  # a policy that is told what is where is told that it is not there
        numbers[self.mask] = np.bincount(numbers[around].reshape(-1)).argmax()
        return {**made, "segmentation": {**masks, self.camera: numbers}}


@dataclass(frozen=True, slots=True)
class Span:
    """Characters of the instruction hidden: by the policy's attention mask where it has one, else left out."""

    start: int
    stop: int
    text: str
    masked: bool = False

    def apply(self, seen: Observation) -> Observation:
        if self.masked:
            return {**seen, MASK: [[self.start, self.stop]]}
        words = str(seen.get("instruction", ""))
        left = " ".join((words[: self.start] + " " + words[self.stop :]).split())
        return with_words(seen, left)


@dataclass(frozen=True, eq=False, slots=True)
class Ablation:
    """A whole input hidden, or swapped with that of another episode.

    Args:
        part: `camera NAME`, `state`, `instruction`, `prompt images`, or another part of the observation by its name.
        how: `hidden` (mean colour, zeros, no words) or `swapped`.
        other: what the other episode looked like.
    """

    part: str
    how: str
    other: Observation = field(default_factory=dict, repr=False)

    @property
    def name(self) -> str:
        return f"{self.part} {self.how}"

    def apply(self, seen: Observation) -> Observation:
        hidden = self.how == HIDDEN
        if self.part.startswith("camera "):
            camera = self.part.removeprefix("camera ")
            image = seen["images"][camera]
            return with_image(seen, camera, mean_image(image) if hidden else np.array(self.other["images"][camera]))
        if self.part == "state":
            state = {name: np.zeros_like(value) for name, value in seen["state"].items()}
            return {**seen, "state": state if hidden else dict(self.other["state"])}
        if self.part == "instruction":
            return with_words(seen, "" if hidden else str(self.other.get("instruction", "")))
        if self.part == "prompt images":
            return {**seen, "prompt": _pictures(seen["prompt"], None if hidden else self.other.get("prompt"))}
        return {**seen, self.part: self.other[self.part]}


Intervention = Nothing | Patch | Thing | Span | Ablation


def ablations(seen: Observation, other: Observation | None, cameras: tuple[str, ...]) -> list[Ablation]:
    """Every input that this observation has; swaps where the other one has a like of it."""
    found = []
    parts = [f"camera {name}" for name in cameras]
    parts += ["state"] if seen.get("state") else []
    parts += ["instruction"] if seen.get("instruction") else []
    parts += ["prompt images"] if _pictured(seen.get("prompt")) else []
    for part in parts:
        found.append(Ablation(part, HIDDEN))
        if other is not None and _alike(part, seen, other):
            found.append(Ablation(part, SWAPPED, other))
    rest = [name for name, value in seen.items() if name not in KNOWN and isinstance(value, Mapping)]
    return found + [Ablation(name, SWAPPED, other) for name in rest if other is not None and name in other]


def _alike(part: str, seen: Observation, other: Observation) -> bool:
    if part.startswith("camera "):
        camera = part.removeprefix("camera ")
        return camera in other["images"] and np.shape(other["images"][camera]) == np.shape(seen["images"][camera])
    if part == "state":
        shapes = [{name: np.shape(value) for name, value in each.get("state", {}).items()} for each in (seen, other)]
        return shapes[0] == shapes[1]
    if part == "instruction":
        return bool(other.get("instruction")) and other.get("instruction") != seen.get("instruction")
    return _pictured(other.get("prompt"))


# --- pictures --------------------------------------------------------------------------------------------------------


def with_image(seen: Observation, camera: str, image: Image) -> Observation:
    return {**seen, "images": {**seen["images"], camera: image}}


def patched(image: Image, box: Box, fill: Fill) -> Image:
    """The picture with a rectangle of it replaced."""
    x0, y0, x1, y1 = box
    made = np.array(image)
    if fill == "mean":
        made[y0:y1, x0:x1] = mean_colour(image)
    elif fill == "blur":
        made[y0:y1, x0:x1] = blurred(image, box)
    else:
        made[y0:y1, x0:x1] = inpainted(image, box)
    return made


def blurred(image: Image, box: Box) -> Image:
    """What is left of a rectangle when details of its own size are gone."""
    x0, y0, x1, y1 = box
    radius = max(x1 - x0, y1 - y0) // 2 + 1
    top, left = max(y0 - 2 * radius, 0), max(x0 - 2 * radius, 0)
    part = image[top : y1 + 2 * radius, left : x1 + 2 * radius].astype(np.float64)
    for _ in range(2):  # two boxes are nearly a bell
        part = _box_mean(_box_mean(part, radius, 0), radius, 1)
    return np.rint(part[y0 - top : y1 - top, x0 - left : x1 - left]).astype(np.uint8)


def _box_mean(part: NDArray[np.float64], radius: int, axis: int) -> NDArray[np.float64]:
    part = np.moveaxis(part, axis, 0)
    total = np.concatenate([np.zeros((1, *part.shape[1:])), part.cumsum(0)])
    low = np.maximum(np.arange(len(part)) - radius, 0)
    high = np.minimum(np.arange(len(part)) + radius + 1, len(part))
    mean = (total[high] - total[low]) / (high - low).reshape(-1, *[1] * (part.ndim - 1))
    return np.moveaxis(mean, 0, axis)


def inpainted(image: Image, box: Box) -> Image:
    """A rectangle as its four borders would have it, nearer ones weighing more."""
    x0, y0, x1, y1 = box
    height, width = image.shape[:2]
    rows, columns = np.arange(y0, y1), np.arange(x0, x1)
    total = np.zeros((y1 - y0, x1 - x0, image.shape[-1]))
    weight = np.zeros((y1 - y0, x1 - x0, 1))
    borders: list[tuple[Any, Any]] = []
    if y0 > 0:
        borders.append((image[y0 - 1 : y0, x0:x1], (rows - y0 + 1)[:, None]))
    if y1 < height:
        borders.append((image[y1 : y1 + 1, x0:x1], (y1 - rows)[:, None]))
    if x0 > 0:
        borders.append((image[y0:y1, x0 - 1 : x0], (columns - x0 + 1)[None, :]))
    if x1 < width:
        borders.append((image[y0:y1, x1 : x1 + 1], (x1 - columns)[None, :]))
    if not borders:
        return mean_image(image)
    for colours, away in borders:
        near = (1.0 / away)[..., None]
        total, weight = total + near * colours, weight + near
    return np.rint(total / weight).astype(np.uint8)


def mean_image(image: Image) -> Image:
    made = np.empty_like(image)
    made[...] = mean_colour(image)
    return made


def mean_colour(image: Image) -> Any:
    """Of one picture hundreds of patches are hidden: its mean is known after the first."""
    found = _MEANS.get(id(image))
    if found is None or found[0] is not image:
        if len(_MEANS) >= KEPT_MEANS:
            _MEANS.clear()
        found = _MEANS[id(image)] = image, image.reshape(-1, image.shape[-1]).mean(0)
    return found[1]


_MEANS: dict[int, tuple[Image, Any]] = {}
KEPT_MEANS = 16


def grown(mask: NDArray[np.bool_], by_px: int = RING_PX) -> NDArray[np.bool_]:
    """The mask and what is so near to it, straight or around a corner."""
    made = mask.copy()
    for _ in range(by_px):
        wider = made.copy()
        wider[1:] |= made[:-1]
        wider[:-1] |= made[1:]
        wider[:, 1:] |= made[:, :-1]
        wider[:, :-1] |= made[:, 1:]
        made = wider
    return made


# --- words and prompts -----------------------------------------------------------------------------------------------


def with_words(seen: Observation, words: str) -> Observation:
    """Another instruction, also where the prompt has the same one."""
    made = {**seen, "instruction": words}
    prompt = seen.get("prompt")
    if isinstance(prompt, Mapping) and prompt.get("text") == seen.get("instruction"):
        made["prompt"] = {**prompt, "text": words}
    return made


def _pictured(prompt: Any) -> bool:
    if isinstance(prompt, Mapping):
        return any(_pictured(part) for part in prompt.values())
    if isinstance(prompt, list):
        return any(map(_pictured, prompt))
    return isinstance(prompt, np.ndarray) and prompt.dtype == np.uint8 and prompt.ndim == 3


def _pictures(prompt: Any, other: Any) -> Any:
    """The prompt with its pictures in their mean colour, or those of another one where it has such."""
    if isinstance(prompt, Mapping):
        theirs = other if isinstance(other, Mapping) else {}
        return {name: _pictures(part, theirs.get(name)) for name, part in prompt.items()}
    if isinstance(prompt, list):
        likes = other if isinstance(other, list) and len(other) == len(prompt) else [None] * len(prompt)
        return [_pictures(part, each) for part, each in zip(prompt, likes, strict=True)]
    if not _pictured(prompt):
        return prompt
    return other if isinstance(other, np.ndarray) and other.shape == prompt.shape else mean_image(prompt)
