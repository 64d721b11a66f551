"""Policies of which it is known what they look at, and what they are shown: plants for `benchmarks.explain`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pytest_vla.policies.base import Policy, PolicySpec
from pytest_vla.policies.conventions import Conventions, Part
from pytest_vla.suite import Suite

SIDE = 256
SQUARE = 24
CAMERAS = ("front", "wrist")
COLOURS = ("red", "green", "blue", "white", "black")
NOISE = 0.02
DRIFT = 0.98  # of noise that drifts: what is left of it at the next row
TILES = 8  # features along each side of a picture
HEADS, LAYERS, WIDTH = 4, 2, 32


def seen(seed: int) -> dict[str, Any]:
    """An observation with texture everywhere and a sentence with one colour in it."""
    rng = np.random.default_rng(seed)
    images = {}
    for camera in CAMERAS:
        coarse = rng.integers(0, 256, (SIDE // 8, SIDE // 8, 3)).repeat(8, 0).repeat(8, 1)
        images[camera] = ((coarse + rng.integers(0, 256, (SIDE, SIDE, 3))) // 2).astype(np.uint8)
    colour = COLOURS[int(rng.integers(len(COLOURS)))]
    return {
        "images": images,
        "state": {"ee": rng.uniform(0, 1, 4).astype(np.float32)},
        "instruction": f"put the {colour} block on the far plate, then wait",
    }


class PlantedSuite(Suite):
    """A space of actions and two cameras; nothing is simulated."""

    name = "planted"
    cameras = CAMERAS
    state_keys = ("ee",)
    conventions = Conventions(action=(Part("position"), Part("gripper")))

    def cells(self) -> Sequence[tuple[str, str]]:
        return [("look", "all")]

    def make_env(self, task: str) -> Any:
        raise NotImplementedError("only recorded observations are asked about")

    def step_limit(self, task: str) -> int:
        return 1


def bell(rng: Any) -> Iterator[Any]:
    while True:
        yield rng.standard_normal(4)


def outliers(rng: Any) -> Iterator[Any]:
    while True:
        yield rng.standard_t(1.5, 4)


def drifting(rng: Any) -> Iterator[Any]:
    """Answers to questions that are asked one after the other are alike."""
    now = rng.standard_normal(4)
    while True:
        now = DRIFT * now + (1 - DRIFT**2) ** 0.5 * rng.standard_normal(4)
        yield now


NOISES = {"bell": bell, "outliers": outliers, "drifting": drifting}


class Plant(Policy):
    """Gives four numbers in -1..1 of what it looks at; a noisy one draws anew for every row."""

    spec = PolicySpec(cameras=CAMERAS)

    def __init__(self, seed: int, noise: str = "") -> None:
        self.rng = np.random.default_rng(seed)
        self.noise = NOISES[noise](np.random.default_rng((seed, 1))) if noise else None

    def act(self, observations: Sequence[Any], states: Sequence[Any]) -> list[Any]:
        return [self._drawn(np.tanh(self.value(each))) for each in observations]

    def value(self, observation: Any) -> Any:
        raise NotImplementedError

    def _drawn(self, action: Any) -> Any:
        noise = 0.0 if self.noise is None else NOISE * next(self.noise)
        return (action + noise).astype(np.float32)


class Square(Plant):
    """Reads only a square of 24 pixels of the front camera."""

    def __init__(self, seed: int, noise: str = "") -> None:
        super().__init__(seed, noise)
        self.x, self.y = (int(each) for each in self.rng.integers(0, SIDE - SQUARE, 2))
        self.weights = self.rng.standard_normal((4, SQUARE * SQUARE * 3)) / SQUARE / 2

    @property
    def box(self) -> tuple[int, int, int, int]:
        return self.x, self.y, self.x + SQUARE, self.y + SQUARE

    def value(self, observation: Any) -> Any:
        part = observation["images"]["front"][self.y : self.y + SQUARE, self.x : self.x + SQUARE]
        return self.weights @ (part.reshape(-1) / 127.5 - 1)


class Word(Plant):
    """Reads only the colour word."""

    @cached_property
    def codes(self) -> Any:
        return {colour: self.rng.uniform(-1, 1, 4) for colour in ("", *COLOURS)}

    def value(self, observation: Any) -> Any:
        found = re.search("|".join(COLOURS), observation["instruction"])
        return self.codes[found[0] if found else ""]


class Wrist(Plant):
    """Reads only the wrist camera, all of it."""

    @cached_property
    def weights(self) -> Any:
        return self.rng.standard_normal((4, 16 * 16 * 3)) / 16

    def value(self, observation: Any) -> Any:
        image = observation["images"]["wrist"].reshape(16, SIDE // 16, 16, SIDE // 16, 3).mean((1, 3))
        return self.weights @ (image.reshape(-1) / 32 - 4)


class Ignorant(Plant):
    """Looks at nothing but its own state, and is never quite sure."""

    def __init__(self, seed: int, noise: str = "bell") -> None:
        super().__init__(seed, noise)

    def value(self, observation: Any) -> Any:
        return observation["state"]["ee"]


class Feature(nn.Module, Policy):
    """A feature for each tile of the front camera, and a linear head that takes one of them; it gives `log_prob`."""

    spec = PolicySpec(cameras=CAMERAS)

    def __init__(self, seed: int) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.tiles = nn.ModuleList(nn.Linear(3 * 64, 2) for _ in range(TILES * TILES))
        self.number = seed * 7919 % (TILES * TILES)
        self.head = nn.Linear(2 * TILES * TILES, 4)
        with torch.no_grad():
            kept = self.head.weight[:, 2 * self.number : 2 * self.number + 2].clone()
            self.head.weight.zero_()
            self.head.weight[:, 2 * self.number : 2 * self.number + 2] = 3 + kept

    @property
    def box(self) -> tuple[int, int, int, int]:
        side, (row, column) = SIDE // TILES, divmod(self.number, TILES)
        return column * side, row * side, (column + 1) * side, (row + 1) * side

    def forward(self, images: Tensor) -> Tensor:
        side = SIDE // TILES
        pooled = F.avg_pool2d(images, side // 8).unfold(2, 8, 8).unfold(3, 8, 8)  # batch, 3, tiles, tiles, 8, 8
        flat = pooled.permute(0, 2, 3, 1, 4, 5).flatten(3).flatten(1, 2)
        found = torch.cat([tile(flat[:, number]) for number, tile in enumerate(self.tiles)], 1)
        mean: Tensor = self.head(found)
        return mean

    def act(self, observations: Sequence[Any], states: Sequence[Any]) -> list[Any]:
        return list(self(self._images(observations)).detach().numpy())

    def log_prob(self, observations: Sequence[Any], states: Sequence[Any], actions: Sequence[Any]) -> list[float]:
        away = self(self._images(observations)) - torch.as_tensor(np.stack(actions))
        return [-float(each) for each in (away**2).sum(1) / 0.02]

    def _images(self, observations: Sequence[Any]) -> Tensor:
        images = np.stack([each["images"]["front"] for each in observations])
        return torch.from_numpy(images).permute(0, 3, 1, 2).float() / 127.5 - 1


class Passing(nn.Module, Policy):
    """Two layers of four heads on the words of the instruction, of which one alone moves anything to where it is read.

    Odd ones have an attention of their own with an `o_proj`, even ones torch's.
    """

    spec = PolicySpec(cameras=CAMERAS)
    masks_text = True

    def __init__(self, seed: int) -> None:
        super().__init__()
        torch.manual_seed(seed)
        draws = np.random.default_rng(seed)
        self.layer, self.head = int(draws.integers(LAYERS)), int(draws.integers(HEADS))
        self.words = nn.Embedding(256, WIDTH)
        kind = Attention if seed % 2 else TorchAttention
        self.layers = nn.ModuleList(kind() for _ in range(LAYERS))
        self.read = nn.Linear(WIDTH, 4)
        part = slice(self.head * WIDTH // HEADS, (self.head + 1) * WIDTH // HEADS)
        with torch.no_grad():
            for number, layer in enumerate(self.layers):
                projection = layer.projection
                projection.bias.zero_()
                kept = projection.weight[:, part].clone()
                projection.weight.zero_()
                if number == self.layer:
                    projection.weight[:, part] = 4 * kept

    @property
    def unit(self) -> str:
        name = "o_proj" if isinstance(self.layers[0], Attention) else "attention"
        return f"layers.{self.layer}.{name}.{self.head}"

    def act(self, observations: Sequence[Any], states: Sequence[Any]) -> list[Any]:
        return [self._one(each).detach().numpy() for each in observations]

    def _one(self, observation: Any) -> Tensor:
        hidden = observation.get("instruction_mask", ())
        found = list(re.finditer(r"[a-z]+", observation["instruction"]))
        keep = [not any(a < word.end() and word.start() < b for a, b in hidden) for word in found]
        numbers = torch.tensor([[0, *(1 + sum(map(ord, word[0])) % 255 for word in found)]])
        valid = torch.tensor([[True, *keep]])
        x = self.words(numbers)
        for layer in self.layers:
            x = x + layer(x, valid)
        answer: Tensor = torch.tanh(self.read(x[0, 0]))
        return answer


class Attention(nn.Module):
    """As models of Hugging Face have it."""

    def __init__(self) -> None:
        super().__init__()
        self.num_heads = HEADS
        self.mix, self.o_proj = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    @property
    def projection(self) -> Any:
        return self.o_proj

    def forward(self, x: Tensor, valid: Tensor) -> Tensor:
        query, key, value = (part.reshape(*x.shape[:2], HEADS, -1).transpose(1, 2) for part in self.mix(x).chunk(3, -1))
        mixed = F.scaled_dot_product_attention(query, key, value, attn_mask=valid[:, None, None])
        made: Tensor = self.o_proj(mixed.transpose(1, 2).flatten(2))
        return made


class TorchAttention(nn.Module):
    """As torch has it."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)

    @property
    def projection(self) -> Any:
        return self.attention.out_proj

    def forward(self, x: Tensor, valid: Tensor) -> Tensor:
        made: Tensor = self.attention(x, x, x, key_padding_mask=~valid, need_weights=False)[0]
        return made
