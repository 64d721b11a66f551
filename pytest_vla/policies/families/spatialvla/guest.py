"""A SpatialVLA folder as a policy: its own `predict_action` and `decode_actions`; row by row, as they take one row.

Written against SpatialVLA/SpatialVLA e480753 (README.md, test/test_huggingface.py, data/dataset.py). It runs beside the
packages that code wants, and imports nothing of pytest-vla.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from hf_model import chosen_key, pictures, spec_of


class SpatialVlaPolicy:
    """Chunks of actions, as many as the folder's processor says; greedy, in bfloat16, as its authors evaluate it."""

    def __init__(self, model: Any, processor: Any, unnorm_key: str) -> None:
        self.model, self.processor = model, processor
        self.unnorm_key = chosen_key(processor.statistics, unnorm_key)
        if processor.num_obs_steps != 1:
            raise ValueError(f"this model looks at {processor.num_obs_steps} moments at once; only 1 is supported")
        self.spec = spec_of(self.unnorm_key, chunk=processor.action_chunk_size, action_size=7)

    def to(self, device: str) -> SpatialVlaPolicy:
        self.model.to(device)
        return self

    def reset(self, episode: Any) -> None:
        return None

    @torch.no_grad()
    def act(self, observations: list[Any], states: list[Any]) -> list[Any]:
        return [self._one(observation) for observation in observations]

    def _one(self, observation: Any) -> Any:
        """The instruction alone in small letters, as in training; pixels in 0..1, which the model scales itself."""
        from PIL import Image

        (picture,) = pictures(observation)
        inputs = self.processor(
            images=[Image.fromarray(picture).convert("RGB")],
            text=str(observation.get("instruction", "")).lower(),
            unnorm_key=self.unnorm_key,
            return_tensors="pt",
            do_normalize=False,
        )
        tokens = self.model.predict_action(inputs)
        return np.asarray(self.processor.decode_actions(tokens, unnorm_key=self.unnorm_key)["actions"])


def load(folder: str, unnorm_key: str = "") -> SpatialVlaPolicy:
    """The model in a folder, by the folder's own code."""
    from transformers import AutoModel, AutoProcessor

    processor = AutoProcessor.from_pretrained(folder, trust_remote_code=True)
    model = AutoModel.from_pretrained(folder, trust_remote_code=True, torch_dtype=torch.bfloat16)
    return SpatialVlaPolicy(model.eval(), processor, unnorm_key)
