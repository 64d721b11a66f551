"""A small policy for BOMB, trained from demonstrations: pixels, words and the hand's pose to chunks of actions.

It acts in half moves. At the start of each it looks at the table once, decides what the half is for (to pick, to
release, to rest), points at the place in a map of the table, and gives the actions of the whole half as one chunk.
Places are read from a map's peak and its surroundings, which is far finer than the map's cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pytest_vla.policies.base import Observation, Policy, PolicySpec
from pytest_vla.policies.compute import placed

from .examples import (
    CHUNK,
    COLUMNS,
    PICK,
    PICTURE,
    PIXEL_M,
    RELEASE,
    REST,
    ROWS,
    TOKENS,
    WORDS,
    Array,
    examples_of,
    is_held,
    observed,
    picture_of,
)
from .facts import CAMERA, GRIPPER, HEIGHT, REST_SPOT, SUITES, TRAVEL_M

if TYPE_CHECKING:
    from pytest_vla.episode import EpisodeKey
    from pytest_vla.train.demonstration import Demonstration

STRIDE = 4  # image pixels across a cell of a map
MAP = (ROWS // STRIDE, COLUMNS // STRIDE)
CELL_M = PIXEL_M * STRIDE
KINDS = 3
MOST_MOVES = 3
SPOT_NOISE_M = 0.001  # so that the actions do not depend on a spot's last digits


@dataclass
class Memory:
    """What the policy remembers of an episode: stones put down, and whether it held one when it last looked."""

    moves: int = 0
    held: bool = False


class Visuomotor(nn.Module, Policy):
    """Args: channels of the image features, width of the instruction's features."""

    spec = PolicySpec(suites=SUITES, cameras=(CAMERA,), state_keys=("ee",), prompt=True, chunk=CHUNK)
    masks_text = True

    def __init__(self, channels: int = 32, width: int = 64) -> None:
        super().__init__()
        self.reader = Reader(width)
        self.eye = Eye(channels, width)
        self.kind = nn.Linear(width, KINDS)
        self.motion = nn.Sequential(
            *(nn.Linear(9 + KINDS, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, CHUNK * 2))
        )

    @staticmethod
    def examples(demonstration: Demonstration) -> list[dict[str, Array]]:
        """The training examples of one recorded episode."""
        return list(examples_of(demonstration))

    def loss(self, batch: dict[str, Tensor]) -> tuple[Tensor, dict[str, float]]:
        """How far the answers to a batch of examples are from the demonstrated ones."""
        kind, spot = batch["kind"], batch["spot"]
        told = self.reader(batch["tokens"], batch["ee"], batch["moves"])
        release, features = self.eye.release(batch["image"], batch["picture"], told)
        pick = self.eye.pick(features, told, batch["release"])
        spot_noise = SPOT_NOISE_M * torch.randn_like(spot)
        height, opening = self.move(batch["ee"], spot + spot_noise, kind)
        kinds = self.kind(told)
        parts = {
            "kind": F.cross_entropy(kinds, kind),
            "pick": _map_loss(pick, spot, kind == PICK),
            "release": _map_loss(release, batch["release"], kind != REST),
            "height": F.l1_loss(height, batch["chunk"][..., HEIGHT]) / TRAVEL_M,
            "opening": F.binary_cross_entropy_with_logits(opening, batch["chunk"][..., GRIPPER]),
        }
        metrics = {f"{name}_loss": float(part.detach()) for name, part in parts.items()}
        with torch.no_grad():
            metrics["kind_right"] = float((kinds.argmax(-1) == kind).float().mean())
            metrics["pick_mm"] = _off_mm(pick, spot, kind == PICK)
            metrics["release_mm"] = _off_mm(release, batch["release"], kind == RELEASE)
        return torch.stack(list(parts.values())).sum(), metrics

    def reset(self, episode: EpisodeKey) -> Memory:
        return Memory()

    def act(self, observations: Sequence[Observation], states: Sequence[Memory]) -> list[Array]:
        with torch.no_grad():
            return list(self.chunks(self._batch(observations, states)).cpu().numpy())

    def log_prob(
        self, observations: Sequence[Observation], states: Sequence[Memory], actions: Sequence[Array]
    ) -> list[float]:
        """How likely half moves are: what each is for, where it goes in the map of that, and its openings."""
        batch = self._batch(observations, states)
        chunks = torch.as_tensor(np.stack(actions)).to(batch["ee"])
        opens = chunks[..., GRIPPER] > 0.5
        changes = (opens[:, :1] != opens).any(1)
        kind = torch.where(changes, torch.where(opens[:, 0], PICK, RELEASE), REST)
        spot = chunks[:, 0, :2]
        with torch.no_grad():
            told = self.reader(batch["tokens"], batch["ee"], batch["moves"])
            release, features = self.eye.release(batch["image"], batch["picture"], told)
            pick = self.eye.pick(features, told, peak(release))
            maps = torch.stack([pick, release], 1).flatten(2).log_softmax(-1)
            place = (maps * spread(spot).flatten(1)[:, None]).sum(-1)
            _, opening = self.move(batch["ee"], spot, kind)
            total = self.kind(told).log_softmax(-1).gather(1, kind[:, None])[:, 0]
            total = total + F.pad(place, (0, 1)).gather(1, kind[:, None])[:, 0]
            total = total - F.binary_cross_entropy_with_logits(opening, opens.float(), reduction="none").sum(1)
        return [float(each) for each in total]

    def _batch(self, observations: Sequence[Observation], states: Sequence[Memory]) -> dict[str, Tensor]:
        rows = [self._look(observation, memory) for observation, memory in zip(observations, states, strict=True)]
        device = next(self.parameters()).device
        return {name: placed(torch.as_tensor(np.stack([row[name] for row in rows])), device) for name in rows[0]}

    def chunks(self, batch: dict[str, Tensor]) -> Tensor:
        """The actions (batch, chunk, 4) of the half moves to be made now."""
        told = self.reader(batch["tokens"], batch["ee"], batch["moves"])
        release_map, features = self.eye.release(batch["image"], batch["picture"], told)
        release = peak(release_map)
        pick = peak(self.eye.pick(features, told, release))
        kind = self.kind(told).argmax(-1)
        rest = torch.tensor(REST_SPOT, device=kind.device).expand_as(pick)
        spot = torch.stack([pick, release, rest])[kind, torch.arange(len(kind), device=kind.device)]
        height, opening = self.move(batch["ee"], spot, kind)
        spots = spot[:, None].expand(-1, CHUNK, -1)
        return torch.cat([spots, height[..., None], (opening > 0).float()[..., None]], dim=-1)

    def move(self, ee: Tensor, spot: Tensor, kind: Tensor) -> tuple[Tensor, Tensor]:
        """Heights in metres and logits of an open gripper, for each action of a half move."""
        way = spot - ee[:, :2]
        far = way.norm(dim=-1, keepdim=True)
        state = torch.cat([_scaled(ee), spot / 0.2, way / 0.2, far / 0.2, F.one_hot(kind, KINDS)], dim=-1)
        height, opening = self.motion(state).view(-1, CHUNK, 2).unbind(-1)
        return height * TRAVEL_M, opening

    def _look(self, observation: Observation, memory: Memory) -> dict[str, Array]:
        ee = np.asarray(observation["state"]["ee"], np.float32)
        held = is_held(ee)
        memory.moves += memory.held and not held
        memory.held = held
        picture = picture_of(observation.get("prompt"))
        image = np.asarray(observation["images"][CAMERA])
        hidden = observation.get("instruction_mask", ())
        return observed(image, ee, memory.moves, str(observation["instruction"]), picture, hidden)


