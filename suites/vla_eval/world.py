"""A benchmark class of vla-eval behind our contract. It runs in `vla_eval`, or in an environment with it."""

from __future__ import annotations

import asyncio
import hashlib
import importlib
import inspect
import json
import os
import random
import re
import sys
from typing import Any
from urllib.parse import parse_qsl

import numpy as np

STEPS = 300  # vla-eval's own limit where neither config nor class has one


class World:
    """One object of the class an entry names; without a task it only describes what there is."""

    def __init__(self, task: str, text: str, path: list[str]) -> None:
        sys.path.extend(entry for entry in path if entry not in sys.path)
        self.loop = asyncio.new_event_loop()
        self.entries = read_entries(text)
        self.benchmark: Any = None
        if task:
            self._open(task)

    def describe(self) -> list[dict[str, Any]]:
        """Every entry with its tasks, limits and specs; names are made fit for node ids, and unlike each other."""
        described: list[dict[str, Any]] = []
        for entry in self.entries:
            benchmark = make(entry)
            try:
                described.append(description(entry, benchmark, {name for e in described for name in e["tasks"]}))
            finally:
                benchmark.cleanup()
        return described

    def reset(self, seed: int, episode: dict[str, Any]) -> dict[str, Any]:
        """The class is given the number of the episode, as vla-eval does it; the seed is for generators nobody owns."""
        random.seed(seed)
        np.random.seed(seed)
        self._do(self.benchmark.start_episode({**self.task, "episode_idx": episode["index"]}))
        return self._observe()

    def step(self, action: Any) -> tuple[dict[str, Any], bool, dict[str, Any]]:
        self._do(self.benchmark.apply_action({"actions": np.asarray(action, np.float32)}))
        done = bool(self._do(self.benchmark.is_done()))
        result = self._do(self.benchmark.get_result())
        return self._observe(), done, {"success": bool(result.get("success", False))}

    def digest(self) -> str:
        """Of what can be seen: a class does not give its physical state away."""
        return self.seen

    def close(self) -> None:
        if self.benchmark is not None:
            self.benchmark.cleanup()
        self.loop.close()

    def _open(self, wanted: str) -> None:
        taken: set[str] = set()
        for entry in self.entries:
            self.benchmark = make(entry)
            tasks = tasks_of(entry, self.benchmark)
            found = {name: tasks[number] for number, name in enumerate(names_of(tasks, taken))}
            if wanted in found:
                self.task = found[wanted]
                return
            taken |= set(found)
            self.benchmark.cleanup()
        raise KeyError(wanted)

    def _do(self, coroutine: Any) -> Any:
        return self.loop.run_until_complete(coroutine)

    def _observe(self) -> dict[str, Any]:
        observation = translated(self._do(self.benchmark.get_observation()))
        text = hashlib.blake2b(digest_size=16)
        for group in ("images", "state"):
            for name, value in sorted(observation[group].items()):
                text.update(name.encode() + np.ascontiguousarray(value).tobytes())
        self.seen = text.hexdigest()
        return observation


def translated(observation: dict[str, Any]) -> dict[str, Any]:
    """Ours of theirs: `task_description` is the instruction; every array that is no picture is a state."""
    images = {str(name): picture(image) for name, image in (observation.get("images") or {}).items()}
    state = {}
    for name, value in observation.items():
        if name == "images" or isinstance(value, (str, bytes, bool)) or value is None:
            continue
        for inner, array in value.items() if isinstance(value, dict) else [(name, value)]:
            numbers = np.asarray(array)
            if numbers.dtype.kind in "fiu" and numbers.ndim <= 1:
                state[str(inner)] = np.atleast_1d(numbers).astype(np.float32)
    text = observation.get("task_description", observation.get("instruction", ""))
    return {"images": images, "state": state, "instruction": str(text)}


def picture(image: Any) -> Any:
    pixels = np.asarray(image, np.uint8)
    return np.repeat(pixels[..., :1], 3, axis=2) if pixels.shape[-1] == 1 else pixels[..., :3]


# --- entries ---------------------------------------------------------------------------------------------------------


