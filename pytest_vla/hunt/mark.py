"""The decorator that turns one test function into one hunt per task of a suite."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pytest_vla.options import renamed
from pytest_vla.registry import register
from pytest_vla.suite import Suite

F = TypeVar("F", bound=Callable[..., Any])
MARK = "vla_hunt"
DEFAULT_EPISODES = 500
DEFAULT_SCENES = 10
WITHOUT_HYPOTHESIS = 'hunts need Hypothesis: pip install "pytest-vla[hunt]"'


@dataclass(frozen=True, slots=True)
class Hunted:
    """What `@vla.hunt` asked for; options on the command line narrow it further."""

    suite: str
    axes: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    partitions: tuple[str, ...] = ()
    scenes: int | None = None
    episodes: int | None = None
    refused: str = ""
    """What cannot be read as it was written; said when all files are collected."""


def hunt(
    suite: str | Suite,
    *,
    axes: str | Sequence[str] = (),
    task: str | Sequence[str] = (),
    partition: str | Sequence[str] = (),
    scenes: int | None = None,
    episodes: int | None = None,
    budget: object = None,
) -> Callable[[F], F]:
    """One hunt per task x partition of the suite, with fixtures `policy`, `env`, `episode` and `perturbation`.

    The function is called once per probe. It fails a probe by an assertion, as in any test.

    Args:
        suite: the name of a suite, or a Suite object of your own (which is registered under its name).
        axes: names of axes or of groups of axes; all that the suite supports otherwise.
        task, partition: only these; all tasks and the suite's default partitions otherwise.
        scenes: unperturbed episodes to start from, where `--vla-hunt-scenes` is not given.
        episodes: episodes a hunt may use in all, where `--vla-hunt-episodes` is not given.
        budget: the old name of `episodes`, refused.
    """
    import pytest

    name = suite if isinstance(suite, str) else register(suite).name
    refused = renamed("@vla.hunt(budget=)", "@vla.hunt(episodes=)") if budget is not None else ""
    asked = Hunted(name, _names(axes), _names(task), _names(partition), scenes, episodes, refused)
    return pytest.mark.vla_hunt(asked)


def _names(value: str | Sequence[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)
