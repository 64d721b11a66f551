"""Hugging Face folders: in the style of OpenVLA an image and a sentence in, one action out; others answer in words."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from pytest_vla.policies.base import Observation, Policy, PolicyError, PolicySpec
from pytest_vla.policies.conventions import Conventions, Normalisation
from pytest_vla.policies.families.openvla_oft.oft_folder import TOLD, is_oft, read_checkpoint
from pytest_vla.policies.families.shared.hf_model import KEY, chosen_key, prompt_for
from pytest_vla.policies.lerobot import read_config
from pytest_vla.policies.trust import ask_for
from pytest_vla.policies.vision_language import VisionLanguagePolicy, vision_language

TRUST = "PYTEST_VLA_TRUST_REMOTE_CODE"
UNNORM_KEY = KEY
OPENVLA = "OpenVLA's code loads with transformers 4.40.1 and timm 0.9.10 only: pytest-vla install openvla"
AUTO_CLASSES = ("AutoModelForVision2Seq", "AutoModelForImageTextToText")  # before transformers 5, and since


class HuggingFacePolicy(Policy):
    """Calls `predict_action` of the model, row by row: its generation is not batched."""

    def __init__(self, model: Any, processor: Any, unnorm_key: str | None) -> None:
        self.model, self.processor, self.unnorm_key = model, processor, unnorm_key
        said = Conventions(normalisation=Normalisation("quantile", done=unnorm_key)) if unnorm_key else Conventions()
        self.spec = PolicySpec(outputs=("continuous_action",), conventions=said)

    def to(self, device: str) -> HuggingFacePolicy:
        self.model.to(device)
        return self

    def act(self, observations: Sequence[Observation], states: Sequence[Any]) -> list[Any]:
        return [self._one(observation) for observation in observations]

    def _one(self, observation: Observation) -> Any:
        from PIL import Image

        images = observation.get("images", {})
        if not images:
            raise PolicyError("this policy needs a camera image, and the observation has none")
        inputs = self.processor(prompt_for(observation), Image.fromarray(next(iter(images.values()))))
        inputs = inputs.to(self.model.device, dtype=self.model.dtype)
        return np.asarray(self.model.predict_action(**inputs, unnorm_key=self.unnorm_key, do_sample=False))


def load_folder(folder: Path) -> HuggingFacePolicy | VisionLanguagePolicy:
    """The model in a folder. Such folders bring Python code of their own, which runs only when told so."""
    config = read_config(folder)
    own_code = check_trust(folder)
    try:
        import transformers
    except ImportError:
        install = 'pip install "pytest-vla[huggingface]"'
        raise PolicyError(f"'{folder}' is a Hugging Face model: {install}") from None
    try:
        processor = transformers.AutoProcessor.from_pretrained(folder, trust_remote_code=own_code)
        model = _load_model(config.get("auto_map") or {}, folder)
    except Exception as error:
        how = f"; {OPENVLA}" if family_of(folder) == "openvla" else ""
        raise PolicyError(f"transformers cannot load '{folder}': {type(error).__name__}: {error}{how}") from error
    model.eval()
    if not callable(getattr(model, "predict_action", None)):
        return vision_language(model, processor, folder)
    return HuggingFacePolicy(model, processor, os.environ.get(UNNORM_KEY))


def check_trust(folder: Path) -> bool:
    """Whether a folder brings Python code; PolicyError where it does and nobody trusts it."""
    own_code = bool(read_config(folder).get("auto_map") or family_of(folder))
    if own_code and os.environ.get(TRUST) != "1":
        ask_for(folder.name, f"'{folder}' brings Python code of its own; {TRUST}=1 in the environment lets it run too")
    return own_code


def family_of(folder: Path) -> str:
    """The family of models that need an environment of their own; empty for others."""
    kind = read_config(folder).get("model_type")
    if kind == "openvla":  # what was made of OpenVLA names the same kind of model
        return "openvla_oft" if is_oft(folder) else "openvla"
    return "spatialvla" if kind == "spatialvla" else ""


def check_family_folder(folder: Path, family: str) -> tuple[str, ...]:
    """What its guest is told besides the folder; PolicyError in one line where that does not fit what is there."""
    choose = partial(chosen_key, key=os.environ.get(UNNORM_KEY))
    told = (TOLD,) if family == "openvla_oft" else ()
    try:
        if family == "openvla_oft":
            read_checkpoint(folder, choose, os.environ.get(TOLD, ""))
        else:
            choose(_statistics(folder))
    except ValueError as error:
        raise PolicyError(str(error)) from None
    return tuple(os.environ.get(name, "") for name in (UNNORM_KEY, *told))


def _statistics(folder: Path) -> dict[str, Any]:
    """Those of actions, by key: OpenVLA's are in the model's configuration, SpatialVLA's in the processor's."""
    processor = folder / "processor_config.json"
    more = json.loads(processor.read_text(encoding="utf-8")) if processor.is_file() else {}
    return dict(read_config(folder).get("norm_stats") or more.get("statistics") or {})


def _load_model(own_classes: dict[str, str], folder: Path) -> Any:
    """By the class that the folder's own code has for such models, or by transformers' own."""
    import transformers
    from transformers.dynamic_module_utils import get_class_from_dynamic_module

    for name in AUTO_CLASSES:
        if name in own_classes:
            own = get_class_from_dynamic_module(own_classes[name], folder)
            return own.from_pretrained(folder, torch_dtype="auto")
    found = (getattr(transformers, name, None) for name in reversed(AUTO_CLASSES))
    auto = next(auto for auto in found if auto is not None)
    return auto.from_pretrained(folder, trust_remote_code=bool(own_classes), torch_dtype="auto")
