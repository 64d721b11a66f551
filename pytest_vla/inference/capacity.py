"""How large a cluster must be: from what episodes cost here to simulators and replicas for so many in so many hours."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import mean

from pytest_vla.inference.tuning import NEARLY_ALL, sizes_up_to
from pytest_vla.options import InferenceOptions
from pytest_vla.policies.base import PolicyError
from pytest_vla.policies.source import SharedSource
from pytest_vla.suite import Suite

SAMPLE = 4
"""Episodes that are run here, each of another task where there are so many."""
DRIVER_RESULTS_S = 2000.0
"""Results that one driver writes in a second, by its target of 0.5 ms each (`python -m benchmarks.cluster`)."""


@dataclass(frozen=True)
class Costs:
    """What an episode takes on one core of this machine, and what the model gives."""

    simulator_s: float
    requests: float
    supply: dict[int, float]
    """Answers a second by batch size."""

    def episodes_s(self, simulators: int, replicas: int) -> tuple[float, str]:
        """Episodes a second, and what keeps it from more. Each replica answers the share of simulators that it has."""
        batch = max(size for size in self.supply if size <= max(simulators // replicas, 1))
        waiting = self.requests * batch / self.supply[batch]
        offers = {
            "simulators": simulators / (self.simulator_s + waiting),
            "model": replicas * max(self.supply.values()) / self.requests,
            "driver": DRIVER_RESULTS_S,
        }
        least = min(offers, key=lambda name: offers[name])
        return offers[least], least


@dataclass(frozen=True)
class Size:
    """A cluster that is large enough."""

    simulators: int
    replicas: int
    episodes_s: float
    batch: int


def size_for(costs: Costs, episodes: int, hours: float) -> Size | None:
    """The fewest replicas, and with them the fewest simulators; None where one driver is not enough."""
    wanted = episodes / (3600 * hours)
    if wanted > DRIVER_RESULTS_S:
        return None
    best = max(costs.supply.values())
    batch = min(size for size, rate in costs.supply.items() if rate >= NEARLY_ALL * best)
    replicas = max(1, math.ceil(wanted * costs.requests / (NEARLY_ALL * best) - 1e-9))
    while True:
        waiting = costs.requests * batch / costs.supply[batch]
        simulators = max(replicas, math.ceil(wanted * (costs.simulator_s + waiting)))
        for number in (simulators, 2 * simulators):
            rate, _ = costs.episodes_s(number, replicas)
            if rate >= wanted * (1 - 1e-9):
                return Size(number, replicas, rate, batch)
        replicas += 1


def lines(costs: Costs, episodes: int, hours: float) -> Iterator[str]:
    """What to say: the size, and where the bottleneck moves on the way there."""
    yield (
        f"an episode: {costs.simulator_s:.3g} s of one core of this machine, {costs.requests:.3g} requests; "
        f"a replica answers at most {max(costs.supply.values()):.4g} a second"
    )
    found = size_for(costs, episodes, hours)
    if found is None:
        yield (
            f"{episodes} episodes in {hours:g} h are more than {DRIVER_RESULTS_S:g} a second, which is what one driver "
            "writes: split them with --vla-shard=I/N"
        )
        return
    yield (
        f"{episodes} episodes in {hours:g} h: {found.simulators} simulators (-n {found.simulators}) and "
        f"{found.replicas} replica{'s' * (found.replicas > 1)} like this one, --vla-batch={found.batch}"
    )
    yield "simulators  replicas  episodes/h  bottleneck"
    for number in sizes_up_to(found.simulators):
        replicas = max(1, math.ceil(found.replicas * number / found.simulators))
        rate, least = costs.episodes_s(number, replicas)
        yield f"{number:>10}  {replicas:>8}  {3600 * rate:>10.0f}  {least}"
    alone = next(n for n in range(1, 1 << 20) if costs.episodes_s(n, 1)[1] != "simulators" or n >= found.simulators)
    if costs.episodes_s(alone, 1)[1] == "model":
        yield f"with one replica the bottleneck moves from the simulators to the model at {alone} simulators"


def measured(source: SharedSource, suite: Suite, steps_an_answer: int, supply: dict[int, float]) -> Costs:
    """A few episodes here, with the real policy; what the policy took is in the supply."""
    from pytest_vla.inference.session import loaded_source
    from pytest_vla.rollout import rollout

    asked = loaded_source(source, InferenceOptions(policy=source.text))
    seconds, requests = list[float](), list[float]()
    for task, partition in _spread(suite):
        env = suite.make_env(task)
        try:
            policy = asked.bind(suite, env)
            results = [rollout(policy, env, suite.episode(task, partition, index)) for index in range(2)]
        finally:
            env.close()
        result = results[-1]  # the first one pays for what is made once
        if result.outcome == "error":
            raise PolicyError(f"{result.episode} ended in an error: {result.message.strip().splitlines()[-1]}")
        seconds.append(sum(result.timings.get(name, 0.0) for name in ("reset", "draw", "step")))
        requests.append(math.ceil(max(result.steps, 1) / steps_an_answer))
    return Costs(mean(seconds), mean(requests), supply)


def _spread(suite: Suite) -> list[tuple[str, str]]:
    """Cells from all over the suite."""
    cells = suite.select()
    return [cells[len(cells) * number // SAMPLE] for number in range(min(SAMPLE, len(cells)))]
