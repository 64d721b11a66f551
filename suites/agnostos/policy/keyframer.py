"""A policy that points: the next keyframe is beside a thing that is seen, or a move of the hand from where it is.

It is a mixture. Each thing has two components, a place beside its middle with a rotation in the room's frame; the hand
has two more, a move along the room's axes and one along its own, each with a turn from how it is held now. What a
demonstration did is explained by any of them, so that nobody has to say which thing a keyframe was meant for.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from pytest_vla.episode import EpisodeKey
from pytest_vla.policies.base import Observation, Policy, PolicySpec
from pytest_vla.policies.compute import placed
from pytest_vla.train.demonstration import Demonstration

from .facts import HIGH_M, KEYFRAMES, LOW_M, SUITES
from .replay import Replay
from .sentences import SIZE
from .sights import CAMERAS, CHANNELS, collated, sight_of

WAYS = 2  # components of a thing
HAND_WAYS = 2  # along the room's axes, and along the hand's
POSE = 9  # numbers of a component: a place, and two columns of a rotation
CENTRE_M = (0.25, 0.0, 0.95)
NEAR_M, NEAR_TURN = 0.01, 0.1  # what counts as close to a demonstration, in metres and as a norm of matrices
TURN_RAD = math.pi / 6  # how far a scene is turned in training
SHAKE_M = 0.003  # how far the hand is from where it is said to be, in training
AWAY_M = (0.15, 0.25, 0.15)  # and before the first keyframe, which is the same wherever the hand is


@dataclass
class Progress:
    """What is remembered of an episode: keyframes since it began, or began again."""

    step: int = 0


class Keyframer(nn.Module, Policy):
    """Args: width of a token, layers of attention, heads."""

    spec = PolicySpec(suites=SUITES, cameras=CAMERAS, scan=CAMERAS, state_keys=("ee",))

    def __init__(self, width: int = 96, layers: int = 3, heads: int = 4) -> None:
        super().__init__()
        self.eye = nn.Sequential(nn.Linear(CHANNELS, 48), nn.GELU(), nn.Linear(48, width))
        self.seen = nn.Linear(width, width)
        self.place = nn.Sequential(nn.Linear(6, width), nn.GELU(), nn.Linear(width, width))
        self.name, self.told = nn.Linear(SIZE, width), nn.Linear(SIZE, width)
        self.hand = nn.Sequential(nn.Linear(10, width), nn.GELU(), nn.Linear(width, width))
        self.step = nn.Embedding(KEYFRAMES, width)
        layer = nn.TransformerEncoderLayer(
            width, heads, 4 * width, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
        )
        self.stack = nn.TransformerEncoder(layer, layers, nn.LayerNorm(width), enable_nested_tensor=False)
        self.beside = _head(2 * width, WAYS * (POSE + 1))
        self.moved = _head(width, HAND_WAYS * (POSE + 1))
        self.rest = _head(width, 3)
        self._replay: Replay | None = None

    # --- training -----------------------------------------------------------------------------------------------------

    def examples(self, demonstration: Demonstration) -> Iterator[dict[str, Any]]:
        """One for each keyframe; the episode is played again, since what cameras measure is not recorded."""
        if self._replay is None:
            self._replay = Replay()
        last = len(demonstration) - 1
        for step, observation in enumerate(self._replay.observations(demonstration)):
            yield {
                **sight_of(observation),
                "step": step,
                "last": step == last,
                "action": demonstration.action[step],
            }

    @staticmethod
    def collate(examples: Sequence[Mapping[str, Any]]) -> dict[str, Tensor]:
        batch: dict[str, Any] = {**collated(examples), "step": np.array([example["step"] for example in examples])}
        if "action" in examples[0]:
            batch["action"] = np.stack([example["action"] for example in examples])
            batch["last"] = np.array([example["last"] for example in examples], np.float32)
        return {name: torch.from_numpy(np.asarray(column)) for name, column in batch.items()}

    def loss(self, batch: Mapping[str, Tensor]) -> tuple[Tensor, dict[str, float]]:
        """How unlikely the demonstrated poses are, and how wrong the rest of each keyframe is."""
        action = batch["action"]
        goal, turn = action[:, :3], matrices(action[:, 3:7])
        if self.training:
            batch, goal, turn = _disturbed(batch, goal, turn)
        scores, places, turns, rest = self(batch)
        away = (places - goal[:, None]).norm(dim=-1)
        twist = (turns - turn[:, None]).flatten(2).norm(dim=-1)
        pose = -(scores - away / NEAR_M - twist / NEAR_TURN).logsumexp(1).mean()
        wanted = torch.stack([action[:, 7], action[:, 8], batch["last"]], 1)
        others = F.binary_cross_entropy_with_logits(rest, wanted)
        best = scores.argmax(1, keepdim=True)
        return pose + others, {
            "pose": pose.item(),
            "rest": others.item(),
            "mm": 1e3 * away.gather(1, best).median().item(),
            "deg": math.degrees(twist.gather(1, best).median().item() / math.sqrt(2)),
        }

    # --- acting -------------------------------------------------------------------------------------------------------

    def reset(self, episode: EpisodeKey) -> Progress:
        return Progress()

    def act(self, observations: Sequence[Observation], states: Sequence[Progress]) -> list[NDArray[np.float32]]:
        sights = [{**sight_of(seen), "step": state.step} for seen, state in zip(observations, states, strict=True)]
        device = next(self.parameters()).device
        batch = {name: placed(column, device) for name, column in self.collate(sights).items()}
        with torch.no_grad():
            scores, places, turns, rest = (answer.cpu() for answer in self(batch))
        best, row = scores.argmax(1), torch.arange(len(scores))
        actions = []
        for place, turn, others, state in zip(places[row, best], turns[row, best], rest, states, strict=True):
            actions.append(_action(place, turn, others))
            done = bool(others[2] > 0) or state.step + 1 == KEYFRAMES
            state.step = 0 if done else state.step + 1  # all done and yet not over: once more from the beginning
        return actions

    # --- the network --------------------------------------------------------------------------------------------------

    def forward(self, batch: Mapping[str, Tensor]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Log-probabilities of the components, their places and rotations, and logits of open, free and the end."""
        middle, hand, there = batch["middle"], batch["hand"][:, :3], batch["there"]
        held = matrices(batch["hand"][:, 3:7])
        looks = self.eye(batch["points"] * _scale(middle)).amax(2)
        where = torch.cat([_centred(middle), 10 * (middle - hand[:, None])], -1)
        things = self.seen(looks) + self.place(where) + self.name(batch["names"])
        how = torch.cat([_centred(hand), held[:, :, :2].flatten(1), batch["hand"][:, 7:8]], -1)
        query = self.told(batch["instruction"]) + self.hand(how) + self.step(batch["step"])
        here = F.pad(there, (1, 0), value=True)
        read = self.stack(torch.cat([query[:, None], things], 1), src_key_padding_mask=~here)
        query, things = read[:, 0], read[:, 1:]
        both = torch.cat([things, query[:, None].expand_as(things)], -1)
        beside = self.beside(both).unflatten(-1, (WAYS, POSE + 1))
        moved = self.moved(query).unflatten(-1, (HAND_WAYS, POSE + 1))
        hidden = ~there[:, :, None].expand(-1, -1, WAYS)
        scores = torch.cat([beside[..., 0].masked_fill(hidden, -1e4).flatten(1), moved[..., 0]], 1).log_softmax(1)
        near = middle[:, :, None] + 0.1 * beside[..., 1:4]
        step = 0.1 * moved[..., 1:4]
        along = torch.stack([step[:, 0], (held @ step[:, 1, :, None])[..., 0]], 1)
        turns = torch.cat([_rotations(beside[..., 4:]).flatten(1, 2), held[:, None] @ _rotations(moved[..., 4:])], 1)
        return scores, torch.cat([near.flatten(1, 2), hand[:, None] + along], 1), turns, self.rest(query)


