"""An OpenVLA-OFT folder as a policy: its own `predict_action`, with the action head that lies beside it; row by row.

Written against moojink/openvla-oft 213c5ff (`experiments/robot/openvla_utils.py`) and its fork of transformers 4.40.1
(moojink/transformers-openvla-oft bc339d9). It runs beside the packages that code wants, and imports nothing of
pytest-vla.
"""

from __future__ import annotations

import sys
from enum import Enum
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch
from hf_model import chosen_key, pictures, prompt_for, spec_of
from oft_folder import TOLD, Checkpoint, Platform, read_checkpoint
from torch.nn import functional
from torch.overrides import TorchFunctionMode

SIDE = 224  # pixels of the pictures it was trained on
CROP_AREA = 0.9
IGNORED, FIRST_ACTION, STOP = -100, 31743, 2  # tokens: of no label, before those of actions, of the end


class OpenVlaOftPolicy:
    """Chunks of actions, each of one pass: by the L1 head where the folder has one, otherwise by tokens."""

    def __init__(self, model: Any, processor: Any, checkpoint: Checkpoint) -> None:
        self.model, self.processor, self.checkpoint = model, processor, checkpoint
        platform = checkpoint.platform
        self.head = Head(_weights(checkpoint.head), platform.chunk) if checkpoint.head else None
        self.proprio = Projector(_weights(checkpoint.proprio)) if checkpoint.proprio else None
        self.spec = spec_of(
            checkpoint.key,
            "min_max" if platform.bounds == "bounds" else "quantile",
            chunk=platform.chunk,
            horizon=platform.chunk,
            state=self.proprio is not None,
            state_size=len(_bounds(self._statistics, platform)[0]) if self.proprio is not None else 0,
            action_size=platform.action,
        )

    @property
    def _statistics(self) -> Any:
        return self.checkpoint.statistics[self.checkpoint.key].get("proprio")

    def to(self, device: str) -> OpenVlaOftPolicy:
        for part in (self.model, self.head, self.proprio):
            if part is not None:
                part.to(device)
        return self

    def reset(self, episode: Any) -> None:
        return None

    @torch.no_grad()
    def act(self, observations: list[Any], states: list[Any]) -> list[Any]:
        return [self._one(observation) for observation in observations]

    def _one(self, observation: Any) -> Any:
        more: dict[str, Any] = {}
        if self.head is not None:
            more = {"action_head": self.head, "proprio_projector": self.proprio, "proprio": self._state(observation)}
        with Bidirectional():
            actions, _ = self.model.predict_action(
                **self._inputs(observation), unnorm_key=self.checkpoint.key, do_sample=False, **more
            )
        return np.asarray(actions)

    def _inputs(self, observation: Any) -> Any:
        from PIL import Image

        count, text = self.checkpoint.images, prompt_for(observation)
        seen = pictures(observation, count, f" ({TOLD}=num_images_in_input={count})")
        inputs, *others = (
            self.processor(text, Image.fromarray(prepared(picture, self.checkpoint.crop))).to(
                self.model.device, dtype=torch.bfloat16
            )
            for picture in seen
        )
        if others:
            views = [inputs["pixel_values"], *(each["pixel_values"] for each in others)]
            inputs["pixel_values"] = torch.cat(views, dim=1)
        return inputs

    def _state(self, observation: Any) -> Any:
        """The numbers of the state, one after the other, scaled to -1..1."""
        if self.proprio is None:
            return None
        values = np.concatenate([np.ravel(value) for value in observation["state"].values()])
        low, high = _bounds(self._statistics, self.checkpoint.platform)
        if values.shape != low.shape:
            raise ValueError(f"the state has {len(values)} numbers, the policy {len(low)}")
        mask = self._statistics.get("mask", np.ones_like(low, dtype=bool))
        return np.clip(np.where(mask, 2 * (values - low) / (high - low + 1e-8) - 1, values), -1.0, 1.0)


class Head(torch.nn.Module):
    """The L1 head: the hidden states of all numbers of an action in, the action out."""

    def __init__(self, weights: dict[str, Any], chunk: int) -> None:
        super().__init__()
        self.chunk = chunk
        self.weights = _parameters(weights)
        self.blocks = len({name.split(".")[2] for name in weights if ".mlp_resnet_blocks." in name})

    def predict_action(self, hidden: Any) -> Any:
        return self(hidden.reshape(hidden.shape[0], self.chunk, -1))

    def forward(self, x: Any) -> Any:
        x = functional.relu(self._linear("model.fc1", self._norm("model.layer_norm1", x)))
        for number in range(self.blocks):
            at = f"model.mlp_resnet_blocks.{number}.ffn"
            x = functional.relu(self._linear(f"{at}.1", self._norm(f"{at}.0", x))) + x
        return self._linear("model.fc2", self._norm("model.layer_norm2", x))

    def _linear(self, name: str, x: Any) -> Any:
        return functional.linear(x, *_pair(self.weights, name))

    def _norm(self, name: str, x: Any) -> Any:
        weight, bias = _pair(self.weights, name)
        return functional.layer_norm(x, weight.shape, weight, bias)


class Projector(torch.nn.Module):
    """The state as one token."""

    def __init__(self, weights: dict[str, Any]) -> None:
        super().__init__()
        self.weights = _parameters(weights)

    def forward(self, x: Any) -> Any:
        x = functional.gelu(functional.linear(x, *_pair(self.weights, "fc1")))
        return functional.linear(x, *_pair(self.weights, "fc2"))


