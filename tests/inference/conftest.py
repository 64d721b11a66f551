"""Server processes for tests: started with a policy of `served.py`, and nothing of them left afterwards."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from pytest_vla.episode import EpisodeKey
from pytest_vla.inference.client import InferenceClient
from pytest_vla.inference.service import Service, ServiceOptions

FOLDER = Path(__file__).parent


def children() -> set[int]:
    """Processes whose parent is this one, dead ones that nobody waited for included."""
    found = set()
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[1]) == os.getpid():
                found.add(int(folder.name))
    return found


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Service]]:
    """Starts services; afterwards no child process, no descriptor and no shared memory may be left."""
    monkeypatch.setenv("PYTHONPATH", str(FOLDER))
    before, memory = children(), set(os.listdir("/dev/shm"))
    services: list[Service] = []

    def start(policy: str, **options: object) -> Service:
        service = Service.start(ServiceOptions(f"served:{policy}", **options))  # type: ignore[arg-type]
        services.append(service)
        return service

    yield start
    for service in services:
        service.close()
    assert children() <= before, "a process was left behind"
    assert set(os.listdir("/dev/shm")) <= memory, "shared memory was left behind"


@pytest.fixture
def connect() -> Callable[..., InferenceClient]:
    def make(service: Service, limit: float = 30.0, replica: int = 0) -> InferenceClient:
        return InferenceClient(service.addresses[replica], service.spec, limit)

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
