"""How a scene will look when the task is done: a small predictor of a demonstration's last frame, and its features."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from pytest_vla.policies.base import Policy, PolicySpec
from pytest_vla.train.demonstration import Demonstration

from .sentences import SIZE, sentence_features

CAMERA = "front"
PX = 32


class OutcomePredictor(nn.Module, Policy):
    """From the first frame and the instruction to the last frame, through a few numbers: those are the features.

    It is trained like a policy, by `pytest-vla train`, and acts nowhere.
    """

    spec = PolicySpec(suites=())

    def __init__(self, features: int = 128, width: int = 256) -> None:
        super().__init__()
        pixels = 3 * PX * PX
        self.encode = nn.Sequential(
            nn.Linear(pixels + SIZE, width), nn.GELU(), nn.Linear(width, width), nn.GELU(), nn.Linear(width, features)
        )
        self.decode = nn.Sequential(nn.GELU(), nn.Linear(features, width), nn.GELU(), nn.Linear(width, pixels))

    def examples(self, demonstration: Demonstration) -> Iterator[Mapping[str, Any]]:
        """One example a demonstration: how it began, what was asked for, how it ended."""
        frames = demonstration.images[CAMERA]
        (sentence,) = sentence_features([demonstration.instruction])
        yield {"first": small(frames[0]), "sentence": sentence, "last": small(frames[-1])}

    def loss(self, batch: Mapping[str, Tensor]) -> tuple[Tensor, dict[str, float]]:
        """What has changed counts: most of a frame stays as it was."""
        first, last = batch["first"].flatten(1), batch["last"].flatten(1)
        predicted = self.decode(self.encode(torch.cat([first, batch["sentence"]], dim=1)))
        loss = nn.functional.mse_loss(predicted, last - first)
        return loss, {"of the change": loss.item() / max(float(((last - first) ** 2).mean()), 1e-9)}

    def features(self, images: Sequence[NDArray[np.uint8]], sentences: NDArray[np.float32]) -> NDArray[np.float32]:
        """A vector of length 1 for each first frame and sentence."""
        first = torch.from_numpy(np.stack([small(image) for image in images])).flatten(1)
        with torch.no_grad():
            found = self.encode(torch.cat([first, torch.from_numpy(sentences)], dim=1))
        return np.asarray(nn.functional.normalize(found, dim=1).numpy(), np.float32)


def small(image: NDArray[np.uint8]) -> NDArray[np.float32]:
    """The picture in `PX` pixels each way, 0..1."""
    from PIL import Image

    shrunk = Image.fromarray(np.asarray(image)).resize((PX, PX), Image.Resampling.BOX)
    return np.asarray(shrunk, np.float32) / np.float32(255)