class Scaling(Enum):
    """How numbers become -1..1; the code in the folders compares with it by name."""

    NORMAL = "normal"
    BOUNDS = "bounds"
    BOUNDS_Q99 = "bounds_q99"


class Bidirectional(TorchFunctionMode):
    """Every token attends to all that are no padding: what OFT's fork of transformers changes in Llama's attention."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if func is functional.scaled_dot_product_attention:
            kwargs["is_causal"] = False
            mask = kwargs.get("attn_mask")
            if mask is not None:  # the last token sees all; so does every other
                kwargs["attn_mask"] = mask[:, :, -1:, :].expand(-1, -1, mask.shape[-1], -1)
        return func(*args, **kwargs)


def prepared(picture: Any, crop: bool) -> Any:
    """A picture as those of the training data: through JPEG to 224 pixels, then the middle of it at that size again."""
    import tensorflow as tf

    tf.config.set_visible_devices([], "GPU")  # which are the model's
    if picture.shape != (SIDE, SIDE, 3):
        plain = tf.io.decode_image(tf.image.encode_jpeg(picture), expand_animations=False, dtype=tf.uint8)
        sized = tf.image.resize(plain, (SIDE, SIDE), method="lanczos3", antialias=True)
        picture = tf.cast(tf.clip_by_value(tf.round(sized), 0, 255), tf.uint8).numpy()
    if crop:
        share = tf.sqrt(CROP_AREA)
        edge = (1 - share) / 2
        box = tf.stack([edge, edge, edge + share, edge + share])[None]
        light = tf.image.convert_image_dtype(picture, tf.float32)[None]
        middle = tf.clip_by_value(tf.image.crop_and_resize(light, box, [0], (SIDE, SIDE))[0], 0, 1)
        picture = tf.image.convert_image_dtype(middle, tf.uint8, saturate=True).numpy()
    return picture


def stand_in(platform: Platform) -> None:
    """The two modules of OFT's own package that the code in its folders imports; the package itself is on no index."""
    constants = {
        "ACTION_DIM": platform.action,
        "NUM_ACTIONS_CHUNK": platform.chunk,
        "PROPRIO_DIM": platform.proprio,
        "ACTION_PROPRIO_NORMALIZATION_TYPE": Scaling(platform.bounds),
        "NormalizationType": Scaling,
        "IGNORE_INDEX": IGNORED,
        "ACTION_TOKEN_BEGIN_IDX": FIRST_ACTION,
        "STOP_INDEX": STOP,
    }

    def numbered(tokens: Any) -> tuple[Any, Any]:
        """Which tokens are of actions, and how many labels there are up to each."""
        return tokens > FIRST_ACTION, torch.cumsum(tokens != IGNORED, dim=1)

    def current(tokens: Any) -> Any:
        of_actions, count = numbered(tokens)
        return of_actions & (count >= 1) & (count <= platform.action)

    def following(tokens: Any) -> Any:
        of_actions, count = numbered(tokens)
        return of_actions & (count > platform.action)

    masks = {"get_current_action_mask": current, "get_next_actions_mask": following}
    parts: dict[str, dict[str, Any]] = {
        "prismatic": {},
        "prismatic.vla": {},
        "prismatic.training": {},
        "prismatic.vla.constants": constants,
        "prismatic.training.train_utils": masks,
    }
    for name, content in parts.items():
        module = sys.modules[name] = ModuleType(name)
        module.__path__ = []
        vars(module).update(content)


def load(folder: str, unnorm_key: str = "", told: str = "") -> OpenVlaOftPolicy:
    """The model in a folder, by the folder's own code."""
    checkpoint = read_checkpoint(Path(folder), partial(chosen_key, key=unnorm_key), told)
    stand_in(checkpoint.platform)
    from transformers import AutoModelForVision2Seq, AutoProcessor

    processor = AutoProcessor.from_pretrained(folder, trust_remote_code=True)
    model = AutoModelForVision2Seq.from_pretrained(
        folder, trust_remote_code=True, torch_dtype=torch.bfloat16, low_cpu_mem_usage=True
    )
    model.norm_stats = checkpoint.statistics
    model.vision_backbone.set_num_images_in_input(checkpoint.images)
    return OpenVlaOftPolicy(model.eval(), processor, checkpoint)


def _bounds(statistics: Any, platform: Platform) -> tuple[Any, Any]:
    low, high = ("min", "max") if platform.bounds == "bounds" else ("q01", "q99")
    return np.array(statistics[low]), np.array(statistics[high])


def _weights(path: Path) -> dict[str, Any]:
    """The tensors in a file; those of a distributed training have a prefix."""
    loaded = torch.load(path, map_location="cpu", weights_only=True)
    return {name.removeprefix("module."): value.to(torch.bfloat16) for name, value in loaded.items()}


def _parameters(weights: dict[str, Any]) -> Any:
    """A name of torch's own has no dots in it."""
    made = {name.replace(".", "/"): torch.nn.Parameter(value, requires_grad=False) for name, value in weights.items()}
    return torch.nn.ParameterDict(made)


def _pair(weights: Any, name: str) -> tuple[Any, Any]:
    at = name.replace(".", "/")
    return weights[f"{at}/weight"], weights[f"{at}/bias"]
