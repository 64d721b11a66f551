"""A prompt-conditioned policy on object tokens, after the idea of VIMA, in two forms of equal size.

`cross`: the prompt has an encoder of its own, and every layer of the decoder attends to it.
`prefix`: prompt and scene stand in one sequence, which every layer attends over.

Actions point at things: a pick or place is an offset from an object that is seen now, was seen at first, or stands in
a picture of the prompt. Each is a mixture with one component per such object, so that what the prompt shows can be
pointed at wherever it is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pytest_vla.policies.base import Observation, Policy, PolicySpec
from pytest_vla.policies.compute import placed
from pytest_vla.train.demonstration import Demonstration, split_components

from .facts import CAMERA, HIGH, LOW, SUITES, TOOLS
from .objects import NOTHING, SCENE_OBJECT, WORDS, Array, Objects, find_objects, read_prompt

FIRST, NOW = 0, 1
STEPS = 8
SLOTS = 16
PLACES = 64
YAWS = 36
SPREAD_M = 0.02
REACH_M = 0.3


class Layer(nn.Module):
    """Pre-norm attention to oneself, to a prompt if there is one, and a feed-forward part."""

    def __init__(self, width: int, heads: int, *, cross: bool) -> None:
        super().__init__()
        self.heads = heads
        self.norm, self.mix, self.out = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.cross = cross
        if cross:
            self.cross_norm, self.ask = nn.LayerNorm(width), nn.Linear(width, width)
            self.tell, self.cross_out = nn.Linear(width, 2 * width), nn.Linear(width, width)
        self.feed = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )
        with torch.no_grad():  # begin by attending to what is alike: finding a shown object again is most of the task
            for asks, tells in ((self.mix.weight[:width], self.mix.weight[width : 2 * width]), *self._crossing()):
                asks.copy_(torch.eye(width))
                tells.copy_(torch.eye(width))

    def _crossing(self) -> list[tuple[Tensor, Tensor]]:
        return [(self.ask.weight, self.tell.weight[: len(self.ask.weight)])] if self.cross else []

    def forward(self, x: Tensor, here: Tensor, prompt: Tensor | None = None, told: Tensor | None = None) -> Tensor:
        query, key, value = self.mix(self.norm(x)).chunk(3, -1)
        x = x + self.out(self._attend(query, key, value, here))
        if self.cross and prompt is not None and told is not None:
            key, value = self.tell(prompt).chunk(2, -1)
            x = x + self.cross_out(self._attend(self.ask(self.cross_norm(x)), key, value, told))
        fed: Tensor = x + self.feed(x)
        return fed

    def _attend(self, query: Tensor, key: Tensor, value: Tensor, valid: Tensor) -> Tensor:
        query, key, value = (t.reshape(*t.shape[:2], self.heads, -1).transpose(1, 2) for t in (query, key, value))
        seen = F.scaled_dot_product_attention(query, key, value, attn_mask=valid[:, None, None, :])
        return seen.transpose(1, 2).flatten(2)


class ObjectTokenPolicy(nn.Module, Policy):
    """Behaviour-cloned pick-and-place from object tokens and a multimodal prompt.

    Args:
        conditioning: how the prompt reaches the scene, see above.
        width: of a token.
        layers: of the decoder (`cross`), or of the one stack (`prefix`).
        prompt_layers: of the prompt's own encoder (`cross` only).
    """

    spec = PolicySpec(suites=SUITES, cameras=(CAMERA,), state_keys=("ee",), prompt=True)
    masks_text = True

    def __init__(
        self,
        conditioning: Literal["cross", "prefix"] = "cross",
        width: int = 96,
        heads: int = 4,
        layers: int = 3,
        prompt_layers: int = 2,
    ) -> None:
        super().__init__()
        self.crossing = conditioning == "cross"
        self.eye = nn.Sequential(
            *(nn.Conv2d(4, 16, 3, 2, 1), nn.GELU(), nn.Conv2d(16, 32, 3, 2, 1), nn.GELU()),
            *(nn.Conv2d(32, 64, 3, 2, 1), nn.GELU(), nn.Flatten(), nn.Linear(64 * 16, width), nn.LayerNorm(width)),
        )
        self.box = nn.Sequential(nn.Linear(4, width), nn.GELU(), nn.Linear(width, width))
        self.word, self.kind = nn.Embedding(WORDS, width), nn.Embedding(3, width)
        self.place, self.slot = nn.Embedding(PLACES, width), nn.Embedding(SLOTS, width)
        self.when, self.step, self.tool = nn.Embedding(2, width), nn.Embedding(STEPS, width), nn.Embedding(TOOLS, width)
        self.deed = nn.Sequential(nn.Linear(4, width), nn.GELU(), nn.Linear(width, width))
        for table in (self.word, self.kind, self.place, self.slot, self.when, self.step, self.tool):
            nn.init.normal_(table.weight, std=0.3)
        self.reader = nn.ModuleList(Layer(width, heads, cross=False) for _ in range(prompt_layers * self.crossing))
        self.stack = nn.ModuleList(Layer(width, heads, cross=self.crossing) for _ in range(layers))
        self.last = nn.LayerNorm(width)
        self.pick, self.put = Pointer(width), Pointer(width)
        self.then = nn.Sequential(nn.Linear(2 * width, width), nn.GELU(), nn.Linear(width, width))
        self.turn = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, YAWS))
        self._read: tuple[tuple[Any, list[list[int]]], dict[str, Array]] | None = None

    # --- training -----------------------------------------------------------------------------------------------------

    @staticmethod
    def examples(demonstration: Demonstration) -> list[dict[str, Array]]:
        """One example a step: the prompt, the scene at first and now, what was done so far, and what to do."""
        prompt = _prompt_arrays(demonstration.prompt)
        frames = zip(demonstration.images[CAMERA], demonstration.segmentation[CAMERA], strict=True)
        scenes = [_scene(*frame) for frame in frames]
        action = split_components(demonstration.action_names, demonstration.action)
        moves = np.concatenate([action["pose0_position"], action["pose1_position"]], axis=1)
        quaternions = action["pose1_rotation"]
        yaws = 2 * np.arctan2(quaternions[:, 2], quaternions[:, 3])
        bins = np.round(yaws / (2 * math.pi) * YAWS).astype(np.int64) % YAWS
        return [
            {
                **_scene_arrays(scenes[0], scenes[step], moves[:step], int(demonstration.state["ee"][step, 0])),
                **prompt,
                "move": moves[step],
                "yaw": bins[step],
            }
            for step in range(min(len(scenes), STEPS))
        ]

    @staticmethod
    def collate(examples: Sequence[Mapping[str, Array]]) -> dict[str, Tensor]:
        """A batch: tokens padded to the longest row, crops one after the other."""
        batch: dict[str, Tensor] = {}
        for part in ("prompt", "scene", "done"):
            lengths = [len(example[f"{part}_{_FIRST_COLUMN[part]}"]) for example in examples]
            longest = max(lengths)
            batch[f"{part}_valid"] = torch.arange(longest)[None, :] < torch.tensor(lengths)[:, None]
            for name in [name for name in examples[0] if name.startswith(f"{part}_") and "crop" not in name]:
                batch[name] = _padded([example[name] for example in examples], longest)
            if part in _CROPS:
                crops = [example[_CROPS[part]] for example in examples]
                batch[_CROPS[part]] = torch.from_numpy(np.concatenate(crops))
                batch[f"{part}_crop"] = _rows_of_batch(
                    [example[f"{part}_crop"] for example in examples], crops, longest
                )
        for name in ("tool", "move", "yaw"):
            if name in examples[0]:
                batch[name] = torch.from_numpy(np.stack([example[name] for example in examples]))
        return batch

    def loss(self, batch: Mapping[str, Tensor]) -> tuple[Tensor, dict[str, float]]:
        """Negative log-likelihood of where the expert picked, where it placed given that, and how it turned."""
        memory = self._look(batch)
        start, end = batch["move"][:, :2], batch["move"][:, 2:]
        pick, taken = self.pick.score(memory.query, memory.now, start)
        query = self.then(torch.cat([memory.query, memory.now.chosen(taken)], -1))
        put, _ = self.put.score(query, memory.anywhere, end)
        turn = F.cross_entropy(self.turn(query), batch["yaw"])
        loss = pick.mean() + put.mean() + 0.3 * turn
        return loss, {"pick": pick.mean().item(), "put": put.mean().item(), "turn": turn.item()}

    # --- acting -------------------------------------------------------------------------------------------------------

    def reset(self, episode: Any) -> dict[str, Any]:
        return {"first": None, "moves": []}

    def act(self, observations: Sequence[Observation], states: Sequence[dict[str, Any]]) -> list[dict[str, Array]]:
        with torch.no_grad():
            moves, yaws = self.decide(self._batch(observations, states))
        actions = []
        for move, yaw, state in zip(moves.cpu().numpy(), yaws.cpu().numpy(), states, strict=True):
            state["moves"].append(move)
            actions.append(_action(move, float(yaw)))
        return actions

    def log_prob(
        self,
        observations: Sequence[Observation],
        states: Sequence[dict[str, Any]],
        actions: Sequence[Mapping[str, Array]],
    ) -> list[float]:
        """How likely moves are: where each picks, where it places given that, and how it turns."""
        batch = self._batch(observations, states)
        device = batch["tool"].device
        ends = [np.concatenate([action["pose0_position"], action["pose1_position"]]) for action in actions]
        move = torch.as_tensor(np.stack(ends)).float().to(device)
        rotations = np.stack([action["pose1_rotation"] for action in actions])
        yaws = 2 * np.arctan2(rotations[:, 2], rotations[:, 3])
        bins = torch.as_tensor(np.round(yaws / (2 * math.pi) * YAWS).astype(np.int64) % YAWS).to(device)
        with torch.no_grad():
            memory = self._look(batch)
            pick, taken = self.pick.score(memory.query, memory.now, move[:, :2])
            query = self.then(torch.cat([memory.query, memory.now.chosen(taken)], -1))
            put, _ = self.put.score(query, memory.anywhere, move[:, 2:])
            turn = F.cross_entropy(self.turn(query), bins, reduction="none")
        return [-float(each) for each in pick + put + turn]

    def _batch(self, observations: Sequence[Observation], states: Sequence[dict[str, Any]]) -> dict[str, Tensor]:
        examples = [self._example(seen, state) for seen, state in zip(observations, states, strict=True)]
        device = next(self.parameters()).device
        return {name: placed(column, device) for name, column in self.collate(examples).items()}

    def decide(self, batch: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        """The most likely pick, the most likely place for it, and the most likely turn."""
        memory = self._look(batch)
        start, taken = self.pick.choose(memory.query, memory.now)
        query = self.then(torch.cat([memory.query, memory.now.chosen(taken)], -1))
        end, _ = self.put.choose(query, memory.anywhere)
        yaw = self.turn(query).argmax(-1) * (2 * math.pi / YAWS)
        return torch.cat([start, end], -1), yaw

    def _example(self, observation: Observation, state: dict[str, Any]) -> dict[str, Array]:
        scene = _scene(observation["images"][CAMERA], observation["segmentation"][CAMERA])
        if state["first"] is None:
            state["first"] = scene
        moves = np.array(state["moves"][-STEPS + 1 :], np.float32).reshape(-1, 4)
        tool = int(observation["state"]["ee"][0])
        told = self._told(observation["prompt"], observation.get("instruction_mask", ()))
        return {**_scene_arrays(state["first"], scene, moves, tool), **told}

    def _told(self, prompt: Any, hidden: Sequence[Sequence[int]]) -> dict[str, Array]:
        """The prompt's arrays; the last one that was read is kept, since an episode shows the same one at each step."""
        key = (prompt, [list(each) for each in hidden])
        if self._read is None or self._read[0][0] is not prompt or self._read[0][1] != key[1]:
            self._read = key, _prompt_arrays(_tree(prompt), hidden)
        return self._read[1]

    # --- the network --------------------------------------------------------------------------------------------------

    def _look(self, batch: Mapping[str, Tensor]) -> Memory:
        """Attend over everything; what comes out is a query and the places one can point at."""
        prompt, told = self._prompt_tokens(batch), batch["prompt_valid"]
        scene = self._objects(batch["scene_crops"], batch["scene_crop"], batch["scene_boxes"])
        scene = scene + self.when(batch["scene_when"]) + self.slot(batch["scene_slot"])
        done = self.deed(_centred(batch["done_moves"])) + self.step(batch["done_step"])
        now = self.step(batch["done_valid"].sum(1).clamp(max=STEPS - 1)) + self.tool(batch["tool"])
        x = torch.cat([now[:, None], done, scene], 1)
        one = torch.ones_like(told[:, :1])
        here = torch.cat([one, batch["done_valid"], batch["scene_valid"]], 1)
        if self.crossing:
            for layer in self.reader:
                prompt = layer(prompt, told)
            for layer in self.stack:
                x = layer(x, here, prompt, told)
        else:
            x, everything = torch.cat([x, prompt], 1), torch.cat([here, told], 1)
            for layer in self.stack:
                x = layer(x, everything)
            x, prompt = x[:, : here.shape[1]], x[:, here.shape[1] :]
        x, prompt = self.last(x), self.last(prompt)
        objects, boxes = x[:, 1 + done.shape[1] :], batch["scene_boxes"]
        seen_now = batch["scene_valid"] & (batch["scene_when"] == NOW)
        pictured = told & (batch["prompt_kind"] == SCENE_OBJECT)
        return Memory(
            x[:, 0],
            Targets(objects, boxes[..., :2], seen_now),
            Targets(
                torch.cat([objects, prompt], 1),
                torch.cat([boxes, batch["prompt_boxes"]], 1)[..., :2],
                torch.cat([batch["scene_valid"], pictured], 1),
            ),
        )

    def _prompt_tokens(self, batch: Mapping[str, Tensor]) -> Tensor:
        kind = batch["prompt_kind"]
        shown = self._objects(batch["prompt_crops"], batch["prompt_crop"], batch["prompt_boxes"])
        token = torch.where((batch["prompt_word"] > 0)[..., None], self.word(batch["prompt_word"]), shown)
        tokens: Tensor = token + self.kind(kind) + self.place(batch["prompt_place"].clamp(max=PLACES - 1))
        return tokens

    def _objects(self, crops: Tensor, rows: Tensor, boxes: Tensor) -> Tensor:
        """Tokens of objects; row 0 of the seen is for tokens that show nothing."""
        pixels = crops.float() / 127.5 - 1
        if self.training:
            pixels = _jittered(pixels)
        seen = self.eye(pixels)
        seen = torch.cat([seen.new_zeros(1, seen.shape[-1]), seen])
        tokens: Tensor = seen[rows] + self.box(_centred_boxes(boxes))
        return tokens


