"""The 82 textures of VIMABench, painted by code: seamless tiles whose patterns still read at 4 mm a pixel."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from . import patterns

Rgb = tuple[int, int, int]
Image = NDArray[np.uint8]

_DATA = json.loads((Path(__file__).parent / "data" / "textures.json").read_text(encoding="utf-8"))
_DARKER_BY = 0.3  # of the HSV value
_SUPERSAMPLING = 2


@dataclass(frozen=True, slots=True)
class TextureSpec:
    """One texture; `light_twin` names the texture that a dark one is the darker version of."""

    name: str
    kind: Literal["plain", "image"]
    rgb: Rgb | None
    dark: bool
    light_twin: str | None


def _spec(name: str) -> TextureSpec:
    rgb = _DATA["plain"].get(name)
    dark = name.startswith("dark ")
    return TextureSpec(
        name=name,
        kind="plain" if rgb else "image",
        rgb=tuple(rgb) if rgb else None,
        dark=dark,
        light_twin=name.removeprefix("dark ") if dark else None,
    )


TEXTURES: dict[str, TextureSpec] = {name: _spec(name) for name in _DATA["names"]}
"""Every texture by name, in the order in which the original declares them."""

NEUTRAL = TextureSpec(name="gray", kind="plain", rgb=(186, 176, 172), dark=False, light_twin=None)
"""The colour of objects in prompts that must not give their texture away; never on the table."""


def texture_image(name: str, size: int = 128) -> Image:
    """One seamless tile (size, size, 3); it covers `meshes.TEXTURE_REPEAT_M`. The same in every run."""
    return _paint(name, size).copy()


def average_rgb(name: str) -> Rgb:
    """The colour one sees from far away; of a plain texture its only colour."""
    red, green, blue = _paint(name, 128).reshape(-1, 3).mean(axis=0).round().astype(int).tolist()
    return red, green, blue


@cache
def _paint(name: str, size: int) -> Image:
    spec = NEUTRAL if name == NEUTRAL.name else TEXTURES.get(name)
    if spec is None:
        raise KeyError(f"no texture is called {name!r}; known are {NEUTRAL.name}, {', '.join(TEXTURES)}")
    if spec.rgb is not None:
        return np.full((size, size, 3), spec.rgb, dtype=np.uint8)
    if spec.light_twin is not None:
        return _darker(_paint(spec.light_twin, size))
    fine = _painter(name)(size * _SUPERSAMPLING)
    coarse = fine.reshape(size, _SUPERSAMPLING, size, _SUPERSAMPLING, 3).mean(axis=(1, 3))
    return np.asarray(coarse.clip(0, 255).round(), dtype=np.uint8)


def _darker(image: Image) -> Image:
    """Lower the HSV value; hue and saturation stay when all three channels shrink by the same factor."""
    value = image.max(axis=2, keepdims=True) / 255
    factor = np.maximum(value - _DARKER_BY, 0) / np.maximum(value, 1e-9)
    return np.asarray((image * factor).round(), dtype=np.uint8)


def _painter(name: str) -> Callable[[int], patterns.Canvas]:
    """Names say what to paint: "<colour> and <colour> stripe", "<colour> swirl", or a material."""
    if name in patterns.MATERIALS:
        return patterns.MATERIALS[name]
    *colours, kind = name.replace("polka dot", "polka-dot").replace(" and ", " ").split()
    paint = patterns.COLOURED[kind]
    palette = [_plain(colour) for colour in colours]
    return lambda size: paint(size, *palette)


def _plain(colour: str) -> Rgb:
    red, green, blue = _DATA["plain"][colour]
    return red, green, blue


def _texture_sets() -> dict[str, list[str]]:
    light = [name for name, spec in TEXTURES.items() if not spec.dark]
    with_twin = [name for name in light if f"dark {name}" in TEXTURES]
    plain_first = sorted(with_twin, key=lambda name: TEXTURES[name].kind != "plain")
    sets: dict[str, list[str]] = {key: list(names) for key, names in _DATA["sets"].items()}
    sets["ALL49"] = light
    sets["HALF1"] = light[: len(light) // 2]
    sets["HALF2"] = light[len(light) // 2 :]
    sets["LIGHT_DARK"] = [name for twin in plain_first for name in (twin, f"dark {twin}")]
    return sets


TEXTURE_SETS: dict[str, list[str]] = _texture_sets()
"""Which textures a partition may use: A and B swap roles between levels 1 and 2, the halves serve levels 3 and 4."""
