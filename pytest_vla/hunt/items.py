"""Hunts as pytest items: which there are, and what one does when its turn comes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_vla.benchmark import Benchmark
from pytest_vla.episode import EpisodeKey, Result, builtin
from pytest_vla.hunt.mark import DEFAULT_EPISODES, DEFAULT_SCENES, MARK, Hunted
from pytest_vla.hunt.progress import Progress
from pytest_vla.suite import SuiteError, get_suite

if TYPE_CHECKING:
    from pytest_vla.execution import Execution
    from pytest_vla.hunt.search import Answer, Outcome, Probe
    from pytest_vla.hunt.space import Space
    from pytest_vla.options import Settings

REPORT = pytest.StashKey[dict[str, Any]]()


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

    def episode(self, index: int, perturbation: str) -> EpisodeKey:
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


def is_hunt_id(nodeid: str) -> bool:
    """Whether a node id is that of a hunt, where the item itself is in another process."""
    return re.search(r"-hunt(-hand\d+)?\]$", nodeid) is not None


def hunt_of(item: pytest.Item) -> HuntKey | None:
    """The hunt of a hunting item."""
    callspec = getattr(item, "callspec", None)
    value = callspec.params.get("episode") if callspec is not None else None
    return value if isinstance(value, HuntKey) else None


def parametrize_hunts(metafunc: pytest.Metafunc, asked: Hunted, settings: Settings, hands: int) -> None:
    """Give a hunting function one item per task, partition and hand; the first hands of all hunts come first."""
    if "episode" not in metafunc.fixturenames:
        raise pytest.UsageError(
            f"{metafunc.definition.nodeid}: a hunt must take the fixtures policy, env, episode and perturbation"
        )
    hunts = hunts_of(asked, settings)
    items = [replace(key, hand=hand) for hand in range(hands) for key in hunts]
    metafunc.parametrize("episode", items, ids=[key.id for key in items])


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


# --- running ----------------------------------------------------------------------------------------------------------


class Player:
    """Plays probes with the item's own test function: a probe is solved when the function does not object."""

    def __init__(self, item: pytest.Function, execution: Execution, key: HuntKey) -> None:
        self.item, self.execution, self.key = item, execution, key
        self.suite = get_suite(key.suite)
        self.env = execution.env_for(self.suite, key.task)
        self.policy = execution.policy_for(self.suite, self.env)

    def play(self, episode: EpisodeKey) -> tuple[Answer, dict[str, Any]]:
        """The answer and the line of the run file."""
        from pytest_vla.execution import RESULTS
        from pytest_vla.perturb import Perturbation

        offered = {
            "policy": self.policy,
            "env": self.env,
            "episode": episode,
            "perturbation": Perturbation.parse(episode.perturbation),
        }
        names = self.item._fixtureinfo.argnames
        arguments = {name: offered[name] if name in offered else self.item.funcargs[name] for name in names}
        objected = False
        results: list[Result] = self.item.stash.setdefault(RESULTS, [])
        results.clear()
        with self.execution.watching(self.item):
            try:
                self.item.obj(**arguments)
            except AssertionError:
                objected = True
        if not results:
            pytest.fail(f"{self.item.nodeid}: a hunt's function must call vla.rollout", pytrace=False)
        result = results[-1]
        if result.outcome == "error" and result.reason != "policy_error":
            self.execution.drop_env(self.suite, self.key.task)
            self.env = self.execution.env_for(self.suite, self.key.task)
            self.policy = self.execution.policy_for(self.suite, self.env)
        answer = None if result.outcome == "error" else not objected
        return answer, {**result.to_record(), "type": "probe", "nodeid": self.item.nodeid}


def run_hunt(item: pytest.Function, execution: Execution, folder: Path | None, hands: int) -> None:
    """Hunt as this item, or lend a hand to the item that does; fails when something was found."""
    from pytest_vla.hunt.crew import Crew, help_out

    key = hunt_of(item)
    assert key is not None
    player = Player(item, execution, key)
    crew = Crew.join(folder / key.id.partition("-hand")[0]) if folder and hands > 1 else None
    if crew is not None and not crew.leads:
        help_out(crew, player.play, key)
        return
    with crew.leading() if crew is not None else nullcontext():
        report = lead(player, execution, crew, hands)
    item.stash[REPORT] = report
    if report["causes"]:
        from pytest_vla.hunt.summary import cause_lines

        pytest.fail("\n".join(cause_lines(report)), pytrace=False)


