"""Hugging Face vision-language folders (PaliGemma, Qwen-VL and their like): a picture and words in, words out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pytest_vla.policies.base import Observation, Policy, PolicyError, PolicySpec
from pytest_vla.policies.chat import parse_action, without_thoughts

NEW_TOKENS = 256
BLANK_PX = 224  # of the black picture that such a model gets where there is none
#: What can be said in words: all of it, as far as the model has learned to.
OUTPUTS = ("text", "option", "function_call", "discrete_action", "continuous_action")


class VisionLanguagePolicy(Policy):
    """Generates greedily, row by row: prompts of a batch differ in length and in pictures."""

    unnorm_key = None

    def __init__(self, model: Any, processor: Any) -> None:
        self.model, self.processor = model, processor
        self.spec = PolicySpec(outputs=OUTPUTS, space=True)

    def to(self, device: str) -> VisionLanguagePolicy:
        self.model.to(device)
        return self

    def act(self, observations: Sequence[Observation], states: Sequence[Any]) -> list[Any]:
        return [self._one(observation) for observation in observations]

    def _one(self, observation: Observation) -> Any:
        import torch
        from PIL import Image

        pictures = [Image.fromarray(np.asarray(image, np.uint8)) for image in dict(observation["images"]).values()]
        picture = pictures[0] if pictures else Image.new("RGB", (BLANK_PX, BLANK_PX))
        text = str(observation.get("instruction", ""))
        if observation.get("space"):
            text = f"{text}\nYour answer is {observation['space']}."
        inputs = self._inputs(text, picture).to(self.model.device)
        with torch.no_grad():
            tokens = self.model.generate(**inputs, max_new_tokens=NEW_TOKENS, do_sample=False)
        said = self.processor.batch_decode(tokens[:, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
        answer = without_thoughts(said[0])
        return answer if observation.get("asks") else parse_action(answer)

    def _inputs(self, text: str, picture: Any) -> Any:
        """As a conversation where the folder has a template for one, else the picture's mark and the words."""
        if getattr(self.processor, "chat_template", None):
            parts = [{"type": "image", "image": picture}, {"type": "text", "text": text}]
            return self.processor.apply_chat_template(
                [{"role": "user", "content": parts}],
                add_generation_prompt=True,
                tokenize=True,
                return_dict=True,
                return_tensors="pt",
            )
        mark = getattr(self.processor, "image_token", None) or "<image>"
        inputs = self.processor(text=f"{mark}{text}", images=picture, return_tensors="pt")
        inputs.pop("labels", None)
        return inputs


def vision_language(model: Any, processor: Any, folder: Any) -> VisionLanguagePolicy:
    """The policy of a model that generates; PolicyError for one that does not."""
    if not callable(getattr(model, "generate", None)) or not hasattr(processor, "batch_decode"):
        raise PolicyError(
            f"the model in '{folder}' has no predict_action() and no generate(); wrap it in a MODULE:FACTORY instead"
        )
    return VisionLanguagePolicy(model, processor)