def read_entries(text: str) -> list[dict[str, Any]]:
    """The entries of a config, read by vla-eval itself, or the one of MODULE:CLASS?NAME=VALUE."""
    plain, _, query = text.partition("?")
    given = {name: _value(value) for name, value in parse_qsl(query, keep_blank_values=True)}
    if not plain.endswith((".yaml", ".yml")):
        return [{"benchmark": plain, "name": "default", "params": given}]
    from vla_eval.cli.config_loader import load_config
    from vla_eval.config import EvalConfig

    config = load_config(plain)
    entries = []
    for data in config["benchmarks"]:
        entry = EvalConfig.from_dict(data)
        entries.append(
            {
                "benchmark": entry.benchmark,
                "name": _name(entry.resolved_name()),
                "params": {**entry.params, **given},
                "max_steps": entry.max_steps,
                "max_tasks": entry.max_tasks,
                "tasks": entry.tasks,
                "render": config.get("render"),
            }
        )
    return entries


def class_of(entry: dict[str, Any]) -> Any:
    module, _, name = entry["benchmark"].partition(":")
    return getattr(importlib.import_module(module), name)


def make(entry: dict[str, Any]) -> Any:
    """The object, with its renderer chosen first: that is bound when a simulator is imported."""
    cls = class_of(entry)
    backends = getattr(cls, "render_backends", frozenset({"gpu"}))
    wanted = entry.get("render") or ("gpu" if os.path.exists("/dev/nvidia0") else "cpu")
    if wanted in backends:
        cls.configure_render(wanted)
    params = dict(entry["params"])
    if "action_dim" not in inspect.signature(cls.__init__).parameters:
        params.pop("action_dim", None)
    return cls(**params)


def tasks_of(entry: dict[str, Any], benchmark: Any) -> list[dict[str, Any]]:
    tasks = list(benchmark.get_tasks())
    chosen = entry.get("tasks")
    if chosen:
        tasks = [task for task in tasks if task.get("suite") in chosen or task.get("name") in chosen]
    return tasks[: entry.get("max_tasks") or None]


def names_of(tasks: list[dict[str, Any]], taken: set[str]) -> list[str]:
    """A name for each task that a node id can hold and that no other task has."""
    names: list[str] = []
    for number, task in enumerate(tasks):
        name = _name(str(task.get("name", f"task_{number}")))
        while name in taken or name in names:
            name += "_"
        names.append(name)
    return names


def description(entry: dict[str, Any], benchmark: Any, taken: set[str]) -> dict[str, Any]:
    cls = type(benchmark)
    action = _specs(benchmark, "get_action_spec")
    low, high = bounds(action, entry, benchmark)
    limit = entry.get("max_steps")
    return {
        "name": entry["name"],
        "tasks": names_of(tasks_of(entry, benchmark), taken),
        "max_steps": int(limit if limit is not None else benchmark.get_metadata().get("max_steps", STEPS)),
        "seeded": "seed" in inspect.signature(cls.__init__).parameters,
        "low": low,
        "high": high,
        "action": action,
        "observation": _specs(benchmark, "get_observation_spec"),
    }


def bounds(action: dict[str, Any], entry: dict[str, Any], benchmark: Any) -> tuple[list[float], list[float]]:
    """The limits of an action, part after part as declared; NaN where there is none."""
    counts = [part["dims"] for part in action.values()]
    if not counts or not all(counts):
        count = entry["params"].get("action_dim") or benchmark.get_metadata().get("action_dim")
        if not count:
            raise ValueError(f"{entry['benchmark']} does not say how many numbers an action has: add ?action_dim=N")
        return [float("nan")] * int(count), [float("nan")] * int(count)
    low: list[float] = []
    high: list[float] = []
    for part in action.values():
        least, most = part.get("range") or (float("nan"), float("nan"))
        low += [float(least)] * part["dims"]
        high += [float(most)] * part["dims"]
    return low, high


def _specs(benchmark: Any, name: str) -> dict[str, Any]:
    try:
        return {str(key): spec.to_dict() for key, spec in getattr(benchmark, name)().items()}
    except NotImplementedError:
        return {}


def _name(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", text).strip("_") or "task"


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
