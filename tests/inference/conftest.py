"""Server processes for tests: started with a policy of `served.py`, and nothing of them left afterwards."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from leftovers import children, running_in, shared_memory

from pytest_vla.episode import EpisodeKey
from pytest_vla.inference.client import InferenceClient
from pytest_vla.inference.service import Service, ServiceOptions

FOLDER = Path(__file__).parent


@pytest.fixture
def nothing_left(reach: pytest.Pytester) -> Iterator[None]:
    """However a run in `reach` ended: soon afterwards no process of it, zombies included, and no shared memory is left.

    What was killed has a moment to notice it.
    """
    before, memory = children(), shared_memory()

    def left() -> tuple[dict[int, str], set[int], set[str]]:
        return running_in(reach.path), children() - before, shared_memory() - memory

    yield
    end = time.monotonic() + 10
    while any(left()) and time.monotonic() < end:
        time.sleep(0.02)
    assert left() == ({}, set(), set()), "a run left processes or shared memory behind"


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Service]]:
    """Starts services; afterwards no child process, no descriptor and no shared memory may be left."""
    monkeypatch.setenv("PYTHONPATH", str(FOLDER), prepend=os.pathsep)
    before, memory = children(), shared_memory()
    services: list[Service] = []

    def start(policy: str, **options: object) -> Service:
        service = Service.start(ServiceOptions(f"served:{policy}", **options))  # type: ignore[arg-type]
        services.append(service)
        return service

    yield start
    for service in services:
        service.close()
    assert children() <= before, "a process was left behind"
    assert shared_memory() <= memory, "shared memory was left behind"


@pytest.fixture
def connect() -> Callable[..., InferenceClient]:
    def make(service: Service, limit: float = 30.0, replica: int = 0) -> InferenceClient:
        return InferenceClient([service.addresses[replica]], service.spec, limit)

    return make


@pytest.fixture
def key() -> Callable[[int], EpisodeKey]:
    return lambda index=0: EpisodeKey("suite", "task", "partition", index)


@pytest.fixture
def observe() -> Callable[..., dict]:
    """An observation whose first number is `x`."""

    def make(x: float, size: int = 8) -> dict:
        image = np.full((16, 16, 3), int(x) % 256, np.uint8)
        return {"images": {"front": image}, "state": {"x": np.full(size, x)}, "instruction": "go"}

    return make