def _head(width: int, numbers: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, numbers))


def _scale(like: Tensor) -> Tensor:
    """Points in decimetres, colours as they are."""
    return torch.tensor([10.0, 10.0, 10.0, 1.0, 1.0, 1.0], device=like.device)


def _centred(places: Tensor) -> Tensor:
    return 3 * (places - torch.tensor(CENTRE_M, device=places.device))


def matrices(quaternions: Tensor) -> Tensor:
    """Rotation matrices of quaternions x, y, z, w."""
    x, y, z, w = (quaternions / quaternions.norm(dim=-1, keepdim=True)).unbind(-1)
    rows = [
        *(1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)),
        *(2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)),
        *(2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)),
    ]
    return torch.stack(rows, -1).reshape(*x.shape, 3, 3)


def _rotations(numbers: Tensor) -> Tensor:
    """Rotation matrices of six numbers, the identity of none: two columns made to stand at right angles."""
    one = numbers.new_tensor([1.0, 0.0, 0.0, 0.0, 1.0, 0.0])
    first, second = (numbers + one).chunk(2, -1)
    x = F.normalize(first, dim=-1)
    y = F.normalize(second - (x * second).sum(-1, keepdim=True) * x, dim=-1)
    return torch.stack([x, y, torch.linalg.cross(x, y)], -1)


