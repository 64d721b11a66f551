"""Activation patching by forward hooks on somebody's own modules: nothing of the model is rewritten.

A unit is what one place of a network gives to the rest of it: a layer's output (the residual stream after it), one head
of an attention, an MLP, or a module that a person names. Its activations in the clean run are put into a corrupted one,
and the question is how much of the clean answer comes back. Nothing of ours is imported here: an interpreter that
has no pytest-vla reads this file too.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Literal

Kind = Literal["layer", "head", "mlp", "module"]
OUTPUTS = ("o_proj", "out_proj", "cross_out", "out", "c_proj", "dense", "proj", "wo")  # the last linear of an attention
HEADS = ("num_heads", "num_attention_heads", "n_heads", "n_head", "nhead", "heads")
MLPS = ("mlp", "feed_forward", "feedforward", "ffn", "feed", "linear2")
MOST_UNITS = 4000


class UnitError(Exception):
    """There is nothing to patch, or nothing of that name."""


@dataclass(frozen=True, slots=True)
class Unit:
    """One place: the path of its module, and for a head the projection that takes all heads in."""

    kind: Kind
    path: str
    layer: int = 0
    head: int = -1
    heads: int = 0

    @property
    def name(self) -> str:
        return f"{self.path}.{self.head}" if self.kind == "head" else self.path


def find_units(modules: Sequence[Any], named: Sequence[str] = ()) -> list[Unit]:
    """Layers, heads and MLPs by the types and names that people give them; or the modules that globs name."""
    found: list[Unit] = []
    paths = dict(_paths(modules))
    for path, module in paths.items():
        if named:
            if path and any(fnmatchcase(path, glob) for glob in named):
                found.append(Unit("module", path, _layer(path)))
            continue
        if _is_layer(path, paths):
            found.append(Unit("layer", path, _layer(path)))
        elif path.rpartition(".")[2] in MLPS or any(word in type(module).__name__ for word in ("MLP", "FeedForward")):
            found.append(Unit("mlp", path, _layer(path)))
        for target, count in _attention(path, module):
            found += [Unit("head", target, _layer(target), head, count) for head in range(count)]
    if named and not found:
        some = ", ".join([path for path in paths if path][:12])
        raise UnitError(f"no module of the policy is named by {', '.join(named)}; there are {some}, ...")
    if not found:
        raise UnitError("no layer, attention head or MLP is known in this policy: name modules with --units GLOB")
    if len(found) > MOST_UNITS:
        raise UnitError(f"{len(found)} units are more than {MOST_UNITS}: name fewer with --units GLOB")
    return found


def restore_each(
    modules: Sequence[Any], units: Sequence[Unit], clean: Callable[[], float], corrupted: Callable[[], float]
) -> dict[str, Any]:
    """The score of the corrupted run with each unit as it is in the clean one, as a tree that can be sent.

    R(u) = (patched - corrupted) / (clean - corrupted): 0 nothing came back, 1 all of it.
    """
    paths = dict(_paths(modules))
    kept: dict[str, list[Any]] = {}
    targets = {unit.path: unit.kind == "head" for unit in units}
    with ExitStack() as stack:
        for path, heads in targets.items():
            kept[path] = []
            stack.enter_context(_hooked(paths[path], heads, _keep(kept[path])))
        whole = clean()
    broken = corrupted()
    rows: list[dict[str, Any]] = []
    for unit in units:
        calls = _Calls(kept[unit.path], unit)
        with _hooked(paths[unit.path], unit.kind == "head", calls):
            patched = corrupted()
        if calls.restored:
            rows.append(
                {"unit": unit.name, "kind": unit.kind, "layer": unit.layer, "head": unit.head, "score": patched}
            )
    for row in rows:
        row["restored"] = (row["score"] - broken) / (whole - broken) if abs(whole - broken) > 1e-9 else 0.0
    return {"clean": whole, "corrupted": broken, "units": rows, "skipped": len(units) - len(rows)}


def restored_in(policy: Any, clean: Any, corrupted: Any, state: Any, named: Sequence[str]) -> dict[str, Any]:
    """The same for a policy object of any kind: its modules are found in it, its answers scored by itself."""
    modules = torch_modules(policy)
    if not modules:
        raise UnitError("this policy has no torch module in the process that answers: activations cannot be patched")
    torch: Any = sys.modules["torch"]

    def act(row: Any) -> Any:
        return policy.act([row], [copy.deepcopy(state)])[0]

    with torch.inference_mode():
        action = act(clean)
        likely = callable(getattr(policy, "log_prob", None))

        def score(row: Any) -> float:
            if likely:
                return float(policy.log_prob([row], [copy.deepcopy(state)], [action])[0])
            return -apart(act(row), action)

        return restore_each(modules, find_units(modules, named), lambda: score(clean), lambda: score(corrupted))


@contextmanager
def shuffled(modules: Sequence[Any], seed: int) -> Iterator[None]:
    """The numbers of each parameter in a random order; afterwards they are as they were, bit by bit."""
    torch: Any = sys.modules["torch"]
    parameters = [each for module in modules for each in module.parameters()]
    kept = [each.detach().clone() for each in parameters]
    draws = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter, before in zip(parameters, kept, strict=True):
            order = torch.randperm(before.numel(), generator=draws).to(before.device)
            parameter.copy_(before.flatten()[order].view_as(parameter))
    try:
        yield
    finally:
        with torch.no_grad():
            for parameter, before in zip(parameters, kept, strict=True):
                parameter.copy_(before)


def apart(one: Any, other: Any) -> float:
    """How far two answers of a policy are from each other, in its own numbers."""
    import numpy as np

    if isinstance(one, str) or isinstance(other, str):
        return float(one != other)
    if isinstance(one, dict):
        return float(np.hypot.reduce([apart(one[name], other[name]) for name in one]))
    return float(np.linalg.norm(np.asarray(one, np.float64) - np.asarray(other, np.float64)))


def torch_modules(policy: Any, depth: int = 3) -> list[Any]:
    """The networks in an object, itself or what it holds."""
    torch = sys.modules.get("torch")
    if torch is None or depth == 0:
        return []
    if isinstance(policy, torch.nn.Module):
        return [policy]
    found: list[Any] = []
    for part in getattr(policy, "__dict__", {}).values():
        inside = [part] if isinstance(part, torch.nn.Module) else []
        if not inside and hasattr(part, "__dict__") and not isinstance(part, type):
            inside = torch_modules(part, depth - 1)
        found += [each for each in inside if each not in found]
    return found


class _Calls:
    """Puts the clean activations in, call by call; one of another shape is left as it is."""

    def __init__(self, kept: Sequence[Any], unit: Unit) -> None:
        self.kept, self.unit, self.number, self.restored = kept, unit, 0, 0

    def __call__(self, activation: Any) -> Any:
        number, self.number = self.number, self.number + 1
        if number >= len(self.kept) or self.kept[number].shape != activation.shape:
            return None
        self.restored += 1
        if self.unit.kind != "head":
            return self.kept[number]
        width = activation.shape[-1] // self.unit.heads
        part = slice(self.unit.head * width, (self.unit.head + 1) * width)
        mixed = activation.clone()
        mixed[..., part] = self.kept[number][..., part]
        return mixed


def _keep(kept: list[Any]) -> Callable[[Any], Any]:
    def keep(activation: Any) -> None:
        kept.append(activation.detach().clone())

    return keep


@contextmanager
def _hooked(module: Any, heads: bool, change: Callable[[Any], Any]) -> Iterator[None]:
    """Show a module's activation to `change` at every call; what that returns takes its place."""
    torch: Any = sys.modules["torch"]
    if not heads:
        handle = module.register_forward_hook(lambda _, __, output: _with_first(output, change))
    elif isinstance(module, torch.nn.MultiheadAttention):
        handle = module.register_forward_hook(_MixedHeads(change), with_kwargs=True)
    else:
        handle = module.register_forward_pre_hook(lambda _, inputs: _first_input(inputs, change))
    try:
        yield
    finally:
        handle.remove()


