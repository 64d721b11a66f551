"""A policy as a graph: `torch.export` files (`.pt2`), which need no Python class of the model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pytest_vla.policies.archive import checked_graph
from pytest_vla.policies.base import Observation, Policy, PolicyError, PolicySpec
from pytest_vla.policies.compute import placed
from pytest_vla.policies.trust import is_trusted

SPEC_FILE = "pytest_vla.json"


class ExportedPolicy(Policy):
    """Calls the graph with what its spec names: images (batch, cameras, height, width, 3) of bytes, then a state
    (batch, numbers) of floats. Either is left out when the spec names none. It returns (batch, ...) actions."""

    def __init__(self, program: Any, spec: PolicySpec) -> None:
        self.spec = spec
        self._module = _module_of(program)
        self._device = "cpu"

    def to(self, device: str) -> ExportedPolicy:
        self._module.to(device)
        self._device = device
        return self

    def act(self, observations: Sequence[Observation], states: Sequence[Any]) -> list[Any]:
        import torch

        inputs = [placed(torch.from_numpy(array), self._device) for array in stacked(observations, self.spec)]
        return list(self._module(*inputs).cpu().numpy())


def _module_of(program: Any) -> Any:
    """The graph as a module, without the program that newer versions of torch make of its guards."""
    try:
        return program.module(check_guards=False)
    except TypeError:
        return program.module()


def stacked(observations: Sequence[Observation], spec: PolicySpec) -> list[Any]:
    """The arrays a spec names, one row per observation."""
    arrays = []
    if spec.cameras:
        arrays.append(np.stack([np.stack([o["images"][name] for name in spec.cameras]) for o in observations]))
    if spec.state_keys:
        rows = [np.concatenate([np.ravel(o["state"][name]) for name in spec.state_keys]) for o in observations]
        arrays.append(np.stack(rows).astype(np.float32))
    return arrays


def save_exported(path: Path | str, program: Any, spec: PolicySpec) -> None:
    """Write `torch.export.export(...)` with the spec `--vla-policy=PATH.pt2` needs to call it."""
    import torch

    torch.export.save(program, path, extra_files={SPEC_FILE: json.dumps(spec.to_dict())})


def load_exported(path: Path) -> ExportedPolicy:
    """The policy in a `.pt2` file; one that could run code while loading is refused."""
    if not path.is_file():
        raise PolicyError(f"there is no exported program '{path}'")
    try:
        import torch
    except ImportError:
        raise PolicyError('exported programs need torch: pip install "pytest-vla[torch]"') from None
    archive = path if is_trusted(path.name) else checked_graph(path)
    files = {SPEC_FILE: ""}
    try:
        program = torch.export.load(archive, extra_files=files)
    except Exception as error:
        raise PolicyError(f"'{path}' is not a torch.export file: {type(error).__name__}: {error}") from error
    text = files[SPEC_FILE]
    if not text:
        raise PolicyError(f"'{path}' has no spec; write it with pytest_vla.policies.exported.save_exported")
    spec = PolicySpec.from_dict(json.loads(text))
    if not (spec.cameras or spec.state_keys):
        raise PolicyError(f"the spec in '{path}' names neither cameras nor state_keys: the graph would get no input")
    return ExportedPolicy(program, spec)