def _disturbed(batch: Mapping[str, Tensor], goal: Tensor, turn: Tensor) -> tuple[dict[str, Tensor], Tensor, Tensor]:
    """The same scene turned about the table's middle, with the hand a little off, or anywhere before it begins."""
    count = len(goal)
    angle = TURN_RAD * (2 * torch.rand(count) - 1)
    spin = matrices(torch.stack([0 * angle, 0 * angle, (angle / 2).sin(), (angle / 2).cos()], -1))
    centre = torch.tensor(CENTRE_M)

    def turned(places: Tensor) -> Tensor:
        return torch.einsum("bij,b...j->b...i", spin, places - centre) + centre

    hand = turned(batch["hand"][:, :3]) + SHAKE_M * torch.randn(count, 3)
    begins = (batch["step"] == 0) & (torch.rand(count) < 0.3)
    hand = hand + begins[:, None] * torch.tensor(AWAY_M) * (2 * torch.rand(count, 3) - 1)
    half = torch.stack([0 * angle, 0 * angle, (angle / 2).sin(), (angle / 2).cos()], -1)
    points = batch["points"]
    xyz = torch.einsum("bij,btpj->btpi", spin, points[..., :3])
    changed = {
        **batch,
        "middle": turned(batch["middle"]),
        "points": torch.cat([xyz, points[..., 3:]], -1),
        "hand": torch.cat([hand, _product(half, batch["hand"][:, 3:7]), batch["hand"][:, 7:]], -1),
    }
    return changed, turned(goal), spin @ turn


def _product(first: Tensor, second: Tensor) -> Tensor:
    """The quaternion of one rotation after another."""
    ax, ay, az, aw = first.unbind(-1)
    bx, by, bz, bw = second.unbind(-1)
    return torch.stack(
        [
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
            aw * bw - ax * bx - ay * by - az * bz,
        ],
        -1,
    )


def _action(place: Tensor, turn: Tensor, rest: Tensor) -> NDArray[np.float32]:
    """The keyframe as the suite takes it, inside the workspace."""
    from scipy.spatial.transform import Rotation

    position = np.clip(place.numpy(), np.add(LOW_M, 1e-3), np.subtract(HIGH_M, 1e-3))
    rotation = Rotation.from_matrix(turn.numpy().astype(np.float64)).as_quat()
    return np.array([*position, *rotation, float(rest[0] > 0), float(rest[1] > 0)], np.float32)