class _MixedHeads:
    """torch's own attention never calls its projection as a module: the heads are had by leaving it out once more."""

    def __init__(self, change: Callable[[Any], Any]) -> None:
        self.change, self.inside = change, False

    def __call__(self, module: Any, inputs: Any, named: Any, output: Any) -> Any:
        if self.inside:
            return None
        torch: Any = sys.modules["torch"]
        weight, bias = module.out_proj.weight, module.out_proj.bias
        as_they_are = {"out_proj.weight": torch.eye(len(weight), dtype=weight.dtype, device=weight.device)}
        if bias is not None:
            as_they_are["out_proj.bias"] = torch.zeros_like(bias)
        self.inside = True
        try:
            heads = torch.func.functional_call(module, as_they_are, inputs, named)[0]
        finally:
            self.inside = False
        changed = self.change(heads)
        return None if changed is None else (torch.nn.functional.linear(changed, weight, bias), *output[1:])


def _with_first(output: Any, change: Callable[[Any], Any]) -> Any:
    """The same output with its first tensor changed; None leaves it."""
    if hasattr(output, "shape"):
        return change(output)
    if isinstance(output, (tuple, list)) and output and hasattr(output[0], "shape"):
        changed = change(output[0])
        return None if changed is None else type(output)((changed, *output[1:]))
    return None


def _first_input(inputs: Any, change: Callable[[Any], Any]) -> Any:
    changed = change(inputs[0]) if inputs else None
    return None if changed is None else (changed, *inputs[1:])


# --- which modules there are -----------------------------------------------------------------------------------------


def _paths(modules: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """Every module by its path; where a policy holds several networks, a number comes first."""
    for number, module in enumerate(modules):
        prefix = f"{number}." if len(modules) > 1 else ""
        for path, part in module.named_modules():
            yield f"{prefix}{path}".rstrip("."), part


def _is_layer(path: str, paths: dict[str, Any]) -> bool:
    """One of several alike in a list, and made of parts itself."""
    torch: Any = sys.modules["torch"]
    parent, _, number = path.rpartition(".")
    holder = paths.get(parent)
    if not number.isdigit() or not isinstance(holder, (torch.nn.ModuleList, torch.nn.Sequential)):
        return False
    module = paths[path]
    alike = all(type(each) is type(module) for each in holder)
    return alike and any(True for _ in module.children())


def _layer(path: str) -> int:
    """The last number in a path that is no head's."""
    numbers = [int(part) for part in path.split(".") if part.isdigit()]
    return numbers[-1] if numbers else 0


def _attention(path: str, module: Any) -> Iterator[tuple[str, int]]:
    """The module whose input are all heads side by side, and how many they are."""
    torch: Any = sys.modules["torch"]
    if isinstance(module, torch.nn.MultiheadAttention):
        yield path, int(module.num_heads)
        return
    count = next((value for name in HEADS if isinstance(value := getattr(module, name, None), int)), None)
    if count is None and "Attention" in type(module).__name__:
        config = getattr(module, "config", None)
        count = next((value for name in HEADS if isinstance(value := getattr(config, name, None), int)), None)
    if not count:
        return
    for name in OUTPUTS:
        part = getattr(module, name, None)
        if isinstance(part, torch.nn.Linear) and part.in_features % count == 0:
            yield f"{path}.{name}".lstrip("."), int(count)
