"""The pytest plugin: hooks and fixtures, each a few lines that call into a room of the package."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

# All of these are light: numpy, gymnasium, torch and the simulators are imported where an episode needs them.
from pytest_vla.benchmark import Benchmark
from pytest_vla.collection import (
    benchmark_of,
    check_after_collection,
    check_before_collection,
    check_unique,
    default_files,
    drop_empty,
    episode_of,
    key_of_item,
    parametrize,
    use_files,
)
from pytest_vla.episode import EpisodeKey
from pytest_vla.execution import Execution, decorate, junit_properties, result_of, start_report, suite_of
from pytest_vla.gate.hooks import register_gate
from pytest_vla.hunt.hooks import HuntHooks
from pytest_vla.hunt.items import HuntKey
from pytest_vla.inference.session import told
from pytest_vla.options import add_options, read_settings
from pytest_vla.policies import Policy
from pytest_vla.recorder import Recorder, is_worker, keys_from_worker
from pytest_vla.report.session import register_report
from pytest_vla.run import read_run
from pytest_vla.suite import shipped_test_modules
from pytest_vla.train.recording import register_recording

if TYPE_CHECKING:
    import gymnasium

    from pytest_vla.perturb import Perturbation

EXECUTION: pytest.StashKey[Execution] = pytest.StashKey()
ASKED: pytest.StashKey[list[Benchmark]] = pytest.StashKey()
RECORDER: pytest.StashKey[Recorder] = pytest.StashKey()
HUNTS: pytest.StashKey[HuntHooks] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the --vla-* options."""
    add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Read the settings, and choose what to run when no path was typed."""
    config.addinivalue_line("markers", "vla(benchmark): an episode of a pytest-vla suite; set by @vla.benchmark")
    config.addinivalue_line("markers", "vla_hunt(hunted): a hunt in a pytest-vla suite; set by @vla.hunt")
    settings = read_settings(config)
    served = getattr(config, "workerinput", {}).get("vla_served")
    config.stash[EXECUTION] = Execution(settings, is_worker(config), served)
    config.stash[ASKED] = []
    config.stash[HUNTS] = HuntHooks(config, config.stash[EXECUTION])
    config.pluginmanager.register(config.stash[HUNTS], "vla-hunts")
    register_gate(config, settings)
    register_report(config, settings)
    register_recording(config, settings)
    if config.pluginmanager.hasplugin("xdist"):
        config.pluginmanager.register(XdistHooks(), "vla-xdist")
    if settings.perturbing:
        from pytest_vla.perturb.plan import planned_perturbations

        planned_perturbations(settings)  # what cannot be read is said at once
    if config.option.help or not (settings.policy or settings.suite):
        return
    typed = config.args_source is pytest.Config.ArgsSource.ARGS
    files = config.args if typed else default_files(config, settings)
    if not is_worker(config):
        check_before_collection(settings, own_files=typed or any(not _is_shipped(path) for path in files))
    if not typed:
        use_files(config, files)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """On the controller: load the policy and open the run file before any worker exists."""
    config = session.config
    settings = config.stash[EXECUTION].settings
    if is_worker(config) or config.option.collectonly:
        return
    if settings.policy is None:
        if settings.suite:
            raise pytest.UsageError("--vla-suite names what to run; add --vla-policy=SPEC to say with which policy")
        return
    recorder = config.stash[RECORDER] = Recorder.start(config, settings)
    config.stash[EXECUTION].use(recorder.source)
    config.stash[HUNTS].session = recorder  # type: ignore[assignment]
    if settings.resume:
        config.stash[HUNTS].resume(read_run(recorder.writer.path))
    config.pluginmanager.register(recorder, "vla-recorder")


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say which policy is tested and where the results go."""
    recorder = config.stash.get(RECORDER, None)
    if recorder is None:
        return None
    resumed = f", resuming after {len(recorder.done)} episodes" if recorder.done else ""
    digest = "" if recorder.source.digest.startswith("builtin:") else f" ({recorder.source.digest[:19]})"
    return f"vla: policy {recorder.source.text}{digest}, run {recorder.writer.path}{resumed}"


def pytest_pycollect_makemodule(module_path: Any, parent: pytest.Collector) -> pytest.Module | None:
    """Give a suite that is installed far from here the same short node ids as in a checkout."""
    if not _is_shipped(module_path) or module_path.is_relative_to(parent.config.rootpath):
        return None
    name = module_path.parent.name
    return pytest.Module.from_parent(parent, path=module_path, nodeid=f"suites/{name}/{module_path.name}")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Turn a benchmark function into one item per episode, a hunting one into one item per hunt."""
    hunted = metafunc.config.stash[HUNTS].parametrize(metafunc)
    asked = hunted or benchmark_of(metafunc.definition)
    if hunted is not None:
        metafunc.config.stash[ASKED].append(hunted)
    elif asked is not None:
        metafunc.config.stash[ASKED].append(asked)
        parametrize(metafunc, asked, metafunc.config.stash[EXECUTION].settings, _done(metafunc.config))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Drop benchmarks that have nothing to run here; refuse to measure one episode twice."""
    try:
        check_after_collection(config.stash[EXECUTION].settings, config.stash[ASKED])
        config.stash[HUNTS].check(items)
        drop_empty(items)
        check_unique(items)
    except pytest.UsageError as error:
        if not is_worker(config):
            raise
        config.workeroutput["vla_usage_error"] = str(error)  # type: ignore[attr-defined]
        items.clear()


