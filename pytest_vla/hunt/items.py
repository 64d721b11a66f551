"""Hunts as pytest items: which there are under the marks and the options."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest

from pytest_vla.benchmark import Benchmark
from pytest_vla.episode import EpisodeKey
from pytest_vla.hunt.mark import DEFAULT_EPISODES, DEFAULT_SCENES, MARK, Hunted
from pytest_vla.registry import get_suite
from pytest_vla.run.plan import HuntName
from pytest_vla.suite import SuiteError

if TYPE_CHECKING:
    from pytest_vla.options import Settings

PARAMETER = "hunt"
"""What a hunting item is parametrized with; also the fixture of that name, which the fixture `episode` asks for."""


@dataclass(frozen=True, slots=True)
class HuntKey:
    """One hunt. With workers it has several hands: items that answer probes of the same hunt side by side."""

    suite: str
    task: str
    partition: str
    axes: tuple[str, ...]
    scenes: int
    first_episode: int
    budget: int
    hand: int = 0

    @property
    def id(self) -> str:
        text = f"{self.task}-{self.partition}-hunt"
        return f"{text}-hand{self.hand}" if self.hand else text

    @property
    def name(self) -> HuntName:
        return (self.suite, self.task, self.partition)

    @property
    def where(self) -> str:
        return f"{self.suite}/{self.task}-{self.partition}"

    def episode(self, index: int, perturbation: str = "") -> EpisodeKey:
        return get_suite(self.suite).episode(self.task, self.partition, index, perturbation)


def hunted_of(function: pytest.Item, settings: Settings) -> Hunted | None:
    """What this test function is asked to hunt: by `@vla.hunt`, or by `--vla-hunt` for a benchmark."""
    mark = function.get_closest_marker(MARK)
    if mark and mark.args and isinstance(mark.args[0], Hunted):
        return mark.args[0]
    mark = function.get_closest_marker("vla") if settings.robustness.hunt else None
    if mark and mark.args and isinstance(mark.args[0], Benchmark):
        asked = mark.args[0]
        return Hunted(asked.suite, (), asked.tasks, asked.partitions, asked.episodes)
    return None


def hunt_of(item: pytest.Item) -> HuntKey | None:
    """The hunt of a hunting item."""
    callspec = getattr(item, "callspec", None)
    value = callspec.params.get(PARAMETER) if callspec is not None else None
    return value if isinstance(value, HuntKey) else None


def parametrize_hunts(
    metafunc: pytest.Metafunc, asked: Hunted, settings: Settings, hands: int, finished: Collection[HuntName]
) -> None:
    """Give a hunting function one item per unfinished hunt and hand; the first hands of all hunts come first."""
    if "episode" not in metafunc.fixturenames:
        raise pytest.UsageError(
            f"{metafunc.definition.nodeid}: a hunt must take the fixtures policy, env, episode and perturbation"
        )
    hunts = [key for key in hunts_of(asked, settings) if key.name not in finished]
    items = [replace(key, hand=hand) for hand in range(hands) for key in hunts]
    metafunc.fixturenames.append(PARAMETER)
    metafunc.parametrize(PARAMETER, items, ids=[key.id for key in items])


def hunts_of(asked: Hunted, settings: Settings) -> list[HuntKey]:
    """The hunts of one function under the options; what is wrong with them is one usage error."""
    from pytest_vla.perturb import PerturbationError, resolve

    if asked.refused:
        raise pytest.UsageError(asked.refused)
    run, options = settings.run, settings.robustness
    if run.suite and asked.suite not in run.suite:
        return []
    try:
        suite = get_suite(asked.suite)
        chosen = asked.partitions or [name for name in run.partition if name in suite.partitions()]
        cells = suite.select(asked.tasks, chosen)
        axes = tuple(resolve(options.axes or asked.axes or ("all",), suite.axes()))
    except (SuiteError, PerturbationError) as error:
        raise pytest.UsageError(f"hunt in suite '{asked.suite}': {error}") from None
    cells = [cell for cell in cells if not run.task or cell[0] in run.task]
    cells = [cell for cell in cells if not run.partition or cell[1] in run.partition]
    scenes = next(n for n in (options.hunt_scenes, asked.scenes, DEFAULT_SCENES) if n is not None)
    budget = next(n for n in (options.hunt_episodes, asked.episodes, DEFAULT_EPISODES) if n is not None)
    return [HuntKey(asked.suite, task, partition, axes, scenes, run.first_episode, budget) for task, partition in cells]


def check_unique_hunts(items: list[pytest.Item]) -> None:
    """A task is hunted once: two functions that do would take each other's answers and overwrite each other's line."""
    functions: dict[HuntName, str] = {}
    for item in items:
        key = hunt_of(item)
        if key is None:
            continue
        function = item.nodeid.partition("[")[0]
        other = functions.setdefault(key.name, function)
        if other != function:
            raise pytest.UsageError(f"{key.where} is hunted twice: by {other} and by {function}")
