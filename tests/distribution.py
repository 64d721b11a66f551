"""How `pytest tests -n auto` is spread over workers: most of its time is that of processes which the tests start."""

from __future__ import annotations

import compileall
import gc
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
#: Rooms that take longest come first; the quick ones even out the end.
FIRST = ("engines", "e2e", "explain", "hunt", "inference", "isolate", "plugin", "gate", "docs", "report", "suites")


def pytest_configure(config: pytest.Config) -> None:
    """Compile once what every process imports: not each keeps what it compiled (PYTHONDONTWRITEBYTECODE)."""
    if not hasattr(config, "workerinput"):
        for package in ("pytest_vla", "suites"):
            compileall.compile_dir(HERE.parent / package, quiet=2)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """What is imported stays: looking through it for garbage takes a third of the time, and again in every test."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than there are cores: some tests wait, for a process that was stopped or a time-out."""
    return len(os.sched_getaffinity(0)) + 1 if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1) + 1


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    ranks = {room: rank for rank, room in enumerate(FIRST)}
    items.sort(key=lambda item: ranks.get(item.path.relative_to(HERE).parts[0], len(FIRST)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """A file's tests run on one worker, so that what they share is made once; a typed `--dist` still wins."""
    if config.getvalue("dist") != "load":
        return None
    from xdist.scheduler import LoadFileScheduling

    config.option.loadscopereorder = False  # by number of tests: ours are by time
    return LoadFileScheduling(config, log)
