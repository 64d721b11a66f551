"""Multimodal prompts: a text with named images in it, drawn only when somebody looks at them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .scene import Look, Thing

_PLACEHOLDER = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class ObjectImage:
    """One object alone in an empty white world."""

    look: Look


@dataclass(frozen=True, slots=True)
class SceneImage:
    """A whole table."""

    things: tuple[Thing, ...]


Asset = ObjectImage | SceneImage


@dataclass(frozen=True, slots=True)
class PromptSpec:
    """What a prompt says, as data: text with `{name}` marks, and what each mark shows."""

    text: str
    assets: Mapping[str, Asset]


def prompt(text: str, **assets: Asset) -> PromptSpec:
    """A prompt whose `{name}` marks are all drawn by an asset of that name."""
    missing = [name for name in _PLACEHOLDER.findall(text) if name not in assets]
    if missing:
        raise ValueError(f"the prompt {text!r} has no asset for {', '.join(missing)}")
    return PromptSpec(text, assets)


@dataclass(frozen=True)
class AssetImages:
    """A drawn asset: both camera views, and which object each pixel belongs to."""

    kind: Literal["object", "scene"]
    rgb: Mapping[str, NDArray[np.uint8]]
    segmentation: Mapping[str, NDArray[np.uint8]]
    objects: Mapping[int, Look]
    """What the segmentation's numbers stand for."""


@dataclass(frozen=True)
class Piece:
    """A stretch of text, or an image where the text names one."""

    text: str
    image: AssetImages | None = None


@dataclass
class Prompt:
    """The prompt of one episode. `text` costs nothing; `assets` and `pieces()` draw on first use and remember."""

    spec: PromptSpec
    draw: Callable[[Asset, str], AssetImages] = field(repr=False)

    @property
    def text(self) -> str:
        return self.spec.text

    @cached_property
    def assets(self) -> dict[str, AssetImages]:
        return {name: self.draw(asset, name) for name, asset in self.spec.assets.items()}

    def pieces(self) -> list[Piece]:
        """The prompt in reading order: text, image, text, ..."""
        found = []
        for position, part in enumerate(_PLACEHOLDER.split(self.text)):
            if position % 2:
                found.append(Piece(part, self.assets[part]))
            elif part:
                found.append(Piece(part))
        return found

    def to_tree(self) -> dict[str, Any]:
        """The prompt as plain dicts of texts and arrays, for a policy in another process."""
        return {
            "text": self.text,
            "assets": {
                name: {
                    "kind": images.kind,
                    "rgb": dict(images.rgb),
                    "segmentation": dict(images.segmentation),
                    "objects": {str(number): f"{look.texture} {look.shape}" for number, look in images.objects.items()},
                }
                for name, images in self.assets.items()
            },
        }

    def reworded(self, text: str) -> Prompt:
        """The same images in other words; an image that the text does not name any more is left out."""
        named = {name: self.spec.assets[name] for name in _PLACEHOLDER.findall(text)}
        return Prompt(PromptSpec(text, named), self.draw)

    def __reduce__(self) -> tuple[Any, ...]:
        """A prompt that leaves the process takes its images along."""
        return _drawn, (self.spec, self.assets)


def given(text: str, assets: Mapping[str, AssetImages]) -> Prompt:
    """A prompt whose images were drawn elsewhere."""
    return Prompt(PromptSpec(text, {name: ObjectImage(Look("", "")) for name in assets}), _Drawn(assets))


@dataclass(frozen=True)
class _Drawn:
    """The drawings of a prompt that came from another process."""

    assets: Mapping[str, AssetImages]

    def __call__(self, asset: Asset, name: str) -> AssetImages:
        return self.assets[name]


def _drawn(spec: PromptSpec, assets: Mapping[str, AssetImages]) -> Prompt:
    return Prompt(spec, _Drawn(assets))
