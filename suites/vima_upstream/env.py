"""The parent's half of an original environment: its prompt becomes one as `vima` gives it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_vla.isolate.env import IsolatedEnv

from ..vima.kit.prompt import AssetImages, Prompt, given
from ..vima.kit.scene import Look


class UpstreamEnv(IsolatedEnv):
    """The prompt comes with the first observation, and belongs to all of the episode."""

    def _observation(self) -> dict[str, Any]:
        observation = super()._observation()
        if "prompt" in observation:
            self._prompt = _prompt(observation["prompt"])
        return {**observation, "instruction": self._prompt.text, "prompt": self._prompt}


def _prompt(sent: Mapping[str, Any]) -> Prompt:
    return given(sent["text"], {name: _images(asset) for name, asset in sent["assets"].items()})


def _images(asset: Mapping[str, Any]) -> AssetImages:
    objects = {int(number): Look(shape, texture) for number, (shape, texture) in asset["objects"].items()}
    return AssetImages(asset["kind"], asset["rgb"], asset["segmentation"], objects)
