"""Made-up words: nouns that name a shape, adjectives that compare height or colour, and the objects that teach them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from ..textures import NEUTRAL
from .draw import Draw, looks, other
from .prompt import ObjectImage
from .scene import Look

NOUNS = ("dax", "blicket", "wug", "zup")
ADJECTIVES = ("daxer", "blicker", "modier", "kobar")
EXAMPLES = 3
SHORT = (0.3, 0.4)  # of the normal height
TALL_OVER_SHORT = 2.0
STEP = 0.005  # heights come in steps, so that meshes can be kept

Meaning = Literal["shorter", "taller", "lighter", "darker"]
PAIRS: tuple[tuple[Meaning, Meaning], ...] = (("shorter", "taller"), ("lighter", "darker"))


def gray(look: Look) -> ObjectImage:
    """A picture of the shape alone: neutral colour, normal size."""
    return ObjectImage(Look(look.shape, NEUTRAL.name))


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two objects of one shape, the first of which has more of the adjective."""

    more: Look
    less: Look


@dataclass(frozen=True, slots=True)
class Adjective:
    """A word, what it secretly means, and three examples of it."""

    word: str
    meaning: Meaning
    short: float
    """The lesser height of this episode, as a share of the normal one."""
    examples: tuple[Comparison, ...]

    def text(self) -> str:
        """The comparisons that teach the word."""
        sentences = (
            f"{{demo_blicker_obj_{i}}} is {self.word} than {{demo_less_blicker_obj_{i}}}. "
            for i in range(1, len(self.examples) + 1)
        )
        return "".join(sentences)

    def assets(self) -> dict[str, ObjectImage]:
        shown = {}
        for i, pair in enumerate(self.examples, 1):
            shown[f"demo_blicker_obj_{i}"] = ObjectImage(pair.more)
            shown[f"demo_less_blicker_obj_{i}"] = ObjectImage(pair.less)
        return shown


def draw_adjective(draw: Draw) -> Adjective:
    """A random word for a random meaning, with three pairs whose shapes and textures are drawn one by one."""
    meaning = draw.one(draw.one(PAIRS))
    short = round(round(draw.uniform(*SHORT) / STEP) * STEP, 3)
    examples = tuple(_pair(draw, meaning, short) for _ in range(EXAMPLES))
    return Adjective(draw.one(ADJECTIVES), meaning, short, examples)


def draw_compared(draw: Draw, adjective: Adjective) -> Comparison:
    """The pair on the table: one shape, with more and with less of the adjective."""
    return _pair(draw, adjective.meaning, adjective.short)


def _pair(draw: Draw, meaning: Meaning, short: float) -> Comparison:
    look = Look(draw.one(draw.choices.dragged), draw.one(_textures(draw, meaning)))
    if meaning in ("lighter", "darker"):
        light, dark = look, replace(look, texture=f"dark {look.texture}")
        return Comparison(light, dark) if meaning == "lighter" else Comparison(dark, light)
    low = replace(look, scale=(1.0, 1.0, short))
    high = replace(look, scale=(1.0, 1.0, round(short + TALL_OVER_SHORT, 3)))
    return Comparison(low, high) if meaning == "shorter" else Comparison(high, low)


def _textures(draw: Draw, meaning: Meaning) -> list[str]:
    """Any texture shows height; colour is compared on those that come light and dark."""
    textures = draw.choices.dragged_textures
    if meaning in ("shorter", "taller"):
        return list(textures)
    return [name for name in textures if f"dark {name}" in textures]


def draw_other(draw: Draw, used: Iterable[str]) -> Look:
    """An object of another shape, to tell the noun by; it may be a base, and it has a texture of either role."""
    options = draw.choices
    shapes = other(options.dragged + options.bases, used)
    textures = options.dragged_textures + options.base_textures
    if draw.strict:
        return draw.distractor(looks(shapes, textures))
    return Look(draw.one(shapes), draw.one(textures))
