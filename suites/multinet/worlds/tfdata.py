"""Shards of tf.data as rows of arrays and texts. It runs in the environment `multinet_tfdata`."""

from __future__ import annotations

import os
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf

PICTURE = "\0picture"


class World:
    """Reads one shard at a time."""

    def __init__(self, task: str) -> None:
        self.folder = ""
        self.pictures: list[dict[str, Any]] = []

    def read(self, folder: str) -> list[dict[str, Any]]:
        """The steps of a shard, in the order in which they lie there; of a picture only that there is one."""
        rows = [_row(step) for step in tf.data.Dataset.load(folder).as_numpy_iterator()]
        self.folder = folder
        self.pictures = [{name: value for name, value in row.items() if np.ndim(value) > 2} for row in rows]
        return [{name: PICTURE if np.ndim(value) > 2 else value for name, value in row.items()} for row in rows]

    def picture(self, folder: str, step: int, name: str) -> Any:
        """A picture; of several frames the last one."""
        if folder != self.folder:
            self.read(folder)
        array = self.pictures[step][name]
        return array[-1] if array.ndim == 4 else array

    def digest(self) -> str:
        return ""


def _row(step: dict[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = {}
    action = step.get("action")
    if isinstance(action, dict):  # its parts one after the other, by their names, as far as they are floats
        parts = [np.asarray(action[name]).ravel() for name in sorted(action)]
        step = {**step, "action": np.concatenate([part for part in parts if part.dtype.kind == "f"])}
    for name, value in _flat(step).items():
        array = np.asarray(value)
        if array.dtype.kind in "SO" or isinstance(value, (bytes, str)):
            text = value if isinstance(value, (bytes, str)) else array.item() if array.size == 1 else b""
            row[name] = text.decode(errors="replace") if isinstance(text, bytes) else str(text)
        elif array.ndim == 0:
            row[name] = array.item()
        elif array.dtype.kind in "biuf":
            row[name] = np.ascontiguousarray(array)
    return row


def _flat(step: dict[str, Any], inside: str = "") -> dict[str, Any]:
    """Nested observations under their own names; of a name that comes twice the outer one stays."""
    found: dict[str, Any] = {}
    for name, value in step.items():
        if isinstance(value, dict):
            for inner, one in _flat(value, name).items():
                found.setdefault(inner, one)
        else:
            found[name] = value
    return found
