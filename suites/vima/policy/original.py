"""Checkpoints of the original VIMA (`2M.ckpt` to `200M.ckpt`) as a policy: crops and boxes in, bins of an action out.

They know no words by themselves: `tokenizer.json` of T5 stands beside the checkpoint, or is fetched from the hub.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from pytest_vla.episode import EpisodeKey
from pytest_vla.policies import Policy, PolicyError, PolicySpec, SharedSource
from pytest_vla.policies.archive import check_members
from pytest_vla.policies.base import Observation
from pytest_vla.policies.digests import file_digest, text_digest

from .facts import BACKDROP, HIGH, LOW
from .original_network import ACTION_BINS, CROP_PX, VIEWS, VimaNetwork

SIZES = ("embed_dim", "xf_n_layers", "sattn_n_heads", "xattn_n_heads")
TOKENIZER = "tokenizer.json"
#: what a prompt shows instead of saying, as the original names it
SHOWN = (
    *("base_obj", "base_obj_1", "base_obj_2", "dragged_obj", *(f"dragged_obj_{n}" for n in range(1, 6)), "swept_obj"),
    *("bounds", "constraint", "scene", *(f"demo{kind}blicker_obj_{n}" for n in (1, 2, 3) for kind in ("_", "_less_"))),
    *("start_scene", "end_scene", *(f"{when}_twist_{n}" for n in (1, 2, 3) for when in ("before", "after"))),
    *(*(f"frame_{n}" for n in range(7)), "ring", "hanoi_stand"),
    *(f"{end}_scene_{n}" for n in (1, 2, 3) for end in ("start", "end")),
)


@dataclass
class Course:
    """One episode: its prompt, understood once, and what was seen and done so far."""

    prompt: torch.Tensor | None = None
    prompt_there: torch.Tensor | None = None
    seen: list[torch.Tensor] = field(default_factory=list)
    there: list[torch.Tensor] = field(default_factory=list)
    done: list[torch.Tensor] = field(default_factory=list)


class OriginalVima(Policy):
    """Row by row: prompts and histories of a batch differ in length."""

    def __init__(self, network: VimaNetwork, tokenizer: Any) -> None:
        self.network, self.tokenizer = network, tokenizer
        self.spec = PolicySpec(suites=("vima", "vima_strict", "vima_upstream"), cameras=VIEWS, prompt=True)
        self._device = "cpu"

    def to(self, device: str) -> OriginalVima:
        self.network.to(device)
        self._device = device
        return self

    def reset(self, episode: EpisodeKey) -> Course:
        return Course()

    @torch.no_grad()
    def act(self, observations: Sequence[Observation], states: Sequence[Course]) -> list[Any]:
        return [self._one(seen, course) for seen, course in zip(observations, states, strict=True)]

    def _one(self, observation: Observation, course: Course) -> dict[str, Any]:
        if course.prompt is None:
            course.prompt, course.prompt_there = self._read(observation["prompt"])
        pictures = {view: np.asarray(observation["images"][view]) for view in VIEWS}
        masks = {view: np.asarray(observation["segmentation"][view]) for view in VIEWS}
        ids = sorted({int(number) for mask in masks.values() for number in np.unique(mask)} - {*BACKDROP})
        crops, boxes, there = found(pictures, masks, ids, dict.fromkeys(VIEWS, len(ids)))
        tool = int(np.ravel(observation["state"]["ee"])[0])
        course.seen.append(self.network.see(self._tensors(crops), self._tensors(boxes), tool))
        course.there.append(torch.from_numpy(there).to(self._device))
        bins = self.network.action_decoder(self._decided(course))
        parts = continuous(bins)
        course.done.append(self.network.action_encoder(parts))
        return {name: value.cpu().numpy() for name, value in placed(parts).items()}

    def _decided(self, course: Course) -> torch.Tensor:
        """The token that stands for the next action: the last one of what is seen now."""
        most = max(len(tokens) for tokens in course.seen)
        rows: list[torch.Tensor] = []
        there: list[torch.Tensor] = []
        for step, (tokens, real) in enumerate(zip(course.seen, course.there, strict=True)):
            rows += [tokens, tokens.new_zeros(most - len(tokens), tokens.shape[1])]
            there += [real, real.new_zeros(most - len(real))]
            if step < len(course.done):
                rows.append(course.done[step][None])
                there.append(real.new_ones(1))
        assert course.prompt is not None
        assert course.prompt_there is not None
        out = self.network.xattn_gpt(torch.cat(rows)[None], torch.cat(there)[None], course.prompt, course.prompt_there)
        return out[0, -1]  # type: ignore[no-any-return]

    def _read(self, prompt: Mapping[str, Any]) -> tuple[torch.Tensor, torch.Tensor]:
        """A prompt as the T5 encoder understands it: its words, and the objects of its pictures in their place."""
        encoded = self.tokenizer.encode(prompt["text"], add_special_tokens=True)
        names = [token[1:-1] if token[1:-1] in prompt["assets"] else None for token in encoded.tokens]
        lacking = [name for name in prompt["assets"] if name not in names]
        if lacking:
            raise PolicyError(f"the tokenizer does not know {{{lacking[0]}}} of the prompt {prompt['text']!r}")
        most = dict.fromkeys(VIEWS, 0)
        pictures: dict[int, tuple[Any, Any, list[int]]] = {}
        for place, name in enumerate(names):
            if name is not None:
                asset = prompt["assets"][name]
                ids = [int(number) for number in asset["objects"]]
                rgb = {view: np.asarray(asset["rgb"][view]) for view in VIEWS}
                masks = {view: np.asarray(asset["segmentation"][view]) for view in VIEWS}
                pictures[place] = rgb, masks, ids
                most = {view: max(most[view], len(_visible(masks[view], ids))) for view in VIEWS}
        tokens: list[torch.Tensor] = []
        there: list[bool] = []
        for place, number in enumerate(encoded.ids):
            if place not in pictures:
                tokens.append(self.network.words(torch.tensor([number], device=self._device)))
                there.append(True)
                continue
            rgb, masks, ids = pictures[place]
            crops, boxes, real = found(rgb, masks, ids, most)
            tokens.append(self.network.shown(self._tensors(crops), self._tensors(boxes)))
            there += real.tolist()
        mask = torch.tensor([there], device=self._device)
        return self.network.read(torch.cat(tokens)[None], mask), mask

    def _tensors(self, arrays: Mapping[str, Any]) -> dict[str, torch.Tensor]:
        return {view: torch.from_numpy(array).to(self._device) for view, array in arrays.items()}


def found(
    pictures: Mapping[str, Any], masks: Mapping[str, Any], ids: Sequence[int], rows: Mapping[str, int]
) -> tuple[dict[str, Any], dict[str, Any], Any]:
    """Crops (rows, 3, 32, 32) and boxes (rows, 4) by view, and which are there, view after view, seen ones first."""
    crops = {view: np.zeros((rows[view], 3, CROP_PX, CROP_PX), np.uint8) for view in VIEWS}
    boxes = {view: np.zeros((rows[view], 4), np.int64) for view in VIEWS}
    there = []
    for view in VIEWS:
        visible = _visible(masks[view], ids)
        for row, (ys, xs) in enumerate(visible):
            top, bottom, left, right = ys.min(), ys.max(), xs.min(), xs.max()
            boxes[view][row] = (left + right) / 2, (top + bottom) / 2, bottom - top, right - left
            crops[view][row] = _square(pictures[view][top : bottom + 1, left : right + 1])
        there.append(np.arange(rows[view]) < len(visible))
    return crops, boxes, np.concatenate(there)


def _visible(mask: Any, ids: Sequence[int]) -> list[Any]:
    """The pixels of each object of which there is more than a point."""
    return [at for at in (np.nonzero(mask == number) for number in ids) if len(at[0]) >= 2]


def _square(crop: Any) -> Any:
    """Padded with black to a square, then as large as the network wants it; channels first."""
    import cv2

    height, width = crop.shape[:2]
    spare = abs(height - width)
    before, after = spare // 2, spare - spare // 2
    sides = ((0, 0), (before, after)) if height > width else ((before, after), (0, 0))
    square = np.pad(crop, (*sides, (0, 0)))
    return cv2.resize(np.ascontiguousarray(square), (CROP_PX, CROP_PX), interpolation=cv2.INTER_AREA).transpose(2, 0, 1)


def continuous(bins: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Bins as numbers from 0 to 1."""
    return {name: bins[name].float() / bins[name].new_tensor(ACTION_BINS[name]).float() for name in ACTION_BINS}


