"""Our side of `benchmarks.inference`: the policy our server loads, and one client process."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from workload import Model, run_client

import pytest_vla as vla


class Served(vla.Policy):
    kind = "none"

    def __init__(self) -> None:
        self.model = Model(self.kind)

    def act(self, observations: Sequence[Any], states: Sequence[Any]) -> list[Any]:
        return self.model.act(list(observations))


class ServedCnn(Served):
    kind = "cnn"


def client(address: str) -> None:
    from pytest_vla.episode import EpisodeKey
    from pytest_vla.inference.client import InferenceClient

    asked = InferenceClient([address], vla.PolicySpec(), 60)
    state = asked.reset(EpisodeKey("s", "t", "p", 0))
    run_client(lambda one, *_: len(asked.act([one], [state])))


def network_client(url: str) -> None:
    """Our client of `pytest-vla serve`, over the network."""
    from pytest_vla.episode import EpisodeKey
    from pytest_vla.policies.websocket import connect_policy

    asked, _ = connect_policy(url)
    state = asked.reset(EpisodeKey("s", "t", "p", 0))

    def step(one: dict[str, Any], *_: str) -> int:
        observation = {"images": one["images"], "state": {"states": one["states"]}, "instruction": ""}
        (answer,) = asked.act([observation], [state])
        if isinstance(answer, Exception):
            raise answer
        return 1

    run_client(step)


if __name__ == "__main__":
    (network_client if sys.argv[1].startswith("ws://") else client)(sys.argv[1])
