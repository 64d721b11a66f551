"""The pytest plugin: hooks and fixtures, each a few lines that call into a room of the package."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

# All of these are light: numpy, gymnasium, torch and the simulators are imported where an episode needs them.
from pytest_vla.benchmark import Benchmark
from pytest_vla.collection import (
    asks_for_hunts,
    benchmark_of,
    check_after_collection,
    check_before_collection,
    check_checkout,
    check_fixtures,
    default_files,
    drop_empty,
    functions_of,
    key_of_item,
    name_members,
    use_files,
    wanted_of,
)
from pytest_vla.command_line import add_options, read_settings
from pytest_vla.engines import expect_losses
from pytest_vla.episode import EpisodeKey
from pytest_vla.execution import RESULTS, WHY, Execution, explain, outcome_of, suite_named
from pytest_vla.fixtures import Fixtures
from pytest_vla.forgetting import Forgetting, Hush, forget, lightened
from pytest_vla.gate.evidence import GateError
from pytest_vla.gate.registration import register_gate
from pytest_vla.hunt.hooks import HuntHooks
from pytest_vla.hunt.items import HuntKey
from pytest_vla.inference.session import told
from pytest_vla.logs import Log
from pytest_vla.messages import (
    NotRun,
    Planned,
    Rolled,
    Working,
    attach,
    is_repeated,
    is_worker,
    outcomes_of,
    send,
    sendable,
)
from pytest_vla.planning import Planning
from pytest_vla.policies.trust import trust
from pytest_vla.reference import reference_run
from pytest_vla.registry import shipped_test_modules
from pytest_vla.report.session import register_report
from pytest_vla.run import KeySet
from pytest_vla.scheduling import BlockScheduling
from pytest_vla.session import Session
from pytest_vla.several import run_each, split
from pytest_vla.suite import provide
from pytest_vla.train.recording import register_recording
from pytest_vla.unmade import WHOLE_PLAN

if TYPE_CHECKING:
    from pytest_vla.gate.plugin import GateHooks

EXECUTION: pytest.StashKey[Execution] = pytest.StashKey()
FIXTURES: pytest.StashKey[Fixtures] = pytest.StashKey()
ASKED: pytest.StashKey[list[Benchmark]] = pytest.StashKey()
SESSION: pytest.StashKey[Session] = pytest.StashKey()
HUNTS: pytest.StashKey[HuntHooks] = pytest.StashKey()
GATE: pytest.StashKey[GateHooks | None] = pytest.StashKey()
PLANNING: pytest.StashKey[Planning] = pytest.StashKey()
PLANNED: pytest.StashKey[Planned] = pytest.StashKey()
"""What a worker has still to tell the controller."""

CATEGORIES = {"solved": ("passed", ".", "SOLVED", "green"), "unsolved": ("unsolved", "u", "UNSOLVED", "yellow")}
CATEGORIES["error"] = ("error", "E", "ERROR", "red")
FROM_BAD_TO_GOOD = ("error", "unsolved", "solved")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the --vla-* options."""
    add_options(parser)


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> int | None:
    """Several policies are several runs, one after the other."""
    policies, others = split(list(map(str, config.invocation_params.args)))
    if len(policies) < 2 or is_worker(config) or config.option.help or config.option.collectonly:
        return None
    return run_each(policies, others)


