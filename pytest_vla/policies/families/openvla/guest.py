"""An OpenVLA folder as a policy: its own code, which runs because somebody trusts it; rows of one length in one call.

It runs beside the packages that code wants, and imports nothing of pytest-vla.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import torch
from hf_model import chosen_key, pictures, prompt_for, spec_of

EMPTY = 29871  # the token that stands before every action in training


class OpenVlaPolicy:
    """Greedy, as its authors evaluate it. Other models with a `predict_action` are asked row by row."""

    def __init__(self, model: Any, processor: Any, unnorm_key: str | None) -> None:
        self.model, self.processor = model, processor
        self.unnorm_key = chosen_key(getattr(model, "norm_stats", None) or {}, unnorm_key)
        self.spec = spec_of(self.unnorm_key)
        plain = {"self", "input_ids", "unnorm_key", "kwargs"}
        self.batches = set(inspect.signature(type(model).predict_action).parameters) <= plain

    def to(self, device: str) -> OpenVlaPolicy:
        self.model.to(device)
        return self

    def reset(self, episode: Any) -> None:
        return None

    @torch.no_grad()
    def act(self, observations: list[Any], states: list[Any]) -> list[Any]:
        inputs = [self._inputs(observation) for observation in observations]
        if not self.batches:
            key = self.unnorm_key
            return [np.asarray(self.model.predict_action(**row, unnorm_key=key, do_sample=False)) for row in inputs]
        actions: list[Any] = [None] * len(inputs)
        groups: dict[int, list[int]] = {}
        for place, row in enumerate(inputs):
            groups.setdefault(row["input_ids"].shape[1], []).append(place)
        for places in groups.values():
            together = {name: torch.cat([inputs[place][name] for place in places]) for name in inputs[places[0]]}
            for place, tokens in zip(places, self._generated(together), strict=True):
                actions[place] = self._action(tokens)
        return actions

    def _inputs(self, observation: Any) -> Any:
        from PIL import Image

        (picture,) = pictures(observation)
        inputs = self.processor(prompt_for(observation), Image.fromarray(picture))
        return inputs.to(self.model.device, dtype=self.model.dtype)

    def _generated(self, inputs: dict[str, Any]) -> Any:
        """The most likely tokens of rows of one length, (rows, numbers): their `generate` takes one row alone."""
        ids = inputs["input_ids"]
        if not bool((ids[:, -1] == EMPTY).all()):
            ids = torch.cat([ids, ids.new_full((len(ids), 1), EMPTY)], dim=1)
        out = self.model(
            input_ids=ids,
            attention_mask=inputs["attention_mask"],
            pixel_values=inputs["pixel_values"],
            use_cache=True,
            return_dict=True,
        )
        found = []
        for _ in range(self.model.get_action_dim(self.unnorm_key)):
            found.append(out.logits[:, -1].argmax(-1))
            out = self.model.language_model(
                input_ids=found[-1][:, None], past_key_values=out.past_key_values, use_cache=True, return_dict=True
            )
        return torch.stack(found, dim=1).cpu().numpy()

    def _action(self, tokens: Any) -> Any:
        """Tokens as numbers, by the statistics of the key."""
        model = self.model
        centres = np.clip(model.vocab_size - tokens - 1, 0, len(model.bin_centers) - 1)
        numbers = model.bin_centers[centres]
        statistics = model.get_action_stats(self.unnorm_key)
        low, high = np.array(statistics["q01"]), np.array(statistics["q99"])
        scaled = 0.5 * (numbers + 1) * (high - low) + low
        return np.where(statistics.get("mask", np.ones_like(low, dtype=bool)), scaled, numbers)


def load(folder: str, unnorm_key: str = "") -> OpenVlaPolicy:
    """The model in a folder, by the folder's own code."""
    from transformers import AutoModelForVision2Seq, AutoProcessor

    processor = AutoProcessor.from_pretrained(folder, trust_remote_code=True)
    model = AutoModelForVision2Seq.from_pretrained(
        folder, trust_remote_code=True, torch_dtype="auto", low_cpu_mem_usage=True
    )
    return OpenVlaPolicy(model.eval(), processor, unnorm_key or None)
