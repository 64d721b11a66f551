"""A policy in an interpreter of its own: the child's half. It is opened like a world, and imports nothing of ours.

What MODULE:FACTORY returns needs `act(observations, states)`, and may have `reset(episode)`, `spec` (a dict of what
`PolicySpec` has) and `digest()`: the contract of policies, without a class to inherit from.
"""

from __future__ import annotations

import copy
import hashlib
import importlib
import importlib.util
import inspect
import sys
from contextlib import ExitStack
from pathlib import Path
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
        self.undo = ExitStack()

    def describe(self) -> dict[str, Any]:
        """What is known of the policy: its spec, its own digest where it has one, and that of its source."""
        spec = getattr(self.policy, "spec", None) or {}
        spec = spec.to_dict() if hasattr(spec, "to_dict") else dict(spec)
        tell = getattr(self.policy, "digest", None)
        return {
            "spec": spec,
            "digest": tell() if callable(tell) else None,
            "source": _source(self.factory),
            "log_prob": callable(getattr(self.policy, "log_prob", None)),
            "masks_text": bool(getattr(self.policy, "masks_text", False)),
            "parameters": _parameters(self.policy),
        }

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

    def compute(self, file: str, dtype: str | None, compiled: bool, device: str) -> None:
        """In which precision the model computes, by the code in a file."""
        code = _code(file)
        code.set_up(self.policy, code.Compute(dtype, compiled), device)

    def fork(self, number: int, new: int, over: list[int]) -> None:
        """Another episode that has come as far as this one."""
        self.forget(over)
        self.states[new] = copy.deepcopy(self.states[number])

    def log_prob(self, observations: list[Any], numbers: list[int], actions: list[Any], over: list[int]) -> list[float]:
        self.forget(over)
        scores = self.policy.log_prob(observations, [self.states[number] for number in numbers], actions)
        return [float(score) for score in scores]

    def units(
        self, file: str, clean: Any, corrupted: Any, number: int, named: list[str], over: list[int]
    ) -> dict[str, Any]:
        """Activation patching of this policy's own modules, by the code in a file."""
        self.forget(over)
        state = self.states[number]
        found: dict[str, Any] = _code(file).restored_in(self.policy, clean, corrupted, state, tuple(named))
        return found

    def shuffle(self, file: str, seed: int) -> None:
        """The weights in a random order, by the code in a file, until `unshuffle`."""
        units = _code(file)
        self.undo.enter_context(units.shuffled(units.torch_modules(self.policy), seed))

    def unshuffle(self) -> None:
        self.undo.close()

    def forget(self, numbers: list[int]) -> None:
        for number in numbers:
            self.states.pop(number, None)


def _code(file: str) -> Any:
    name = f"pytest_vla_{Path(file).stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _parameters(policy: Any) -> int:
    """Of the networks in a policy; torch is never imported for it."""
    torch = sys.modules.get("torch")
    if torch is None:
        return 0
    parts = [policy] if isinstance(policy, torch.nn.Module) else list(getattr(policy, "__dict__", {}).values())
    networks = [part for part in parts if isinstance(part, torch.nn.Module)]
    return sum(each.numel() for network in networks for each in network.parameters())


def _source(factory: Any) -> str:
    try:
        path = inspect.getsourcefile(factory)
    except TypeError:
        path = None
    if not path:
        return ""
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()
