"""The decorator that turns one test function into one pytest item per episode of a suite."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pytest_vla.registry import register
from pytest_vla.suite import Suite

F = TypeVar("F", bound=Callable[..., Any])
MARK = "vla"


@dataclass(frozen=True, slots=True)
class Benchmark:
    """What `@vla.benchmark` asked for; options on the command line narrow it further."""

    suite: str
    tasks: tuple[str, ...] = ()
    partitions: tuple[str, ...] = ()
    episodes: int | None = None


def benchmark(
    suite: str | Suite,
    *,
    task: str | Sequence[str] = (),
    partition: str | Sequence[str] = (),
    episodes: int | None = None,
) -> Callable[[F], F]:
    """One item per task x partition x episode of the suite, with fixtures `policy`, `env` and `episode`.

    Args:
        suite: the name of a suite, or a Suite object of your own (which is registered under its name).
        task, partition: only these; all tasks and the suite's default partitions otherwise.
        episodes: per (task, partition), where `--vla-episodes` is not given.
    """
    import pytest

    name = suite if isinstance(suite, str) else register(suite).name
    asked = Benchmark(name, names(task), names(partition), episodes)
    return pytest.mark.vla(asked)


def names(value: str | Sequence[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)