class Targets:
    """What can be pointed at: tokens, their places on the table, and which of them count."""

    def __init__(self, tokens: Tensor, spots: Tensor, valid: Tensor) -> None:
        self.tokens, self.spots, self.valid = tokens, spots, valid

    def chosen(self, rows: Tensor) -> Tensor:
        return self.tokens[torch.arange(len(rows)), rows]


class Memory:
    """What the network made of an observation."""

    def __init__(self, query: Tensor, now: Targets, anywhere: Targets) -> None:
        self.query, self.now, self.anywhere = query, now, anywhere


class Pointer(nn.Module):
    """A mixture over targets: how likely each is meant, and where beside it."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.ask, self.key = nn.Linear(width, width), nn.Linear(width, width)
        self.beside = nn.Sequential(nn.Linear(2 * width, width), nn.GELU(), nn.Linear(width, 2))

    def forward(self, query: Tensor, targets: Targets) -> tuple[Tensor, Tensor]:
        """Log-probabilities (batch, targets) and spots (batch, targets, 2)."""
        scores = torch.einsum("bd,bnd->bn", self.ask(query), self.key(targets.tokens)) / query.shape[-1] ** 0.5
        scores = scores.masked_fill(~targets.valid, -1e4)
        both = torch.cat([targets.tokens, query[:, None].expand_as(targets.tokens)], -1)
        return scores.log_softmax(-1), targets.spots + REACH_M * torch.tanh(self.beside(both))

    def score(self, query: Tensor, targets: Targets, spot: Tensor) -> tuple[Tensor, Tensor]:
        """The negative log-likelihood of a spot, and the target that explains it best."""
        likely, spots = self(query, targets)
        apart = ((spots - spot[:, None]) / SPREAD_M).square().sum(-1).clamp(min=1e-8).sqrt()
        each = likely - apart
        nearest = (targets.spots - spot[:, None]).square().sum(-1).masked_fill(~targets.valid, 1e4).argmin(-1)
        return -each.logsumexp(-1), nearest

    def choose(self, query: Tensor, targets: Targets) -> tuple[Tensor, Tensor]:
        likely, spots = self(query, targets)
        best = likely.argmax(-1)
        return spots[torch.arange(len(best)), best], best


_CROPS = {"prompt": "prompt_crops", "scene": "scene_crops"}
_FIRST_COLUMN = {"prompt": "kind", "scene": "when", "done": "step"}


def _prompt_arrays(prompt: Mapping[str, Any], hidden: Sequence[Sequence[int]] = ()) -> dict[str, Array]:
    tokens = read_prompt(prompt, hidden)
    return {
        "prompt_kind": tokens.kind,
        "prompt_word": tokens.word,
        "prompt_crop": tokens.crop,
        "prompt_place": tokens.place,
        "prompt_boxes": tokens.boxes,
        "prompt_crops": tokens.crops,
    }


def _scene(rgb: Array, segmentation: Array) -> Objects:
    found = find_objects(rgb, segmentation)
    return found if found.ids else NOTHING


def _scene_arrays(first: Objects, now: Objects, moves: Array, tool: int) -> dict[str, Array]:
    """The scene now, and as it was at first once something was done; the same slot marks the same object."""
    frames = [(NOW, now)] if len(moves) == 0 else [(FIRST, first), (NOW, now)]
    slots = {number: slot % SLOTS for slot, number in enumerate(sorted({*first.ids, *now.ids}))}
    return {
        "scene_when": np.array([when for when, frame in frames for _ in frame.ids], np.int64),
        "scene_slot": np.array([slots[number] for _, frame in frames for number in frame.ids], np.int64),
        "scene_boxes": np.concatenate([frame.boxes for _, frame in frames]),
        "scene_crop": np.arange(sum(len(frame.ids) for _, frame in frames)),
        "scene_crops": np.concatenate([frame.crops for _, frame in frames]),
        "done_moves": moves.astype(np.float32),
        "done_step": np.arange(len(moves)) % STEPS,
        "tool": np.array(tool, np.int64),
    }


def _padded(arrays: Sequence[Array], length: int) -> Tensor:
    shape = (len(arrays), length, *arrays[0].shape[1:])
    padded = np.zeros(shape, arrays[0].dtype)
    for row, array in enumerate(arrays):
        padded[row, : len(array)] = array
    return torch.from_numpy(padded)


def _rows_of_batch(rows: Sequence[Array], crops: Sequence[Array], length: int) -> Tensor:
    """Where each token's crop stands among those of the whole batch, counted from 1; 0 for a token without one."""
    starts = np.cumsum([1, *(len(part) for part in crops[:-1])])
    return _padded([np.where(row < 0, 0, row + start) for row, start in zip(rows, starts, strict=True)], length)