class Reader(nn.Module):
    """The instruction, read with the hand's pose and the moves made so far in mind: one vector of what to do now."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, width)
        self.places = nn.Parameter(0.02 * torch.randn(TOKENS, width))
        self.moves = nn.Embedding(MOST_MOVES + 1, width)
        self.pose = nn.Linear(4, width)
        layer = nn.TransformerEncoderLayer(width, 4, 2 * width, dropout=0.0, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, nn.LayerNorm(width), enable_nested_tensor=False)

    def forward(self, tokens: Tensor, ee: Tensor, moves: Tensor) -> Tensor:
        now = self.pose(_scaled(ee)) + self.moves(moves.clamp(0, MOST_MOVES))
        tokens = tokens[:, : int((tokens != 0).sum(1).max())]
        words = torch.cat([now[:, None], self.words(tokens.clamp(min=0)) + self.places[: tokens.shape[1]]], dim=1)
        blank = F.pad(tokens <= 0, (1, 0))
        read: Tensor = self.layers(words, src_key_padding_mask=blank)[:, 0]
        return read


class Eye(nn.Module):
    """Maps of where to release and where to pick, from the table and the prompt's picture, both seen from above."""

    cells: Tensor  # where each cell of a map is: x and y in metres

    def __init__(self, channels: int, width: int) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(6, channels, 2 * STRIDE, STRIDE, STRIDE // 2), nn.ReLU())
        self.blocks = nn.ModuleList(Block(channels, width, dilation) for dilation in (1, 2))
        self.toward = nn.Conv2d(3, channels, 1)
        self.target = nn.Linear(channels, width)
        self.nearness = Block(channels, width, 1)
        self.heads = nn.Conv2d(channels, 2, 1)
        self.lines = nn.Linear(width, 2 * sum(MAP))
        rows, columns = torch.meshgrid(torch.arange(MAP[0]), torch.arange(MAP[1]), indexing="ij")
        x, y = (columns + 0.5 - MAP[1] / 2) * CELL_M, (MAP[0] / 2 - rows - 0.5) * CELL_M
        self.register_buffer("cells", torch.stack([x, y]), persistent=False)

    def release(self, image: Tensor, picture: Tensor, told: Tensor) -> tuple[Tensor, Tensor]:
        """The map of where to release, and the features that the other map is made of."""
        shown = _pixels(picture) * picture.flatten(1).any(1)[:, None, None, None]
        wide, high = (COLUMNS - PICTURE) // 2, (ROWS - PICTURE) // 2
        features = self.stem(torch.cat([_pixels(image), F.pad(shown, (wide, wide, high, high))], dim=1))
        for block in self.blocks:
            features = features + block(features, told)
        return self._map(features, told, RELEASE), features

    def pick(self, features: Tensor, told: Tensor, release: Tensor) -> Tensor:
        """The map of where to pick a stone that will be released there; what is seen there says which stone."""
        told = told + self.target((features * spread(release)[:, None]).sum((2, 3)))
        way = (self.cells - release[:, :, None, None]) / 0.2
        near = self.toward(torch.cat([way, way.norm(dim=1, keepdim=True)], dim=1))
        return self._map(self.nearness(features + near, told), told, PICK)

    def _map(self, features: Tensor, told: Tensor, kind: int) -> Tensor:
        """What the features say of each cell, and what the words say of its row and its column."""
        seen = self.heads(features)[:, kind]
        rows, columns = self.lines(told).chunk(2, dim=-1)[kind].split(MAP, dim=-1)
        total: Tensor = seen + rows[:, :, None] + columns[:, None, :]
        return total


class Block(nn.Module):
    """A convolution whose channels the instruction turns up and down."""

    def __init__(self, channels: int, width: int, dilation: int) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(channels, channels, 3, padding=dilation, dilation=dilation)
        self.norm = nn.GroupNorm(4, channels)
        self.turn = nn.Linear(width, 2 * channels)

    def forward(self, features: Tensor, told: Tensor) -> Tensor:
        gain, shift = self.turn(told)[:, :, None, None].chunk(2, dim=1)
        return F.relu(self.norm(self.convolution(features)) * (1 + gain) + shift)


def peak(logits: Tensor) -> Tensor:
    """The place (x, y in metres) of a map's highest cell, weighed with its neighbours."""
    rows, columns = torch.arange(MAP[0], device=logits.device), torch.arange(MAP[1], device=logits.device)
    best = logits.flatten(1).argmax(1)
    near = ((rows - best[:, None] // MAP[1]).abs() <= 1)[:, :, None] & ((columns - best[:, None] % MAP[1]).abs() <= 1)[
        :, None, :
    ]
    weights = logits.masked_fill(~near, -torch.inf).flatten(1).softmax(1).view_as(logits)
    column, row = (weights.sum(1) * columns).sum(1), (weights.sum(2) * rows).sum(1)
    return torch.stack([(column + 0.5 - MAP[1] / 2) * CELL_M, (MAP[0] / 2 - row - 0.5) * CELL_M], dim=-1)


def spread(spots: Tensor) -> Tensor:
    """Maps that hold each spot as weights of the four cells around it: `peak` of their logarithm gives it back."""
    column = spots[:, 0] / CELL_M + MAP[1] / 2 - 0.5
    row = MAP[0] / 2 - 0.5 - spots[:, 1] / CELL_M
    rows = (1 - (torch.arange(MAP[0], device=row.device) - row[:, None]).abs()).clamp(min=0)
    columns = (1 - (torch.arange(MAP[1], device=row.device) - column[:, None]).abs()).clamp(min=0)
    return rows[:, :, None] * columns[:, None, :]


def _map_loss(logits: Tensor, spots: Tensor, counts: Tensor) -> Tensor:
    """Cross entropy between maps and spots, over the rows that count."""
    loss = -(spread(spots).flatten(1) * logits.flatten(1).log_softmax(1)).sum(1)
    return (loss * counts).sum() / counts.sum().clamp(min=1)


def _off_mm(logits: Tensor, spots: Tensor, counts: Tensor) -> float:
    """The median distance of maps' peaks from the true spots."""
    away = (peak(logits) - spots).norm(dim=-1)[counts]
    return 1000 * float(away.median()) if len(away) else 0.0


def _pixels(image: Tensor) -> Tensor:
    return image.permute(0, 3, 1, 2).float() / 127.5 - 1


def _scaled(ee: Tensor) -> Tensor:
    return ee / torch.tensor([0.2, 0.2, 0.1, 1.0], device=ee.device)