def pytest_configure(config: pytest.Config) -> None:
    """Read the settings, and choose what to run when no path was typed."""
    config.addinivalue_line("markers", "vla(benchmark): an episode of a pytest-vla suite; set by @vla.benchmark")
    config.addinivalue_line("markers", "vla_hunt(hunted): a hunt in a pytest-vla suite; set by @vla.hunt")
    settings = read_settings(config)
    expect_losses(config, settings)
    provide(settings.run.data, settings.run.env_memory)
    trust(settings.inference.trust_policy)
    served = getattr(config, "workerinput", {}).get("vla_served")
    config.stash[EXECUTION] = Execution(settings, is_worker(config), served)
    if is_worker(config):
        config.pluginmanager.register(Hush(), "vla-hush")
    if "vla_log" in getattr(config, "workerinput", {}):
        config.pluginmanager.register(WorkerLog(Log(Path(config.workerinput["vla_log"]))), "vla-log")  # type: ignore[attr-defined]
    config.stash[FIXTURES] = Fixtures(config.stash[EXECUTION], config)
    config.pluginmanager.register(config.stash[FIXTURES], "vla-fixtures")
    config.stash[ASKED] = []
    config.stash[PLANNING] = Planning(config)
    config.stash[HUNTS] = HuntHooks(config, config.stash[EXECUTION])
    config.pluginmanager.register(config.stash[HUNTS], "vla-hunts")
    config.stash[GATE] = register_gate(config, settings)
    register_report(config, settings)
    register_recording(config, settings)
    if settings.report.media is not None:
        from pytest_vla.report.media import register_media

        register_media(config, settings, config.stash[EXECUTION])
    if config.pluginmanager.hasplugin("xdist"):
        config.pluginmanager.register(XdistHooks(), "vla-xdist")
    if config.option.help or not (settings.inference.policy or settings.run.suite):
        return
    check_checkout(config)
    name_members(settings.run)
    typed = config.args_source is pytest.Config.ArgsSource.ARGS
    files = config.args if typed else default_files(config, settings.run)
    own_files = typed or any(not _is_shipped(path) for path in files)
    if asks_for_hunts(config, files):
        config.stash[EXECUTION].settings = settings.with_mode(hunting=True)
        config.stash[HUNTS].are_expected = True
    if settings.robustness.perturbing:
        from pytest_vla.perturb.plan import check_readable

        check_readable(settings.robustness, own_suites=own_files)
    if not is_worker(config):
        check_before_collection(settings.run, own_files=own_files)
    if not typed:
        use_files(config, files)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """On the controller: load the policy and open the run file before any worker exists."""
    config = session.config
    settings = config.stash[EXECUTION].settings
    if is_worker(config) or config.option.collectonly:
        return
    if settings.inference.policy is None:
        if settings.run.suite:
            raise pytest.UsageError("--vla-suite names what to run; add --vla-policy=SPEC to say with which policy")
        return
    run = config.stash[SESSION] = Session.start(config, settings)
    run.reference = reference_run(config, settings.gate.reference, run.folder)
    config.stash[EXECUTION].use(run.source)
    config.stash[HUNTS].attend(run.folder, run.before)
    gate = config.stash[GATE]
    if gate is not None:
        run.gate = gate.attend(run.folder)
        if gate.flags is not None and run.cluster is not None:
            gate.flags.tell = run.cluster.tell
    config.pluginmanager.register(run, "vla-session")
    config.pluginmanager.register(Forgetting(config), "vla-forgetting")


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say which policy is tested and where the results go."""
    run = config.stash.get(SESSION, None)
    return run.header() if run is not None else None


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
        check_fixtures(metafunc)
        wanted = wanted_of(asked, metafunc.config.stash[EXECUTION].settings)
        metafunc.config.stash[PLANNING].add(metafunc, wanted, _done(metafunc.config))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Drop benchmarks that have nothing to run here; refuse to measure one episode twice; keep this shard's items."""
    try:
        check_after_collection(config.stash[EXECUTION].settings, config.stash[ASKED])
        config.stash[HUNTS].check(items)
        drop_empty(items)
        config.stash[PLANNING].arrange(items, config.stash[GATE], config.stash[EXECUTION].lacks)
    except (pytest.UsageError, GateError) as error:
        if not is_worker(config):
            raise pytest.UsageError(str(error)) from None
        config.workeroutput["vla_usage_error"] = str(error)  # type: ignore[attr-defined]
        items.clear()


@pytest.hookimpl(wrapper=True)
def pytest_collection_finish(session: pytest.Session) -> Iterator[None]:
    """The plan is known where items are collected; a worker tells it with its first item."""
    config = session.config
    items, planning = session.items, config.stash[PLANNING]
    outlined = planning.outline(items) is not None
    if outlined:
        session.items = planning.shown_to_xdist(session)
    yield
    if outlined:
        session.items = planning.unmade(items)
    if config.option.collectonly or not any(key_of_item(item) for item in items):
        return
    gc.freeze()  # items live until the end: looking through all of them again and again frees nothing
    plan = planning.plan(items, _done(config))
    gate = config.stash[GATE]
    scope = gate.scope(plan) if gate is not None else None
    leaked = config.stash[EXECUTION].leaked(plan)
    planned = Planned(plan, functions_of(items), scope, leaked, planning.unavailable)
    if SESSION in config.stash:
        config.stash[SESSION].take(planned)
    elif is_worker(config):
        config.stash[PLANNED] = planned


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """Listen to the rollouts of an item; the first one of a worker takes the plan along."""
    execution = item.config.stash[EXECUTION]
    key = execution.current = key_of_item(item)
    if key is None:
        return (yield)
    if PLANNED in item.config.stash:
        send(item, Working(os.getpid()))
        send(item, item.config.stash[PLANNED])
        del item.config.stash[PLANNED]
    if not isinstance(key, EpisodeKey):
        return (yield)
    execution.locate(item)
    try:
        with execution.watching(item, execution.upcoming(item, key), last=nextitem is None):
            return (yield)
    finally:
        forget(item, RESULTS, WHY)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what a gate needs no more, and what cannot run here, with the command that changes that."""
    key = key_of_item(item)
    gate = item.config.stash[GATE]
    if isinstance(key, EpisodeKey) and gate is not None and gate.flags is not None:
        decided = gate.flags.reason(key)
        if decided is not None:
            item.stash[WHY] = decided[0]
            pytest.skip(decided[1])
    if key is not None:
        reason = item.config.stash[EXECUTION].skip_reason(key)
        if reason:
            pytest.skip(reason)
    if isinstance(key, EpisodeKey):
        item.config.stash[FIXTURES].hand_over(item)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Attach what came of an episode to the report that crosses to the controller."""
    report: pytest.TestReport = yield  # type: ignore[assignment]
    if call.when != "call" and call.excinfo is None:
        return report  # type: ignore[return-value]
    key = key_of_item(item)
    if isinstance(key, HuntKey) and report.skipped:
        why = str(call.excinfo.value) if call.excinfo is not None else ""
        attach(item.config, report, NotRun((key.suite, key.task, key.partition), "unavailable", why))
    if isinstance(key, EpisodeKey):
        execution = item.config.stash[EXECUTION]
        outcome = outcome_of(item, call, execution.settings.run.repeat)
        if outcome is not None:
            attach(item.config, report, outcome)
        if isinstance(outcome, Rolled):
            explain(report, [record.result for record in outcome.records], execution.settings.gate.gating)
            if any(record.outcome == "error" and record.result.reason != "policy_error" for record in outcome.records):
                execution.drop_env(suite_named(key.suite), key.task)
    return report  # type: ignore[return-value]


