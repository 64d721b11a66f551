"""What an OpenVLA-OFT folder holds besides OpenVLA's, read without its packages: heads, statistics, the robot."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TOLD = "PYTEST_VLA_OFT"  # what its authors give on the command line, and no file of the folder says
CODE = "modeling_prismatic.py"
CHUNKS = "NUM_ACTIONS_CHUNK"  # a name that OpenVLA's own code does not have


@dataclass(frozen=True, slots=True)
class Platform:
    """The numbers that its authors set for a robot (prismatic/vla/constants.py)."""

    name: str
    chunk: int
    action: int
    proprio: int
    bounds: str = "bounds_q99"


PLATFORMS = {
    each.name: each
    for each in (
        Platform("LIBERO", chunk=8, action=7, proprio=8),
        Platform("BRIDGE", chunk=5, action=7, proprio=7),
        Platform("ALOHA", chunk=25, action=14, proprio=14, bounds="bounds"),
    )
}


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A folder, and how its policy is to be asked."""

    platform: Platform
    key: str
    statistics: Mapping[str, Any]
    head: Path | None
    """The weights of the L1 head; None: actions are tokens."""
    proprio: Path | None
    images: int
    crop: bool


def is_oft(folder: Path) -> bool:
    """Whether an OpenVLA folder is one of OpenVLA-OFT."""
    if any(_component(folder, name) for name in ("action_head", "proprio_projector")):
        return True
    code = folder / CODE
    return code.is_file() and CHUNKS in code.read_text(encoding="utf-8")


def read_checkpoint(folder: Path, choose: Callable[[Iterable[str]], str | None], told: str = "") -> Checkpoint:
    """What is in a folder; ValueError that says in one line what is lacking or not supported.

    `choose` picks one of the keys of its statistics.
    """
    options = _options(told)
    found = {name: _only(folder, name) for name in ("action_head", "proprio_projector")}
    head, proprio = found["action_head"], found["proprio_projector"]
    if _component(folder, "noisy_action_projector"):
        raise ValueError(f"'{folder}' has a diffusion head: only the L1 head and tokens are supported")
    if _component(folder, "vision_backbone"):
        raise ValueError(f"'{folder}' has a vision backbone with FiLM, which is not supported")
    if proprio is not None and head is None:
        raise ValueError(f"'{folder}' has {proprio.name} and lacks its action_head--*_checkpoint.pt")
    if not (folder / CODE).is_file():
        raise ValueError(
            f"'{folder}' lacks {CODE} and configuration_prismatic.py: copy them there from prismatic/extern/hf of "
            "openvla-oft, as its own evaluation does"
        )
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    if not config.get("auto_map"):
        raise ValueError(f"config.json in '{folder}' has no auto_map, which openvla-oft's evaluation writes there")
    saved = folder / "dataset_statistics.json"
    statistics = json.loads(saved.read_text(encoding="utf-8")) if saved.is_file() else config.get("norm_stats") or {}
    key = choose(statistics)
    if key is None:
        raise ValueError(f"'{folder}' has no statistics of actions: no dataset_statistics.json, no norm_stats")
    if proprio is not None and "proprio" not in statistics[key]:
        raise ValueError(f"'{folder}' has {proprio.name}, and its statistics of {key} have none of 'proprio'")
    several = head is not None and bool(config.get("use_fused_vision_backbone"))
    return Checkpoint(
        platform=_platform(statistics[key], options.get("platform")),
        key=key,
        statistics=statistics,
        head=head,
        proprio=proprio,
        images=options.get("num_images_in_input", 2 if several else 1),
        crop=options.get("center_crop", True),
    )


def _component(folder: Path, name: str) -> list[Path]:
    """Files with the weights of a part, such as `action_head--150000_checkpoint.pt`."""
    return sorted(path for path in folder.glob(f"{name}*.pt") if "checkpoint" in path.name)


def _only(folder: Path, name: str) -> Path | None:
    paths = _component(folder, name)
    if len(paths) > 1:
        raise ValueError(f"'{folder}' has {len(paths)} files of {name}: {', '.join(path.name for path in paths)}")
    return paths[0] if paths else None


def _platform(statistics: Mapping[str, Any], named: str | None) -> Platform:
    """By the count of numbers of its actions and state; LIBERO where both fit several, as its authors do."""
    action = len(statistics["action"]["q01"])
    proprio = len((statistics.get("proprio") or {}).get("q01", ()))
    fitting = [each for each in PLATFORMS.values() if each.action == action]
    fitting.sort(key=lambda each: each.proprio != proprio)
    chosen = PLATFORMS[named] if named else next(iter(fitting), None)
    if chosen is None or chosen.action != action:
        known = ", ".join(f"{each.name} {each.action}" for each in PLATFORMS.values())
        raise ValueError(f"an action of its statistics has {action} numbers; OpenVLA-OFT knows {known}")
    return chosen


def _options(told: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for part in told.split():
        name, _, value = part.partition("=")
        if name == "num_images_in_input" and value in ("1", "2", "3"):
            found[name] = int(value)
        elif name == "center_crop" and value.lower() in ("true", "false"):
            found[name] = value.lower() == "true"
        elif name == "platform" and value.upper() in PLATFORMS:
            found[name] = value.upper()
        else:
            raise ValueError(
                f"{TOLD}: {part!r} is none of num_images_in_input=1|2|3, center_crop=True|False, "
                f"platform={'|'.join(PLATFORMS)}"
            )
    return found