def _jittered(pixels: Tensor) -> Tensor:
    """Brightness and tint of a whole batch drawn a little off: what is compared stays comparable."""
    gain = 1 + 0.1 * torch.randn(1, 4, 1, 1)
    gain[:, 3] = 1.0
    return pixels * gain


def _centred(moves: Tensor) -> Tensor:
    return (moves - moves.new_tensor([0.5, 0.0, 0.5, 0.0])) * moves.new_tensor([4.0, 2.0, 4.0, 2.0])


def _centred_boxes(boxes: Tensor) -> Tensor:
    return (boxes - boxes.new_tensor([0.5, 0.0, 0.08, 0.08])) * boxes.new_tensor([4.0, 2.0, 10.0, 10.0])


def _action(move: Array, yaw: float) -> dict[str, Array]:
    spots = np.clip(move.reshape(2, 2), LOW, HIGH)
    return {
        "pose0_position": spots[0],
        "pose0_rotation": np.array([0, 0, 0, 1], np.float32),
        "pose1_position": spots[1],
        "pose1_rotation": np.array([0, 0, math.sin(yaw / 2), math.cos(yaw / 2)], np.float32),
    }


def _tree(prompt: Any) -> Any:
    """In this process the prompt is an object that draws itself, from a server it is plain already."""
    return prompt.to_tree() if hasattr(prompt, "to_tree") else prompt