def placed(parts: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Numbers from 0 to 1 as places on the table and quaternions."""
    made = {}
    for name, value in parts.items():
        if name.endswith("position"):
            low, high = value.new_tensor(LOW), value.new_tensor(HIGH)
            made[name] = (value * (high - low) + low).clamp(min=low, max=high)
        else:
            made[name] = (value * 2 - 1).clamp(-1, 1)
    return made


def load(text: str) -> SharedSource:
    """What `--vla-policy=PATH.ckpt` names."""
    path = Path(text)
    tokenizer, words = tokenizer_beside(path)
    policy = OriginalVima(load_network(path), tokenizer)
    digest = f"sha256:{text_digest(file_digest(path), words)}"
    return SharedSource(text=text, digest=digest, verified=True, spec=policy.spec, policy=policy)


def load_network(path: Path) -> VimaNetwork:
    """The network of a checkpoint, which holds tensors and four numbers and nothing that could run."""
    if not path.is_file():
        raise PolicyError(f"there is no checkpoint '{path}'")
    try:
        check_members(path)
        content = torch.load(path, map_location="cpu", weights_only=True)
        config = {name: int(content["cfg"][name]) for name in SIZES}
        tensors = {name.removeprefix("policy."): tensor for name, tensor in content["state_dict"].items()}
        network = VimaNetwork(config, {name: tuple(tensor.shape) for name, tensor in tensors.items()})
        network.load_state_dict(tensors)
    except ImportError as error:
        install = 'pip install "pytest-vla[vima-original]"'
        raise PolicyError(f"'{path}' is a checkpoint of VIMA: {install} ({error})") from None
    except (pickle.UnpicklingError, RuntimeError, EOFError, OSError, ValueError, KeyError, TypeError) as error:
        why = str(error).strip().partition("\n")[0]
        raise PolicyError(f"'{path}' is no checkpoint of the original VIMA: {type(error).__name__}: {why}") from error
    return network.eval()


def tokenizer_beside(path: Path) -> tuple[Any, str]:
    """T5's tokenizer, with the names of pictures added, and its digest."""
    try:
        import cv2  # noqa: F401
        from tokenizers import AddedToken, Tokenizer
    except ImportError as error:
        install = 'pip install "pytest-vla[vima-original]"'
        raise PolicyError(f"'{path}' is a checkpoint of VIMA: {install} ({error})") from None
    file = path.parent / TOKENIZER
    try:
        tokenizer = Tokenizer.from_file(str(file)) if file.is_file() else Tokenizer.from_pretrained("t5-base")
    except Exception as error:  # whatever the hub says
        raise PolicyError(
            f"'{path}' needs the tokenizer of T5: put {TOKENIZER} of google-t5/t5-base beside it ({error})"
        ) from error
    words = text_digest(tokenizer.to_str())
    tokenizer.add_tokens([AddedToken(f"{{{name}}}", single_word=True, normalized=True) for name in SHOWN])
    return tokenizer, words
