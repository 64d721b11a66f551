"""How many threads a model gets, that they sleep while they wait, and that simulators do not push it off its core."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from statistics import median

QUOTA = Path("/sys/fs/cgroup/cpu.max")  # of a container: microseconds of CPU, and of what period
COUNT, WAITING = "OMP_NUM_THREADS", "OMP_WAIT_POLICY"
WARM_CALLS = 4  # that load code and fill caches, and say nothing of threads
TURNS = 8  # calls with one thread, and as many with all of them


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


def give_way() -> None:
    """Let this thread, and what it starts from now on, wait for a free core or for its turn when it is woken.

    The model wakes those who wait for its answers. Where one of them took its core there and then, as Linux lets a
    sleeper do, the rest would be woken late, and the model would go on with caches full of somebody else's pictures.
    """
    if not hasattr(os, "SCHED_BATCH"):
        return
    with suppress(OSError):  # a container may forbid it
        if os.sched_getscheduler(0) == os.SCHED_OTHER:
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


class ThreadTrial:
    """Whether a model's calls are sooner done by one thread, or by all that it may have, beside the simulators.

    A small model whose threads wait for each other on cores that simulators are using is slower with more of them; a
    large one that everybody waits for is faster. Only a look at the first calls of a run tells which it is.
    """

    def __init__(self, most: int) -> None:
        self._most, self._calls = most, 0
        self._per_row: dict[int, list[float]] = {1: [], most: []}

    @classmethod
    def where_it_matters(cls) -> ThreadTrial | None:
        """For a model of torch that may have more than one; a policy of another kind has threads of its own."""
        torch = sys.modules.get("torch")
        most = int(torch.get_num_threads()) if torch is not None else 1
        return cls(most) if most > 1 else None

    @property
    def threads(self) -> int:
        """How many the next call is to have: in turns until it is known."""
        if self._calls < WARM_CALLS:
            return self._most
        if not self.is_over:
            return (1, self._most)[self._calls % 2]
        return min(self._per_row, key=lambda count: median(self._per_row[count]))

    @property
    def is_over(self) -> bool:
        return self._calls >= WARM_CALLS + 2 * TURNS

    def apply(self) -> None:
        """Give the next call its threads."""
        sys.modules["torch"].set_num_threads(self.threads)

    def took(self, rows: int, seconds: float) -> None:
        """What the call took that had them."""
        if self._calls >= WARM_CALLS:
            self._per_row[self.threads].append(seconds / rows)
        self._calls += 1
