"""LeRobot pretrained folders: `config.json`, `model.safetensors` and the processors saved beside them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pytest_vla.policies.base import Observation, Policy, PolicyError, PolicySpec, pixels
from pytest_vla.policies.trust import ask_for

IMAGE_PREFIX = "observation.images."
STATE = "observation.state"


def is_lerobot(folder: Path) -> bool:
    """LeRobot's config names its policy in `type` and its inputs in `input_features`."""
    config = read_config(folder)
    return "type" in config and "input_features" in config


def read_config(folder: Path) -> dict[str, Any]:
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise PolicyError(f"'{folder}/config.json' cannot be read: {error}") from None
    if not isinstance(config, dict):
        raise PolicyError(f"'{folder}/config.json' is not a map")
    return config


class LeRobotPolicy(Policy):
    """Asks for whole chunks, which need no memory between calls: LeRobot's own `select_action` keeps one queue for all.

    `model`, `before` and `after` are LeRobot's policy and its pre- and postprocessor.
    """

    def __init__(self, model: Any, before: Any, after: Any, spec: PolicySpec) -> None:
        self.model, self.before, self.after, self.spec = model, before, after, spec
        self._device = "cpu"

    def to(self, device: str) -> LeRobotPolicy:
        self.model.to(device)
        self._device = device
        return self

    def act(self, observations: Sequence[Observation], states: Sequence[Any]) -> list[Any]:
        batch = self.before(self._batch(observations))
        chunk = self.model.predict_action_chunk(batch)
        rows = [self.after(chunk[:, step]) for step in range(chunk.shape[1])]
        actions = np.stack([row.detach().cpu().numpy() for row in rows], axis=1)
        return list(actions if self.spec.chunk > 1 else actions[:, 0])

    def _batch(self, observations: Sequence[Observation]) -> dict[str, Any]:
        import torch

        batch: dict[str, Any] = {"task": [str(o.get("instruction", "")) for o in observations]}
        for camera in self.spec.cameras:
            frames = np.stack([o["images"][camera] for o in observations])
            declared = self.spec.image_sizes.get(camera)
            if declared is not None and frames.shape[1:3] != tuple(declared):
                raise PolicyError(
                    f"camera '{camera}' gives {pixels(frames.shape[1:3])}, the policy takes {pixels(declared)}"
                )
            images = torch.from_numpy(frames).to(self._device)
            batch[IMAGE_PREFIX + camera] = images.permute(0, 3, 1, 2).float() / 255
        if self.spec.state:
            rows = [np.concatenate([np.ravel(value) for value in o["state"].values()]) for o in observations]
            batch[STATE] = torch.from_numpy(np.stack(rows).astype(np.float32)).to(self._device)
        return batch


def load_folder(folder: Path) -> LeRobotPolicy:
    """The policy in a LeRobot folder, with its own normalisation."""
    if not (folder / "model.safetensors").is_file():
        raise PolicyError(f"'{folder}' has no model.safetensors")
    try:
        from lerobot.configs.policies import PreTrainedConfig
        from lerobot.policies.factory import get_policy_class, make_pre_post_processors
    except ImportError as error:
        raise PolicyError(f"'{folder}' is a LeRobot policy: pip install lerobot ({error})") from None
    _check_processors(folder)
    try:
        config = PreTrainedConfig.from_pretrained(folder)
        model = get_policy_class(config.type).from_pretrained(folder, config=config)
        model.eval()
        before, after = make_pre_post_processors(config, str(folder))
    except Exception as error:
        raise PolicyError(f"LeRobot cannot load '{folder}': {type(error).__name__}: {error}") from error
    return LeRobotPolicy(model, before, after, spec_of(read_config(folder)))


def _check_processors(folder: Path) -> None:
    """A step by a name of LeRobot's own registry is data; one by `class` is any callable that can be imported."""
    for file in sorted(folder.glob("*processor*.json")):
        try:
            steps = json.loads(file.read_text(encoding="utf-8"))["steps"]
            classes = [step["class"] for step in steps if "class" in step]
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise PolicyError(f"'{file}' cannot be read: {error}") from None
        if classes:
            ask_for(folder.name, f"'{file}' would import and call {', '.join(map(str, classes))}")


def spec_of(config: dict[str, Any]) -> PolicySpec:
    """Cameras, state and chunk as LeRobot's config declares them."""
    features = config["input_features"]
    cameras = tuple(name.removeprefix(IMAGE_PREFIX) for name in features if name.startswith(IMAGE_PREFIX))
    chunk = int(config.get("chunk_size") or config.get("horizon") or 1)
    horizon = int(config["n_action_steps"]) if config.get("n_action_steps") else None
    sizes = {camera: _size(features[IMAGE_PREFIX + camera]) for camera in cameras}
    return PolicySpec(
        cameras=cameras,
        state=STATE in features,
        chunk=chunk,
        horizon=horizon,
        image_sizes={camera: size for camera, size in sizes.items() if size is not None},
    )


def _size(feature: Any) -> tuple[int, int] | None:
    """Height and width as a feature declares them: (channels, height, width)."""
    match feature:
        case {"shape": [int(), int(height), int(width)]}:
            return height, width
    return None
