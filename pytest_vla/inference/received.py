"""Observations as clients of either protocol send them, made into ours; `names` says how where a person did."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pytest_vla.policies.wire import renamed


def from_vla_eval(payload: dict[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """`task_description` and `states` have other names here."""
    if names:
        return renamed(payload, names)
    observation = {key: value for key, value in payload.items() if key not in ("task_description", "states")}
    observation["instruction"] = str(payload.get("task_description", payload.get("instruction", "")))
    observation.setdefault("images", {})
    state = observation.get("state", payload.get("states", {}))
    observation["state"] = state if isinstance(state, dict) else {"states": np.asarray(state)}
    return observation


def from_openpi(received: dict[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Arrays of three axes are images."""
    if names:
        return renamed(received, names)
    if isinstance(received.get("images"), dict) and isinstance(received.get("state"), dict):
        return received  # a client of ours, to whom our names were told
    observation: dict[str, Any] = {"images": {}, "state": {}, "instruction": str(received.get("prompt", ""))}
    for key, value in received.items():
        if key != "prompt":
            name = str(key).rpartition("/")[2]
            is_image = isinstance(value, np.ndarray) and value.ndim == 3
            observation["images" if is_image else "state"][name] = value
    return observation
