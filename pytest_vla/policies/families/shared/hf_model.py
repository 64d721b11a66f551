"""What guests of Hugging Face folders that act have in common: the key of the statistics, pictures, the prompt."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

PROMPT = "In: What action should the robot take to {instruction}?\nOut:"
KEY = "PYTEST_VLA_UNNORM_KEY"


def chosen_key(keys: Iterable[str], key: str | None) -> str | None:
    """The key of the statistics that actions are scaled by: the one asked for, or the only one there is."""
    there = sorted(keys)
    if not key and len(there) == 1:
        return there[0]
    if there and key not in there:
        raise ValueError(f"{KEY}={key or ''} names no statistics; there are {', '.join(there)}")
    return key or None


def spec_of(key: str | None, method: str = "quantile", **more: Any) -> dict[str, Any]:
    """What a guest's policy says of itself; the key is in it, and so in the run file and in the digest."""
    spec: dict[str, Any] = {"outputs": ["continuous_action"], **more}
    if key is not None:
        spec["conventions"] = {"normalisation": {"method": method, "done": key}}
    return spec


def prompt_for(observation: Any) -> str:
    """OpenVLA's question about an instruction, unless a preset has asked it already."""
    text = str(observation.get("instruction", ""))
    if text.startswith(PROMPT.partition("{")[0]):
        return text
    return PROMPT.format(instruction=text.lower().rstrip("."))


def pictures(observation: Any, count: int = 1, why: str = "") -> list[Any]:
    """The first pictures of an observation, as arrays."""
    import numpy as np

    images = observation.get("images") or {}
    if not images:
        raise ValueError("this policy needs a camera image, and the observation has none")
    if len(images) < count:
        raise ValueError(f"this policy takes {count} camera images{why}, and the observation has {len(images)}")
    return [np.asarray(images[name]) for name in list(images)[:count]]
