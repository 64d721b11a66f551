"""Which files, benchmarks and episodes this invocation is about: from options and marks to pytest parameters."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path

import pytest

from pytest_vla.benchmark import MARK, Benchmark
from pytest_vla.episode import EpisodeKey
from pytest_vla.hunt.items import HuntKey, hunt_of
from pytest_vla.hunt.mark import MARK as HUNT_MARK
from pytest_vla.options import RobustnessOptions, RunOptions, Settings
from pytest_vla.outline import Wanted
from pytest_vla.registry import family_of, get_suite, get_suites, shipped_test_modules, suite_names, typed_suite
from pytest_vla.run.plan import HuntName
from pytest_vla.suggest import unknown
from pytest_vla.suite import Suite, SuiteError

DEFAULT_EPISODES = 10

_USES_PYTEST_VLA = re.compile(rb"\bpytest_vla\b")
_DEFINES_A_BENCHMARK = re.compile(rb"\b(benchmark|hunt)\s*\(")
_HUNTS = re.compile(rb"^\s*@(\w+\.)*hunt\s*\(", re.MULTILINE)
_MAKES_A_SUITE = re.compile(rb"""\bbenchmark\s*\(\s*[^"'\s]""")


def wrong_name(options: RunOptions, known: Sequence[str], suites: Sequence[Suite]) -> str | None:
    """The message for the first suite, task or partition in the options that does not exist, if there is one."""
    for name in options.suite:
        if name not in known:
            return f"--vla-suite: {unknown('suite', name, known)}"
    where = f"in {', '.join(suite.name for suite in suites)}"
    for kind, names, existing in (
        ("task", options.task, [task for suite in suites for task in suite.tasks()]),
        ("partition", options.partition, [partition for suite in suites for partition in suite.partitions()]),
    ):
        for name in names:
            if name not in existing:
                return f"--vla-{kind}: {unknown(kind, name, list(dict.fromkeys(existing)), where)}"
    return None


def check_checkout(config: pytest.Config) -> None:
    """Two copies of one module cannot be imported: a checkout is tested by its own pytest-vla."""
    here, used = config.rootpath / "pytest_vla", Path(__file__).parent
    if (here / Path(__file__).name).is_file() and here.resolve() != used.resolve():
        raise pytest.UsageError(
            f"this is a checkout of pytest-vla ({here}), but the pytest-vla that runs is another one ({used}): "
            "pip install -e . here, or start from another folder"
        )


def name_members(options: RunOptions) -> None:
    """Make the suites known that are named by what they are made from, `FAMILY:...`; one of a family in a run."""
    named = [name for name in options.suite if family_of(name)]
    families = [family_of(name) for name in named]
    if len(set(families)) < len(families):
        raise pytest.UsageError(f"--vla-suite: one suite of a family in a run, got {', '.join(named)}")
    for name in named:
        try:
            typed_suite(name).cells()
        except SuiteError as error:
            raise pytest.UsageError(f"--vla-suite: {error}") from None


def check_before_collection(options: RunOptions, own_files: bool) -> None:
    """Wrong names are usage errors at once, except where test files of the user's own may define a suite."""
    if own_files:
        return
    known = suite_names()
    suites = get_suites([name for name in options.suite if name in known])
    _refuse(wrong_name(options, known, suites))


def check_after_collection(settings: Settings, asked: list[Benchmark]) -> None:
    """With the user's own files collected, their suites are known too."""
    if settings.inference.policy is None:
        return
    named = settings.run.suite
    suites = [get_suite(name) for name in dict.fromkeys(benchmark.suite for benchmark in asked)]
    chosen = [suite for suite in suites if not named or suite.name in named]
    _refuse(wrong_name(settings.run, suite_names(), chosen or suites) if suites or named else None)
    if suites:
        _refuse(_why_nothing(settings.run, suites, chosen))
    if settings.inference.policy == "oracle" and chosen and not any(suite.has_oracle for suite in chosen):
        raise pytest.UsageError(chosen[0].without_oracle)
    if settings.robustness.perturbing:
        from pytest_vla.perturb.plan import check_supported

        check_supported(settings.robustness, chosen)


def _why_nothing(options: RunOptions, suites: Sequence[Suite], chosen: Sequence[Suite]) -> str | None:
    """Names that exist, each, and have nothing in common: which do."""
    if not chosen:
        there = ", ".join(f"'{suite.name}'" for suite in suites)
        return f"--vla-suite={','.join(options.suite)}: the files that were collected are about {there}"
    if not (options.task and options.partition):
        return None
    cells = [cell for suite in chosen for cell in suite.cells() if cell[0] in options.task]
    if any(partition in options.partition for _, partition in cells):
        return None
    exist = dict.fromkeys(f"{task} in {partition}" for task, partition in cells)
    return f"no such task in --vla-partition={','.join(options.partition)}; there is {', '.join(exist)}"


def _refuse(message: str | None) -> None:
    if message:
        raise pytest.UsageError(message)


def default_files(config: pytest.Config, options: RunOptions) -> list[str]:
    """What to run when no path was typed.

    The user's own benchmark files come first, next to the shipped suites that --vla-suite names; without any of their
    own, all shipped suites but those that run only by name.
    """
    named = [name for name in options.suite if name in suite_names()]
    unknown_named = len(named) < len(options.suite)
    shipped_files = shipped_test_modules()
    own = [
        path
        for path, content in _benchmark_files(config)
        if str(path) not in shipped_files and _speaks_of(content, options.suite, unknown_named)
    ]
    suites = [get_suite(name) for name in named] if own or options.suite else _by_default()
    return [str(path) for path in dict.fromkeys([*own, *filter(None, (suite.test_file for suite in suites))])]


def _by_default() -> list[Suite]:
    return [suite for suite in get_suites() if not suite.only_by_name]


def _speaks_of(content: bytes, names: Sequence[str], unknown_named: bool) -> bool:
    """Whether a file may hold a benchmark of one of these suites: only those are imported.

    A suite that nobody knows yet may be defined anywhere, also in a file that does not spell out its name.
    """
    if not names or any(re.search(rf"""["']{re.escape(name)}["']""".encode(), content) for name in names):
        return True
    return unknown_named and _MAKES_A_SUITE.search(content) is not None


def asks_for_hunts(config: pytest.Config, paths: Sequence[str]) -> bool:
    """Whether a file among these, or in a folder among them, has `@vla.hunt`: how a policy is asked depends on it."""
    files = [config.invocation_params.dir / path.partition("::")[0] for path in paths]
    contents = [path.read_bytes() for path in files if path.is_file()]
    if config.args_source is pytest.Config.ArgsSource.ARGS:
        contents += [content for _, content in _benchmark_files(config)]
    return any(map(_HUNTS.search, contents))


def use_files(config: pytest.Config, files: Sequence[str]) -> None:
    """Make pytest collect these files as if they had been typed.

    Installed suites go by module name: their path would move the root folder away from where the user works.
    """
    shipped = shipped_test_modules()
    config.args = [shipped.get(path, path) if _is_outside(config, path) else path for path in files]
    config.option.pyargs = True


def _is_outside(config: pytest.Config, path: str) -> bool:
    return not Path(path).is_relative_to(config.rootpath)


def _benchmark_files(config: pytest.Config) -> Iterator[tuple[Path, bytes]]:
    """Test files in the folders that pytest is given that define benchmarks: found by reading, never by importing."""
    patterns, skipped = config.getini("python_files"), config.getini("norecursedirs")
    for root in map(Path, config.args):
        for folder, subfolders, files in os.walk(config.invocation_params.dir / root):
            subfolders[:] = sorted(
                name
                for name in subfolders
                if not any(fnmatch(name, pattern) for pattern in skipped)
                and name != "__pycache__"
                and not (Path(folder) / name / "pyvenv.cfg").exists()
            )
            for name in sorted(files):
                if any(fnmatch(name, pattern) for pattern in patterns):
                    path = Path(folder) / name
                    content = path.read_bytes()
                    if _USES_PYTEST_VLA.search(content) and _DEFINES_A_BENCHMARK.search(content):
                        yield path.resolve(), content


def benchmark_of(function: pytest.Item) -> Benchmark | None:
    """What `@vla.benchmark` asked of this test function, if it is one."""
    mark = function.get_closest_marker(MARK)
    return mark.args[0] if mark and mark.args and isinstance(mark.args[0], Benchmark) else None


def check_fixtures(metafunc: pytest.Metafunc) -> None:
    if "episode" not in metafunc.fixturenames:
        raise pytest.UsageError(
            f"{metafunc.definition.nodeid}: a benchmark function must take the fixtures policy, env and episode"
        )


def parametrize(metafunc: pytest.Metafunc, episodes: Sequence[EpisodeKey]) -> None:
    """Give a benchmark function one item per episode."""
    # Through the fixture of that name: a value that pytest itself hands over takes it twice as long.
    metafunc.parametrize("episode", episodes, indirect=True, ids=[key.id for key in episodes])


def wanted_of(asked: Benchmark, settings: Settings) -> Wanted:
    """The episodes of one benchmark function under the options, task by task."""
    run = settings.run
    if run.suite and asked.suite not in run.suite:
        return Wanted(asked.suite, "")
    try:
        suite = get_suite(asked.suite)
        cells = suite.select(asked.tasks, asked.partitions or _known(run.partition, suite.partitions()))
    except SuiteError as error:
        raise pytest.UsageError(str(error)) from None
    if run.task:
        cells = [cell for cell in cells if cell[0] in run.task]
    if run.partition:
        cells = [cell for cell in cells if cell[1] in run.partition]
    count = next(n for n in (run.episodes, asked.episodes, DEFAULT_EPISODES) if n is not None)
    indices = range(run.first_episode, run.first_episode + count)
    variants = [(name, repeat) for name in _perturbations(settings.robustness) for repeat in range(max(1, run.repeat))]
    return Wanted(suite.name, suite.version, _task_by_task(suite, cells), indices, tuple(variants))


def _perturbations(options: RobustnessOptions) -> list[str]:
    """None, or the control and what it is compared with."""
    if not options.perturbing:
        return [""]
    from pytest_vla.perturb.plan import planned_perturbations

    return planned_perturbations(options)


def _known(names: Iterable[str], known: Iterable[str]) -> list[str]:
    return [name for name in names if name in set(known)]


def _task_by_task(suite: Suite, cells: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Cells of one task next to each other: a worker keeps its environment."""
    order = {task: number for number, task in enumerate(suite.tasks())}
    return sorted(cells, key=lambda cell: order[cell[0]])


def drop_empty(items: list[pytest.Item]) -> None:
    """A benchmark without episodes here (another suite was asked for, or all are done) leaves no item behind."""
    items[:] = [item for item in items if key_of_item(item) is not None or not _is_ours(item)]


def _is_ours(item: pytest.Item) -> bool:
    return benchmark_of(item) is not None or item.get_closest_marker(HUNT_MARK) is not None


def key_of_item(item: pytest.Item) -> EpisodeKey | HuntKey | None:
    """The episode or the hunt of an item."""
    return episode_of(item) or hunt_of(item)


def episode_of(item: pytest.Item) -> EpisodeKey | None:
    """The episode of a benchmark item."""
    callspec = getattr(item, "callspec", None)
    value = callspec.params.get("episode") if callspec is not None else None
    return value if isinstance(value, EpisodeKey) else None


def hunts_in(items: Iterable[pytest.Item]) -> frozenset[HuntName]:
    return frozenset(hunt.name for item in items if (hunt := hunt_of(item)) is not None)


def functions_of(items: Sequence[pytest.Item]) -> dict[str, tuple[str, str]]:
    """The suite of each benchmark function and its version, by the node id without parameters."""
    functions: dict[str, tuple[str, str]] = {}
    for item in items:
        episode = episode_of(item)
        if episode is not None:
            functions.setdefault(item.nodeid.partition("[")[0], (episode.suite, episode.version))
    return functions
