"""How many threads a model gets, and that they sleep while they wait: what spins takes its time from simulators."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

QUOTA = Path("/sys/fs/cgroup/cpu.max")  # of a container: microseconds of CPU, and of what period
COUNT, WAITING = "OMP_NUM_THREADS", "OMP_WAIT_POLICY"


def usable_cores() -> int:
    """Cores that this process may really use: those it may run on, or what its container is given of them."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = QUOTA.read_text(encoding="ascii").split()
        return max(min(cores, int(quota) // int(period)), 1)
    except (OSError, ValueError):  # no such file, or "max"
        return cores


def thread_variables(models: int, given: Mapping[str, str]) -> dict[str, str]:
    """What an interpreter is started with that holds one of so many models; what a person set stays."""
    wanted = {COUNT: str(max(usable_cores() // models, 1)), WAITING: "PASSIVE"}
    return {name: value for name, value in wanted.items() if name not in given}


def bound_threads(models: int = 1) -> None:
    """The same for this interpreter: it has an effect as long as no such library is loaded."""
    os.environ.update(thread_variables(models, os.environ))