def pytest_report_teststatus(report: Any, config: pytest.Config) -> tuple[str, str, Any] | None:
    """Solved is pytest's passed, unsolved and error are categories of their own; the progress line replaces letters."""
    outcomes = outcomes_of(report)
    if not outcomes:
        return None
    worst = next(outcome for outcome in FROM_BAD_TO_GOOD if outcome in outcomes)
    if report.failed and worst == "solved":
        return None  # solved, but the test asserted something more
    counted = report.failed or config.stash[EXECUTION].settings.gate.gating or worst == "solved"
    if is_repeated(report):
        return "repeated", "e", ("ERROR", {"red": True})
    category, letter, word, color = CATEGORIES[worst] if counted else ("passed", ".", "PASSED", "green")
    run = config.stash.get(SESSION, None)
    if run is not None and run.live.active:
        return category, "", ""
    return category, letter, (word, {color: True})


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Close the simulators of this process."""
    session.config.stash[EXECUTION].close()
    gc.unfreeze()


class XdistHooks:
    """What only exists with pytest-xdist."""

    def pytest_configure_node(self, node: Any) -> None:
        """Workers and their replacements all collect the same: the controller says what is done already."""
        node.workerinput["vla_done"] = _done(node.config).to_list()
        node.workerinput[WHOLE_PLAN] = hands_out_blocks(node.config)
        run = node.config.stash.get(SESSION, None)
        if run is not None:
            node.workerinput["vla_log"] = str(run.log_of(node.gateway.id))
        if run is not None and run.cluster is not None:
            run.cluster.tell_worker(node)
        elif run is not None and run.service is not None:
            node.workerinput["vla_served"] = told(run.service, node.gateway.id)

    @pytest.hookimpl(wrapper=True)
    def pytest_report_to_serializable(self, config: pytest.Config) -> Iterator[None]:
        """What cannot be sent would end the worker and lose its episode: it is sent as text."""
        data: Any = yield
        return sendable(lightened(data)) if is_worker(config) else data  # type: ignore[no-any-return]

    def pytest_testnodedown(self, node: Any, error: object) -> None:
        run = node.config.stash.get(SESSION, None)
        message = (getattr(node, "workeroutput", None) or {}).get("vla_usage_error")
        if run is not None and message:
            run.usage_error = message

    def pytest_handlecrashitem(self, crashitem: str, report: pytest.TestReport, sched: Any) -> None:
        run = sched.config.stash.get(SESSION, None)
        if run is not None:
            run.crashed(report)

    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> Any:
        """Blocks suit episodes of unequal length and workers that come and go; an explicit --dist still wins."""
        if not hands_out_blocks(config):
            return None
        run = config.stash[SESSION]
        first = len(config.getoption("tx")) if run.cluster is None else 1
        scheduling = BlockScheduling(config, first, run.settings.gate.early_stop, run.is_written, run.lost)
        config.pluginmanager.register(scheduling, "vla-scheduling")
        if run.cluster is not None:
            run.cluster.attend(scheduling, together=config.stash[HUNTS].are_expected)
        return scheduling


def hands_out_blocks(config: pytest.Config) -> bool:
    """Whether our scheduler serves this run: a run of episodes for which no other way was typed."""
    typed = any(str(arg).startswith("--dist") for arg in config.invocation_params.args)
    return not typed and config.getvalue("dist") == "load" and config.stash.get(SESSION, None) is not None


class WorkerLog:
    """Keeps what a worker's items print: pytest shows it of failures, and a test that fails for another reason."""

    def __init__(self, log: Log) -> None:
        self.log = log

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        said = [text for title, text in report.sections if title.endswith(report.when or "")]
        if any(said):
            self.log.write(f"--- {report.nodeid} ({report.when})\n" + "\n".join(filter(None, said)) + "\n")


def _done(config: pytest.Config) -> KeySet:
    """Items that a resumed run has already, the same in every process."""
    if hasattr(config, "workerinput"):
        return KeySet.from_list(config.workerinput["vla_done"])
    run = config.stash.get(SESSION, None)
    return run.done if run is not None else KeySet()


def _is_shipped(path: Any) -> bool:
    return str(path) in shipped_test_modules()