def lead(player: Player, execution: Execution, crew: Any, hands: int) -> dict[str, Any]:
    """Search, remember what was found for the next time, and say it in built-in types."""
    from pytest_vla.hunt.ledger import Ledger
    from pytest_vla.hunt.search import Budget, Hunt, HuntError
    from pytest_vla.hunt.space import Space

    key, options = player.key, execution.settings.robustness
    space = Space.of(key.axes)
    records: list[dict[str, Any]] = []
    try:
        ledger = Ledger.open(options.hunt_database, player.item.config.rootpath, key)
        known = [point for text in ledger.finds() if (point := _point(space, text)) is not None]
        search = Hunt(
            space,
            asker(player, space, records, crew),
            Budget(key.budget, options.hunt_seconds or float("inf")),
            seeds=range(key.first_episode, key.first_episode + key.scenes),
            batch=hands if crew is not None else 1,
            known=known,
        )
        outcome = search.run()
    except HuntError as error:
        pytest.fail(f"{key.suite}/{key.task}-{key.partition}: {error}", pytrace=False)
    ledger.update(before=[str(space.perturbation(point)) for point in known], now=_found(outcome))
    return builtin(describe(key, outcome, records, _pictures(player, outcome)))  # type: ignore[no-any-return]


def asker(
    player: Player, space: Space, records: list[dict[str, Any]], crew: Any
) -> Callable[[Sequence[Probe]], list[Answer]]:
    """The search's `ask`: plays here, or lets the crew play too."""

    progress = Progress(player.item, player.key)

    def ask(probes: Sequence[Probe]) -> list[Answer]:
        episodes = [player.key.episode(probe.seed, str(space.perturbation(probe.point))) for probe in probes]
        played = crew.play(episodes, player.play) if crew is not None else [player.play(each) for each in episodes]
        records.extend(record for _, record in played)
        answers = [answer for answer, _ in played]
        progress.add(len(answers), answers.count(False))
        return answers

    return ask


def describe(
    key: HuntKey, outcome: Outcome, records: list[dict[str, Any]], pictures: dict[str, bytes]
) -> dict[str, Any]:
    """A hunt as one line of the run file, with its probes to be written beside it."""
    from pytest_vla.hunt.brittleness import brittleness
    from pytest_vla.hunt.space import active, severity

    space = outcome.space
    return {
        "type": "hunt",
        "suite": key.suite,
        "task": key.task,
        "partition": key.partition,
        "axes": list(key.axes),
        "episodes": outcome.episodes,
        "errors": outcome.errors,
        "overloads": outcome.overloads,
        "control": [sum(bool(a) for a in outcome.control.values()), len(outcome.control)],
        "tested": outcome.tested(),
        "causes": [
            {
                "perturbation": str(space.perturbation(cause.point)),
                "failed": cause.failed,
                "asked": cause.asked,
                "index": cause.seed,
                "shrink_episodes": cause.shrink_episodes,
            }
            for cause in sorted(outcome.causes, key=lambda cause: (len(active(cause.point)), severity(cause.point)))
        ],
        "map": brittleness(outcome),
        "probes": records,
        "pictures": {name: data.hex() for name, data in pictures.items()},
    }


def _found(outcome: Outcome) -> list[str]:
    return [str(outcome.space.perturbation(cause.point)) for cause in outcome.causes]


def _point(space: Space, text: str) -> Any:
    """A remembered find in this space; None when it has axes that are not hunted now."""
    from pytest_vla.perturb import Perturbation, PerturbationError

    try:
        perturbation = Perturbation.parse(text)
    except PerturbationError:
        return None
    return space.point(perturbation) if all(name in space.axes for name, _ in perturbation.levels) else None


def _pictures(player: Player, outcome: Outcome) -> dict[str, bytes]:
    from pytest_vla.hunt.frames import side_by_side

    found = {}
    for cause in outcome.causes:
        text = str(outcome.space.perturbation(cause.point))
        pixels = side_by_side(player.suite, player.env, player.key.episode(cause.seed, text))
        if pixels is not None:
            found[text] = pixels
    return found
