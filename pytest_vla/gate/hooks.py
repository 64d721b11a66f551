"""The gate's share of a pytest session: what it adds to the plugin when a gate, a shard or repeats are asked for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_vla.collection import episode_of
from pytest_vla.episode import EpisodeKey
from pytest_vla.gate.comparisons import check_versions
from pytest_vla.gate.flips import flip_rate
from pytest_vla.gate.judge import Judgement
from pytest_vla.gate.rules import check_rules
from pytest_vla.gate.schedule import in_shard, interleaved, make_plan, plan_to_dict, read_shard
from pytest_vla.gate.session import GateSession, StopFlags, rules_of
from pytest_vla.gate.verdict import GateError
from pytest_vla.options import Settings
from pytest_vla.suite import get_suite, suite_names

if TYPE_CHECKING:
    from pytest_vla.recorder import Recorder

# What the controller tells its workers.
STOP_FOLDER = "vla_stop_folder"
BASELINE_VERSIONS = "vla_baseline_versions"


def register_gate(config: pytest.Config, settings: Settings) -> None:
    """Add the hooks below where they have something to do; rules or a baseline that cannot be used end the run here.

    Where syrupy is active its snapshots get our two kinds as well.
    """
    if config.pluginmanager.hasplugin("syrupy"):
        config.pluginmanager.import_plugin("pytest_vla.gate.snapshots")
    if not (settings.gate.gating or settings.run.shard or settings.run.repeat > 1) or config.option.help:
        return
    try:
        config.pluginmanager.register(GateHooks(config, settings), "vla-gate")
    except GateError as error:
        raise pytest.UsageError(str(error)) from None


class GateHooks:
    """Hooks of the controller and of the workers; with `-n0` one process is both."""

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        self.config, self.settings = config, settings
        self.rules = rules_of(settings)
        told: dict[str, Any] = getattr(config, "workerinput", {})
        self.is_worker = bool(told)
        self.session = GateSession(settings) if settings.gate.gating and not self.is_worker else None
        self.versions = self.session.baseline_versions() if self.session else told.get(BASELINE_VERSIONS, {})
        self.flags = StopFlags(Path(told[STOP_FOLDER]), self.rules.by) if STOP_FOLDER in told else None
        self._plan: dict[str, Any] | None = None
        self._judgement: Judgement | None = None

    # --- every process -----------------------------------------------------------------------------------------------

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep this shard's items, in the order a gate wants them, and note what the gate will compare."""
        try:
            self._arrange(items)
        except GateError as error:
            if not self.is_worker:
                raise pytest.UsageError(str(error)) from None
            self.config.workeroutput["vla_usage_error"] = str(error)  # type: ignore[attr-defined]
            items.clear()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """The first item takes the plan along: only who collects knows it, and the controller of xdist does not."""
        if self._plan is not None and episode_of(item) is not None:
            report = pytest.TestReport(item.nodeid, item.location, {}, "passed", None, "setup", duration=0)
            report.vla_plan, self._plan = self._plan, None  # type: ignore[attr-defined]
            item.ihook.pytest_runtest_logreport(report=report)
        return (yield)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Skip an episode whose question is answered."""
        episode = episode_of(item)
        reason = self.flags.reason(episode) if self.flags is not None and episode is not None else None
        if reason:
            pytest.skip(reason)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
        """Under a gate an unsolved episode is a measurement like any other: the verdict fails the run, or does not."""
        report: Any = yield
        record = getattr(report, "vla", None)
        if self.settings.gate.gating and record and record["outcome"] == "unsolved" and report.failed:
            report.outcome, report.longrepr = "passed", None
        return report  # type: ignore[no-any-return]

    # --- the controller ----------------------------------------------------------------------------------------------

    def pytest_sessionstart(self) -> None:
        recorder = self._recorder()
        if self.session is not None and recorder is not None and self.settings.gate.early_stop:
            self.flags = self.session.open(recorder.folder)

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        recorder = self._recorder()
        if self.session is None or recorder is None:
            return
        plan, record = getattr(report, "vla_plan", None), getattr(report, "vla", None)
        if plan is not None and self.session.begin(plan, recorder.records.values()):
            recorder.writer.write({"type": "gate", **plan, "rules": self.rules.to_dict()})
        if record is not None:
            self.session.add(record)

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: Any) -> tuple[str, str, Any] | None:
        record, recorder = getattr(report, "vla", None), self._recorder()
        if not record or not report.passed or record["outcome"] != "unsolved" or not self.settings.gate.gating:
            return None
        if recorder is not None and recorder.live.active:
            return "unsolved", "", ""
        return "unsolved", "u", ("UNSOLVED", {"yellow": True})

    @pytest.hookimpl(wrapper=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Iterator[None]:
        """The verdict is the exit code and a line of the run file, unless the session itself went wrong."""
        judgement, recorder = self.judgement(), self._recorder()
        if judgement is None or recorder is None or recorder.usage_error:
            return (yield)
        if session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            recorder.writer.write(judgement.to_record())
        yield
        if session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            new = [record for key, record in recorder.records.items() if key not in recorder.done]
            other_failures = session.testsfailed - sum(record["outcome"] == "error" for record in new)
            session.exitstatus = pytest.ExitCode.TESTS_FAILED if other_failures > 0 else judgement.exit_code

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """The flip rate, the verdict table, and what GitHub wants to hear."""
        recorder = self._recorder()
        if recorder is None or recorder.usage_error:
            return
        flips = flip_rate(recorder.records.values())
        if flips is not None:
            terminalreporter.line(str(flips))
        judgement = self.judgement()
        if judgement is not None:
            from pytest_vla.gate.github import workflow_commands, write_step_summary
            from pytest_vla.gate.table import render

            terminalreporter.section("vla gate")
            writer = terminalreporter._tw
            for line in render(judgement, writer.fullwidth, bool(writer.hasmarkup)).splitlines():
                terminalreporter.line(line)
            for line in workflow_commands(judgement):
                terminalreporter.line(line)
            write_step_summary(judgement)

    def judgement(self) -> Judgement | None:
        """The verdict on all results so far; None without a gate, or where nothing was run."""
        recorder = self._recorder()
        if self._judgement is None and self.session is not None and recorder is not None and recorder.records:
            self._judgement = self.session.judge(list(recorder.records.values()))
        return self._judgement

    # --- xdist -------------------------------------------------------------------------------------------------------

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput[BASELINE_VERSIONS] = self.versions
        if self.flags is not None:
            node.workerinput[STOP_FOLDER] = str(self.flags.folder.resolve())

    @pytest.hookimpl(optionalhook=True, tryfirst=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> Any:
        """Early stopping wants episodes in order: work stealing would start each worker in another part of the list."""
        typed = any(str(argument).startswith("--dist") for argument in config.invocation_params.args)
        if not self.settings.gate.early_stop or typed:
            return None
        from xdist.scheduler import LoadScheduling

        config.option.maxschedchunk = 1
        return LoadScheduling(config, log)

    # -----------------------------------------------------------------------------------------------------------------

    def _arrange(self, items: list[pytest.Item]) -> None:
        settings = self.settings
        episodes = [(item, key) for item in items if (key := episode_of(item)) is not None]
        others = [item for item in items if episode_of(item) is None]
        keys = [key for _, key in episodes]
        if settings.gate.gating:
            used = {key.suite for key in keys} | {pattern.split("/")[0] for pattern, _ in self.rules.success}
            suites = [get_suite(name) for name in sorted(used & set(suite_names()))]
            check_rules(self.rules, [(suite.name, *names) for suite in suites for names in suite.cells()])
            check_versions(self.versions, {key.suite: key.version for key in keys})
        mine = in_shard(keys, read_shard(settings.run.shard), settings.gate.early_stop, self.rules.by)
        dropped = [item for (item, _), keep in zip(episodes, mine, strict=True) if not keep]
        episodes = [pair for pair, keep in zip(episodes, mine, strict=True) if keep]
        if dropped:
            self.config.hook.pytest_deselected(items=dropped)
        if settings.gate.early_stop:
            episodes = [episodes[place] for place in interleaved([key for _, key in episodes])]
        items[:] = others + [item for item, _ in episodes]
        if settings.gate.gating:
            self._plan = plan_to_dict(self._make_plan([key for _, key in episodes], keys))

    def _make_plan(self, run: list[EpisodeKey], everything: list[EpisodeKey]) -> Any:
        done = [EpisodeKey(s, t, p, i, x, repeat=r) for s, t, p, i, x, r in self._done()]
        gate, first = self.settings.gate, self.settings.run.first_episode
        has_baseline = gate.baseline is not None
        return make_plan([*done, *run], [*done, *everything], self.rules, has_baseline, first, gate.early_stop)

    def _done(self) -> list[Any]:
        """What a resumed run has already, in the controller and in a worker."""
        recorder = self._recorder()
        if recorder is not None:
            return list(recorder.done)
        return list(getattr(self.config, "workerinput", {}).get("vla_done", ()))

    def _recorder(self) -> Recorder | None:
        recorder: Recorder | None = self.config.pluginmanager.get_plugin("vla-recorder")
        return recorder
