"""LeRobot pretrained folders: `config.json`, `model.safetensors` and the processors saved beside them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pytest_vla.policies.base import PolicyError
from pytest_vla.policies.guests import GuestPolicy
from pytest_vla.policies.trust import ask_for


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


def check_folder(folder: Path) -> None:
    """What must hold before anything of a folder is loaded, wherever that is."""
    if not (folder / "model.safetensors").is_file():
        raise PolicyError(f"'{folder}' has no model.safetensors")
    _check_processors(folder)


def load_folder(folder: Path) -> GuestPolicy:
    """The policy in a LeRobot folder, with its own normalisation, beside a LeRobot in this interpreter."""
    check_folder(folder)
    try:
        import lerobot.configs.policies
        import lerobot.policies.factory  # noqa: F401
    except ImportError as error:
        how = "pytest-vla install lerobot brings it into an environment of its own, pip install lerobot into this one"
        raise PolicyError(f"'{folder}' is a LeRobot policy: {how} ({error})") from None
    from pytest_vla.policies.families.lerobot.guest import load

    try:
        return GuestPolicy(load(str(folder)))
    except Exception as error:
        raise PolicyError(f"LeRobot cannot load '{folder}': {type(error).__name__}: {error}") from error


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