def pytest_collection_finish(session: pytest.Session) -> None:
    """Without xdist the plan is known here."""
    recorder = session.config.stash.get(RECORDER, None)
    if recorder is not None and session.items:
        recorder.planned(sum(episode_of(item) is not None for item in session.items))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """A worker tells the controller which episode begins; both listen for its result."""
    episode = episode_of(item)
    if episode is None:
        return (yield)
    execution = item.config.stash[EXECUTION]
    if execution.is_worker:
        item.ihook.pytest_runtest_logreport(report=start_report(item, episode))
    with execution.watching(item):
        return (yield)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what cannot run here, with the command that changes that."""
    key = key_of_item(item)
    if key is not None:
        reason = item.config.stash[EXECUTION].skip_reason(suite_of(key))
        if reason:
            pytest.skip(reason)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Attach the result of an episode to the report that crosses to the controller."""
    episode = episode_of(item)
    result = result_of(item, call) if episode is not None else None
    if result is not None:
        item.user_properties += junit_properties(result)
    report: pytest.TestReport = yield  # type: ignore[assignment]
    if episode is not None and result is not None:
        decorate(report, item, result)
        if result.outcome == "error" and result.reason != "policy_error":
            item.config.stash[EXECUTION].drop_env(suite_of(episode), episode.task)
    return report  # type: ignore[return-value]


def pytest_report_teststatus(report: Any, config: pytest.Config) -> tuple[str, str, Any] | None:
    """Solved is pytest's passed, unsolved and error are categories of their own; the progress line replaces letters."""
    record = getattr(report, "vla", None)
    if record is None or (report.failed and record["outcome"] == "solved"):
        return None  # not an episode; or solved, but the test asserted something more
    category = record["outcome"] if report.failed else "passed"
    letter, color = {"passed": (".", "green"), "unsolved": ("u", "yellow"), "error": ("E", "red")}[category]
    recorder = config.stash.get(RECORDER, None)
    if recorder is not None and recorder.live.active:
        return category, "", ""
    word = "SOLVED" if record["outcome"] == "solved" else category.upper()
    return category, letter, (word, {color: True})


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Close the simulators of this process."""
    session.config.stash[EXECUTION].close()


class XdistHooks:
    """What only exists with pytest-xdist."""

    def pytest_configure_node(self, node: Any) -> None:
        """Workers and their replacements all collect the same: the controller says what is done already."""
        node.workerinput["vla_done"] = [list(key) for key in sorted(_done(node.config))]
        recorder = node.config.stash.get(RECORDER, None)
        if recorder is not None and recorder.service is not None:
            node.workerinput["vla_served"] = told(recorder.service, node.gateway.id)

    def pytest_xdist_node_collection_finished(self, node: Any, ids: list[str]) -> None:
        recorder = node.config.stash.get(RECORDER, None)
        episodes = [name for name in ids if "-hunt" not in name]
        if recorder is not None and episodes and not recorder.live.total:
            recorder.planned(len(episodes))

    def pytest_testnodedown(self, node: Any, error: object) -> None:
        recorder = node.config.stash.get(RECORDER, None)
        message = (getattr(node, "workeroutput", None) or {}).get("vla_usage_error")
        if recorder is not None and message:
            recorder.usage_error = message

    def pytest_handlecrashitem(self, crashitem: str, report: pytest.TestReport, sched: Any) -> None:
        recorder = sched.config.stash.get(RECORDER, None)
        if recorder is not None:
            recorder.crashed(report)

    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> Any:
        """Work stealing is what suits episodes of unequal length; an explicit --dist still wins."""
        typed = any(str(arg).startswith("--dist") for arg in config.invocation_params.args)
        if typed or config.getvalue("dist") != "load" or config.stash.get(RECORDER, None) is None:
            return None
        from xdist.scheduler import WorkStealingScheduling

        return WorkStealingScheduling(config, log)


@pytest.fixture
def episode(request: pytest.FixtureRequest, hunt: HuntKey | None) -> EpisodeKey:
    """The episode of this item, by `@vla.benchmark`; of a hunt the first one, before each probe brings its own."""
    if hunt is not None:
        return hunt.episode(hunt.first_episode)
    raise pytest.UsageError(f"{request.node.nodeid} uses the fixtures of pytest-vla without @vla.benchmark(SUITE)")


@pytest.fixture
def env(request: pytest.FixtureRequest, episode: EpisodeKey) -> gymnasium.Env[Any, Any]:
    """An environment of the episode's suite, kept between items of a worker; `rollout` resets it."""
    return request.config.stash[EXECUTION].env_for(suite_of(episode), episode.task)


@pytest.fixture
def perturbation(episode: EpisodeKey) -> Perturbation:
    """What is off neutral in this episode; a hunt gives it to each probe."""
    from pytest_vla.perturb import Perturbation

    return Perturbation.parse(episode.perturbation)


@pytest.fixture
def policy(request: pytest.FixtureRequest, env: gymnasium.Env[Any, Any], episode: EpisodeKey) -> Policy:
    """The policy under test, as named by --vla-policy."""
    return request.config.stash[EXECUTION].policy_for(suite_of(episode), env)


def _done(config: pytest.Config) -> frozenset[Any]:
    """Episodes that a resumed run has already, the same in every process."""
    if hasattr(config, "workerinput"):
        return keys_from_worker(config.workerinput["vla_done"])
    recorder = config.stash.get(RECORDER, None)
    return recorder.done if recorder is not None else frozenset()


def _is_shipped(path: Any) -> bool:
    return str(path) in shipped_test_modules()
