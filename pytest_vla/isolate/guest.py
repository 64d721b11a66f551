"""A policy in an interpreter of its own: the child's half. It is opened like a world, and imports nothing of ours.

What MODULE:FACTORY returns needs `act(observations, states)`, and may have `reset(episode)`, `spec` (a dict of what
`PolicySpec` has) and `digest()`: the contract of policies, without a class to inherit from.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import sys
from types import SimpleNamespace
from typing import Any


class World:
    """One policy object, and the states of the episodes that it plays; they never leave this process."""

    def __init__(self, task: str, path: list[str], arguments: list[str] | None = None) -> None:
        """`task` is MODULE:FACTORY, and `path` where the module may be besides the environment's own packages."""
        sys.path.extend(entry for entry in path if entry not in sys.path)
        module, _, name = task.partition(":")
        self.factory = getattr(importlib.import_module(module), name)
        self.policy = self.factory(*(arguments or []))
        if not callable(getattr(self.policy, "act", None)):
            raise TypeError(f"{task} returned a {type(self.policy).__name__}, which has no act(observations, states)")
        self.states: dict[int, Any] = {}

    def describe(self) -> dict[str, Any]:
        """What is known of the policy: its spec, its own digest where it has one, and that of its source."""
        spec = getattr(self.policy, "spec", None) or {}
        spec = spec.to_dict() if hasattr(spec, "to_dict") else dict(spec)
        tell = getattr(self.policy, "digest", None)
        return {"spec": spec, "digest": tell() if callable(tell) else None, "source": _source(self.factory)}

    def begin(self, number: int, episode: dict[str, Any], over: list[int]) -> None:
        """A new episode, under a number; `over` are those whose states nobody needs any more."""
        self.forget(over)
        reset = getattr(self.policy, "reset", None)
        self.states[number] = reset(SimpleNamespace(**episode)) if callable(reset) else None

    def act(self, observations: list[Any], numbers: list[int], over: list[int]) -> list[Any]:
        self.forget(over)
        return list(self.policy.act(observations, [self.states[number] for number in numbers]))

    def to(self, device: str) -> None:
        """Where the model computes; a policy without `to` computes where it likes."""
        move = getattr(self.policy, "to", None)
        if callable(move):
            move(device)

    def forget(self, numbers: list[int]) -> None:
        for number in numbers:
            self.states.pop(number, None)


def _source(factory: Any) -> str:
    try:
        path = inspect.getsourcefile(factory)
    except TypeError:
        path = None
    if not path:
        return ""
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()
