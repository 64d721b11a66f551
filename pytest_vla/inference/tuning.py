"""Supply and demand: how many actions a second the model gives at each batch size, and how many simulators want."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from statistics import median
from time import monotonic
from typing import Any

from pytest_vla.inference.engine import Engine, Job

SUPPLY_BUDGET_S = 3.0
REPEATS = 3
ENOUGH_SECONDS = 3.0
ENOUGH_STEPS = 20  # per client
HEADROOM = 1.2  # supply over demand at which a larger batch gains nothing
NEARLY_ALL = 0.95  # of the largest supply


class Tuner:
    """Finds the batch limit of a running server: supply on the first observation, demand while episodes run."""

    def __init__(self, engine: Engine, clients: int, tell: Callable[[dict[str, Any]], None]) -> None:
        self._engine = engine
        self._clients = max(clients, 1)
        self._tell = tell
        self._last: dict[Hashable, float] = {}
        self._thinking: list[float] = []
        self._start = 0.0
        self.supply: dict[int, float] = {}
        self.batch = 0

    @property
    def found(self) -> bool:
        return self.batch > 0

    def measure_supply(self, job: Job) -> None:
        self.supply = measure_supply(self._engine, job, self._clients)
        self._start = monotonic()
        self._last.clear()

    def answered(self, client: Hashable, asked: float) -> None:
        """A client got its action; the time until it asks again is what its simulator needs."""
        now = monotonic()
        if client in self._last:
            self._thinking.append(max(asked - self._last[client], 1e-6))
        self._last[client] = now
        if now - self._start > ENOUGH_SECONDS or len(self._thinking) >= ENOUGH_STEPS * self._clients:
            self._decide()

    def _decide(self) -> None:
        if not self._thinking:
            return
        demand = self._clients / median(self._thinking)
        self.batch = operating_point(self.supply, demand)
        self._tell(
            {
                "batch": self.batch,
                "supply": {str(size): round(rate, 1) for size, rate in self.supply.items()},
                "demand": {str(self._clients): round(demand, 1)},
            }
        )


def measure_supply(engine: Engine, job: Job, largest: int, budget: float = SUPPLY_BUDGET_S) -> dict[int, float]:
    """Actions a second at batch sizes 1, 2, 4, ... up to `largest`, until the time or the memory is used up."""
    supply: dict[int, float] = {}
    start = monotonic()
    for size in sizes_up_to(largest):
        try:
            engine.seconds(job, size)  # the first call of a shape pays for its preparation
            supply[size] = size / min(engine.seconds(job, size) for _ in range(REPEATS))
        except Exception:
            if not supply:
                raise
            break
        if monotonic() - start > budget:
            break
    return supply


def operating_point(supply: dict[int, float], demand: float) -> int:
    """The smallest batch that satisfies the demand, or else nearly reaches what the model can give."""
    wanted = min(HEADROOM * demand, NEARLY_ALL * max(supply.values()))
    return next(size for size, rate in sorted(supply.items()) if rate >= wanted)


def sizes_up_to(largest: int) -> list[int]:
    sizes = [1]
    while sizes[-1] * 2 <= largest:
        sizes.append(sizes[-1] * 2)
    return sizes if sizes[-1] == largest else [*sizes, largest]


def describe(tuned: dict[str, Any]) -> list[str]:
    """Both curves' numbers, a line each."""
    supply = ", ".join(f"{size}: {rate:g}" for size, rate in tuned["supply"].items())
    demand = ", ".join(f"{clients}: {rate:g}" for clients, rate in tuned["demand"].items())
    return [
        f"batch {tuned['batch']} chosen; supply in actions/s by batch size: {supply}",
        f"demand in observations/s by number of simulators: {demand}",
    ]


def draw(supply: dict[int, float], demand: dict[int, float], width: int = 50) -> str:
    """Both curves as bars on one scale."""
    scale = max([*supply.values(), *demand.values()])
    lines = []
    for title, curve in (
        ("supply (answers/s) by batch size", supply),
        ("demand (requests/s) by simulators", demand),
    ):
        lines.append(title)
        lines += [f"  {n:>4}  {rate:>10.1f}  {'█' * max(round(width * rate / scale), 1)}" for n, rate in curve.items()]
    return "\n".join(lines)
