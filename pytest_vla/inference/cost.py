"""What a policy costs: parameters, weights, memory, time per call, and how its pace compares with the robot's."""

from __future__ import annotations

import resource
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from pytest_vla.policies.chunking import execution
from pytest_vla.policies.compute import modules_of

if TYPE_CHECKING:
    from pytest_vla.inference.status import Statistics
    from pytest_vla.policies import Policy, PolicySource, PolicySpec

CALLS = 12  # of each size, when they are measured
BATCH = 8
WEIGHT_FILES = (".safetensors", ".bin", ".pt", ".pth", ".ckpt", ".pt2")


def weights_of(policy: Any, text: str) -> dict[str, int]:
    """Parameters of the torch modules in a policy, and bytes of the weights that a text names on disk."""
    parameters = sum(parameter.numel() for module in modules_of(policy) for parameter in module.parameters())
    path = Path(text) if "://" not in text else None
    if path is not None and path.is_dir():
        size = sum(file.stat().st_size for file in path.rglob("*") if file.suffix in WEIGHT_FILES)
    else:
        size = path.stat().st_size if path is not None and path.is_file() else 0
    found = {"parameters": parameters, "weights_bytes": size}
    return {name: value for name, value in found.items() if value}


def peak_memory(process: int | None = None) -> int:
    """The most bytes that this process, or another one of this machine, has had in memory; 0 where it is not known."""
    if process is None:
        used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return int(used) * (1 if sys.platform == "darwin" else 1024)
    try:
        lines = Path(f"/proc/{process}/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM:")), 0)


def cost_record(
    statistics: Statistics, weights: Mapping[str, int], memory: int, spec: PolicySpec, control_hz: Mapping[str, float]
) -> dict[str, Any]:
    """The line of the run file, from what a run measured."""
    horizon, _ = execution(spec, None, None)
    steps = min(horizon or spec.chunk, spec.chunk) if spec.chunk > 1 else 1
    calls = statistics.calls()
    record: dict[str, Any] = {"type": "cost", **weights, "calls": calls, "actions_a_call": steps}
    if memory:
        record["peak_memory_bytes"] = memory
    if statistics.compute > 0:
        record["actions_per_second"] = round(steps * statistics.requests / statistics.compute, 1)
    one = calls.get("1") or calls.get("batch")
    if one and one["p50_ms"] > 0:
        record["hz"] = round(1e3 * steps / one["p50_ms"], 1)
        record["control_hz"] = dict(control_hz)
    return record


def measured_cost(
    policy: Policy, rows: Sequence[tuple[Any, Any]], source: PolicySource, control_hz: float
) -> dict[str, Any]:
    """The same by a few calls on recorded observations, at one row and at eight."""
    from pytest_vla.inference.status import Statistics

    statistics = Statistics()
    for size in (1, BATCH):
        batch = [rows[number % len(rows)] for number in range(size)]
        for call in range(CALLS + 1):
            states = [policy.reset(key) for key, _ in batch]
            start = perf_counter()
            policy.act([observation for _, observation in batch], states)
            if call:  # the first one warms up
                statistics.batch(size, 0, 0.0, perf_counter() - start, 0)
    record = cost_record(statistics, weights_of(policy, source.text), peak_memory(), source.spec, {})
    del record["type"]
    return {**record, "control_hz": {"": control_hz}}


def cost_lines(record: Mapping[str, Any]) -> list[str]:
    """The same for people: one line."""
    parts = []
    if record.get("parameters"):
        parts.append(f"{_short(record['parameters'])} parameters")
    if record.get("weights_bytes"):
        parts.append(f"{_bytes(record['weights_bytes'])} of weights")
    if record.get("peak_memory_bytes"):
        parts.append(f"peak memory {_bytes(record['peak_memory_bytes'])}")
    for name, call in record.get("calls", {}).items():
        rows = "1 row" if name == "1" else f"{call['rows']:.1f} rows"
        parts.append(f"a call of {rows} {call['p50_ms']:.1f} ms (p95 {call['p95_ms']:.1f})")
    if record.get("actions_per_second"):
        parts.append(f"{record['actions_per_second']:.0f} actions/s")
    if record.get("hz"):
        rates = sorted(set(record.get("control_hz", {}).values()))
        wanted = f" (the robot takes {', '.join(f'{rate:g}' for rate in rates)})" if rates else ""
        parts.append(f"{record['hz']:.1f} Hz{wanted}")
    return [f"cost: {', '.join(parts)}"] if parts else []


def cost_lines_recorded(record: Mapping[str, Any]) -> list[str]:
    """The same of a line of a run file, which may hold anything."""
    try:
        return cost_lines(record)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        return ["cost: what the policy costs cannot be read"]


def _short(number: int) -> str:
    for size, letter in ((10**9, " B"), (10**6, " M"), (10**3, " k")):
        if number >= size:
            return f"{number / size:.3g}{letter}"
    return str(number)


def _bytes(number: int) -> str:
    return f"{number / 1e9:.2f} GB" if number >= 1e9 else f"{number / 1e6:.1f} MB"
