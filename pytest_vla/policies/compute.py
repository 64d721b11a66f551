"""How a torch model computes: in which precision, and compiled or not.

Nothing of ours is imported here, and torch only where a policy has it: an interpreter that has no pytest-vla reads this
file too.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

DTYPES = ("bfloat16", "float16")
CALLS = ("act", "log_prob")  # what a policy is asked


class ComputeError(Exception):
    """The policy has nothing that could compute otherwise."""


@dataclass(frozen=True, slots=True)
class Compute:
    """What a person asked for; both change a model's answers."""

    dtype: str | None = None
    compiled: bool = False

    @property
    def mark(self) -> str:
        """What a policy's digest gets for it; nothing where nothing was asked for."""
        return f"{'+' + self.dtype if self.dtype else ''}{'+compiled' if self.compiled else ''}"

    @property
    def typed(self) -> str:
        parts = (f"--vla-dtype={self.dtype}" if self.dtype else "", "--vla-compile" if self.compiled else "")
        return " ".join(filter(None, parts))


def placed(tensor: Any, device: Any) -> Any:
    """A tensor on a device; to a GPU from pinned memory, so that nobody waits for the copy before the model does."""
    if str(device).startswith("cuda"):
        return tensor.pin_memory().to(device, non_blocking=True)
    return tensor.to(device)


def modules_of(policy: Any) -> list[Any]:
    """The torch modules in a policy, whatever it is wrapped into, each once; torch is never imported for it."""
    return list(dict.fromkeys(_modules(policy)))


def _modules(policy: Any, depth: int = 6) -> Iterator[Any]:
    torch = sys.modules.get("torch")
    if torch is None or depth == 0:
        return
    if isinstance(policy, torch.nn.Module):
        yield policy
        return
    slots = [getattr(policy, name, None) for kind in type(policy).__mro__ for name in getattr(kind, "__slots__", ())]
    for part in [*getattr(policy, "__dict__", {}).values(), *slots]:
        if isinstance(part, torch.nn.Module) or type(part).__module__.startswith("pytest_vla."):
            yield from _modules(part, depth - 1)


def set_up(policy: Any, how: Compute, device: str) -> None:
    """Let the networks of a policy compute so, where they are: the policy's own code stays as it is."""
    modules = modules_of(policy)
    if not modules:
        raise ComputeError("the policy has no torch module in this process")
    tops = list(dict.fromkeys(top for module in modules for top in _called(module)))
    if how.dtype:
        for top in tops:
            top.register_forward_hook(_full_precision)
        for name in CALLS:
            if callable(getattr(policy, name, None)):
                setattr(policy, name, _under_autocast(getattr(policy, name), how.dtype, device))
    if how.compiled:
        for top in tops:
            top.forward = _compiled(top.forward)


def _called(module: Any) -> Iterator[Any]:
    """What a policy's code may call: a network, or its parts where the network itself is only their name."""
    torch = sys.modules["torch"]
    if not isinstance(module, torch.nn.ModuleList | torch.nn.ModuleDict):
        yield module
    for child in module.children():
        if isinstance(child, torch.nn.ModuleList | torch.nn.ModuleDict):
            yield from _called(child)
        else:
            yield child


def _compiled(forward: Callable[..., Any]) -> Callable[..., Any]:
    """Through a function of ours: `Module.compile` does nothing, without a word, where the class is one of torch's."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return forward(*args, **kwargs)

    compiled: Callable[..., Any] = sys.modules["torch"].compile(call)
    return compiled


def _under_autocast(call: Callable[..., Any], dtype: str, device: str) -> Callable[..., Any]:
    torch = sys.modules["torch"]

    def asked(*args: Any) -> Any:
        with torch.autocast(device.partition(":")[0], getattr(torch, dtype)):
            return call(*args)

    return asked


def _full_precision(module: Any, given: Any, answer: Any) -> Any:
    """What leaves a network is as it was without: numpy knows no bfloat16, and sums outside of it stay exact."""
    torch = sys.modules["torch"]
    if isinstance(answer, torch.Tensor):
        return answer.float() if answer.dtype in (torch.bfloat16, torch.float16) else answer
    if type(answer) in (tuple, list):
        return type(answer)(_full_precision(module, given, part) for part in answer)
    if type(answer) is dict:
        return {name: _full_precision(module, given, part) for name, part in answer.items()}
    return answer
