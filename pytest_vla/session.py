"""What the controller holds for a run: the policy and its servers, the run file, the live view; and its exit status."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_vla.afterwards import Afterwards
from pytest_vla.answers.collected import reference_line
from pytest_vla.ending import CLEAN, Ending
from pytest_vla.engines import open_cluster
from pytest_vla.episode import EpisodeKey, Result
from pytest_vla.execution import misfit
from pytest_vla.inference.session import local_workers, mode_lines, open_policy
from pytest_vla.messages import (
    HuntBegan,
    HuntEnded,
    Message,
    NotRun,
    Planned,
    Probed,
    Rolled,
    Said,
    Working,
    attach,
    message_of,
    release,
    repeat,
)
from pytest_vla.opening import converted, ignored, in_mode_of_before, say_loading
from pytest_vla.options import Settings, shown_path
from pytest_vla.policies import PolicyError, PolicySource
from pytest_vla.registry import get_suite, suite_names
from pytest_vla.report.junit import junit_properties
from pytest_vla.report.live import Live
from pytest_vla.run import (
    EpisodeName,
    Failure,
    Identity,
    KeySet,
    Plan,
    Record,
    Run,
    RunFileError,
    RunWriter,
    Unrun,
    read_run,
)
from pytest_vla.run.folder import RunFolder, chosen_folder
from pytest_vla.run.plan import HuntName
from pytest_vla.run.provenance import provenance
from pytest_vla.run.record import alike
from pytest_vla.run.table import FAULTS
from pytest_vla.run.writer import is_unborn
from pytest_vla.watchdog import Watchdog

if TYPE_CHECKING:
    from pytest_vla.engines.ray.replicas import ClusterService
    from pytest_vla.engines.ray.session import ClusterRun
    from pytest_vla.gate.plugin import GateSession
    from pytest_vla.inference.service import Service

LOGS = "logs"
"""The folder in the run folder with what servers and workers print."""
HOPELESS = 20
"""So many errors at the start, and nothing else, end a run."""


class Session:
    """One run: opened when pytest's session starts, fed with reports, closed with it."""

    def __init__(self, config: pytest.Config, settings: Settings, source: PolicySource, held: RunFolder) -> None:
        self.config, self.settings, self.source, self._held = config, settings, source, held
        self.service: Service | ClusterService | None = None
        self.cluster: ClusterRun | None = None
        """Where the workers are, if not on this machine."""
        self.gate: GateSession | None = None
        self.usage_error: str | None = None
        self.reference: Path | None = None
        """The run whose answers this one's are compared with."""
        self.before: Run | None = None
        """The run that is resumed, as it was."""
        self.run: Run | None = None
        """The run as its file has it, once it has ended."""
        self.plan: Plan | None = None
        self._functions: dict[str, tuple[str, str]] = {}
        self._unrun: dict[tuple[str, str], list[EpisodeKey | HuntName]] = defaultdict(list)
        self._other_failures = 0
        self._transport_s = 0.0
        self._shown_errors: set[tuple[str | None, str]] = set()
        self._errors = 0
        self.hopeless = False
        """Whether the run is given up: nothing but errors."""
        self._watchdog = Watchdog(settings.run.timeout)
        self._properties: dict[str, list[tuple[str, object]]] = {}
        self._latest: dict[str, str] = {}
        """The last item of each worker whose rollouts are written."""
        self._pytest_session: pytest.Session | None = None
        self.writer = self._open(held.file)
        self._afterwards = Afterwards(settings, source, self.writer)
        self._measured = self.before is not None and len(self.before.table.measured()) > 0
        self.live = Live(config, settings.run.first_episode, self._earlier(faults=False))

    @classmethod
    def start(cls, config: pytest.Config, settings: Settings) -> Session:
        """Load the policy and open the run file; whatever is wrong is one usage error."""
        try:
            assert settings.inference.policy is not None
            asked = settings.run
            held = RunFolder.hold(chosen_folder(asked.run_dir, asked.run_name, asked.resume))
            config.add_cleanup(held.close)
            settings = in_mode_of_before(config, settings, held.file)
            say_loading(config, settings.inference.policy or "")
            cluster = open_cluster(config, settings, held.path)
            source, service = (
                cluster.open_policy(settings.inference, asked.timeout)
                if cluster is not None
                else open_policy(settings.inference, asked.timeout, local_workers(config), held.path / LOGS)
            )
            if service is not None:
                config.add_cleanup(service.close)
            for name in settings.run.suite:
                known = name in suite_names()
                mismatch = misfit(source.spec, get_suite(name), settings.inference) if known else None
                if mismatch:
                    raise PolicyError(f"policy '{settings.inference.policy}' cannot act in suite '{name}': {mismatch}")
            session = cls(config, settings, source, held)
            config.add_cleanup(session.close)
            session.service, session.cluster = service, cluster
            if service is not None:
                service.tell_processes(session._watchdog.watch)
            session.live.statistics = service.statistics if service is not None and cluster is None else None
            return session
        except (PolicyError, RunFileError) as error:
            raise pytest.UsageError(str(error)) from error

    @property
    def done(self) -> KeySet:
        """The items a resumed run has already and keeps."""
        return self.before.items - self.retried if self.before is not None else KeySet()

    @cached_property
    def retried(self) -> KeySet:
        """The items of a resumed run that ended in errors and are run again."""
        return self.before.error_items if self.before and not self.settings.run.keep_errors else KeySet()

    @property
    def folder(self) -> Path:
        return self._held.path

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> None:
        self._pytest_session = session

    def log_of(self, worker: str) -> Path:
        """Where a worker keeps what it prints."""
        return (self.folder / LOGS / f"{worker}.log").absolute()

    def header(self) -> str:
        resumed = ""
        if self.before is not None:
            again = f", {len(self.retried)} errors are run again" if len(self.retried) else ""
            resumed = f", resuming after {len(self.done)} episodes that it keeps{again}"
        elif self.settings.run.resume:
            resumed = ", nothing to resume in it"
        first = f"vla: policy {self.identity}, run {self.writer.path}{resumed}"
        changed = converted(self.source, self.settings.run.suite)
        conversions = [f"vla: {suite}: {line}" for suite, lines in changed.items() for line in lines]
        return "\n".join([first, *mode_lines(self.settings), *ignored(self.settings.inference), *conversions])

    def close(self) -> None:
        """However the session ended."""
        self._watchdog.close()
        self.writer.close()

    # --- the run file ------------------------------------------------------------------------------------------------

    @property
    def identity(self) -> Identity:
        return Identity(**self.source.identity)

    def _open(self, path: Path) -> RunWriter:
        if self.settings.run.resume and path.exists() and not is_unborn(path):
            return self._resume(path)
        known = [name for name in self.settings.run.suite if name in suite_names()]
        suites = {suite.name: suite.version for suite in map(get_suite, known)}
        policy = {**self.identity.to_dict(), "spec": self.source.spec.to_dict()}
        writer = RunWriter.create(path, provenance(policy, suites, self.settings.to_dict()))
        for name, lines in converted(self.source, self.settings.run.suite).items():
            writer.write({"type": "converted", "suite": name, "lines": list(lines)})
        return writer

    def _resume(self, path: Path) -> RunWriter:
        run = read_run(path)
        difference = run.policy.difference(self.identity)
        if difference:
            raise RunFileError(
                f"cannot resume '{path}': it was made with {difference}. Use the same policy, or another --vla-run-dir"
            )
        for name, versions in run.table.versions().items():
            if name in suite_names() and versions != [get_suite(name).version]:
                raise RunFileError(
                    f"cannot resume '{path}': it was made with version {', '.join(versions)} of suite '{name}', "
                    f"installed is {get_suite(name).version}. Use another --vla-run-dir"
                )
        self.before = run
        return RunWriter.resume(path)

    def _earlier(self, *, faults: bool) -> Iterator[Record]:
        """What a resumed run has, without errors that are run again; `faults` are those that no other try undoes."""
        for record in self.before.records() if self.before is not None else ():
            again = not record.measured and record.planned in self.retried
            if not again or (faults and record.result.reason in FAULTS):
                yield record

    # --- what workers tell -------------------------------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        message = message_of(report)
        if message is not None:
            self.take(message, report)
            release(report)
        elif report.failed:
            self._other_failures += 1
        if report.when == "teardown":
            report.user_properties += self._properties.pop(report.nodeid, [])

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._other_failures += report.failed

    def take(self, message: Message, report: pytest.TestReport | None = None) -> None:
        """Write down what a worker tells; the report that brought it says which item."""
        match message:
            case Rolled(records):
                for record in records:
                    self._write(record)
                self._count_errors(records, report)
                if report is not None and records:
                    self._properties[report.nodeid] = junit_properties(records[-1])
                    self._latest[getattr(report, "worker_id", "")] = report.nodeid
            case NotRun(key, why, text):
                self._unrun[(why, text)].append(key)
                self.live.skip()
            case Failure():
                self.writer.write(message.to_record())
            case Planned():
                self._planned(message)
            case HuntBegan(line) | Probed(line) | HuntEnded(line):
                self.writer.write(line.to_record())
            case Said(text):
                self.live.say(text)
            case Working(process):
                if self.cluster is None:  # the number means another process here
                    self._watchdog.watch(process)

    def _write(self, record: Record) -> None:
        self.writer.write_text(record.to_text())
        self.live.add(record)
        self._transport_s += record.result.timings.get("transport", 0.0)
        if self.gate is not None:
            self.gate.add(record)

    def _count_errors(self, records: Sequence[Record], report: pytest.TestReport | None) -> None:
        """Show an error once; give up where there is nothing else from the start."""
        errors = {(record.result.reason, alike(record.result.message)) for record in records if not record.measured}
        if report is not None and errors and errors <= self._shown_errors:
            repeat(report)
        elif report is not None and errors and self.service is not None:
            report.sections += self.service.said()
        self._shown_errors |= errors
        self._measured = self._measured or any(record.measured for record in records)
        self._errors += bool(errors)
        limit = max(HOPELESS, self.settings.run.max_errors)
        if self._errors >= limit and not self._measured and not self.hopeless:
            self.hopeless = True
            self._stop(f"stopping: the first {limit} episodes ended in errors and nothing was measured")

    def _stop(self, why: str) -> None:
        """No more items, here or in the workers, as `-x` ends a run."""
        workers = self.config.pluginmanager.get_plugin("dsession")
        if workers is not None:
            workers.shouldstop = why
        elif self._pytest_session is not None:
            self._pytest_session.shouldfail = why

    def _planned(self, message: Planned) -> None:
        """Every worker tells the plan with its first item; they all collect the same."""
        self._functions.update(message.functions)
        if self.plan is not None:
            return
        self.plan = message.plan
        self.writer.write(message.plan.to_record())
        if message.leaked:
            self.writer.write({"type": "leaked", "tasks": list(message.leaked)})
        for each in message.unavailable:
            self._unrun[(each.why, each.message)].extend(each.keys)
        self.live.begin(len(message.plan.part - self.done) - sum(len(each.keys) for each in message.unavailable))
        if self.gate is not None and message.gate is not None:
            self.gate.begin(message.gate, self._earlier(faults=True), read_run(self.writer.path))
            self.writer.write({"type": "gate", **message.gate, "rules": self.gate.rules.to_dict()})

    def is_written(self, worker: str, nodeid: str) -> bool:
        """Whether the rollouts of a worker's item are kept already."""
        return self._latest.get(worker) == nodeid

    def lost(self, worker: str, nodeid: str) -> None:
        """A worker died in an item, which is given out once more unless all that it was for is written."""
        if self.is_written(worker, nodeid):
            self.live.say(f"worker {worker} died after {nodeid} was measured: its result stays")
        else:
            self.live.say(f"{nodeid} is run again: worker {worker} died in it")

    def crashed(self, report: pytest.TestReport) -> None:
        """A worker died in an item: that item is an error, and the only one. What was measured before that stays."""
        key, worker = self._key_of(report.nodeid), report.node.gateway.id
        if key is None or self.is_written(worker, report.nodeid):
            return
        message = f"the worker process died while running this episode ({report.longrepr})"
        result = Result(key, "error", "worker_lost", message)
        attach(self.config, report, Rolled((Record(result, report.nodeid, "failed"),)))

    def _key_of(self, nodeid: str) -> EpisodeKey | None:
        """The planned episode of a node id, where its item was in another process."""
        name, function = EpisodeName.parse(nodeid), self._functions.get(nodeid.partition("[")[0])
        if name is None or function is None or self.plan is None:
            return None
        suite, version = function
        keys = (
            EpisodeKey(suite, cell.task, cell.partition, name.index, cell.perturbation, version, name.repeat)
            for cell in self.plan.part.cells()
            if cell.suite == suite
        )
        return next((key for key in keys if name.names(key)), None)

    # --- the end -----------------------------------------------------------------------------------------------------

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        self.live.end()
        for (why, text), names in self._unrun.items():
            keys = KeySet.of(name for name in names if isinstance(name, EpisodeKey))
            hunts = frozenset(name for name in names if not isinstance(name, EpisodeKey))
            self.writer.write(Unrun(why, text, keys, hunts).to_record())
        self._afterwards.write_use(self.service, self._transport_s, self.plan)
        if session.exitstatus in CLEAN:
            self._afterwards.ask_again(self.live.say)
        answers = reference_line(read_run(self.reference)) if self.reference is not None else None
        if answers is not None:  # whatever is said later of this run follows from its own file
            self.writer.write(answers)
        self.run = read_run(self.writer.path)
        nothing_left = self.before is not None and session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED
        clean = (session.exitstatus in CLEAN or nothing_left) and not self.usage_error
        judgement = self.gate.judge(self.run) if self.gate is not None and clean else None
        if judgement is not None:
            self.writer.write(judgement.to_record())
        if clean:
            speed = round(self.live.speed() or 0.0, 3)
            self.writer.write({"type": "end", "episodes": len(self.run), "episodes_per_second": speed})
        self.writer.close()
        session.exitstatus = Ending(
            status=session.exitstatus,
            run=self.run,
            max_errors=self.settings.run.max_errors,
            other_failures=self._other_failures,
            bad_input=self.usage_error is not None,
            hopeless=self.hopeless,
            verdict=None if judgement is None else judgement.exit_code,
        ).exit_status()

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        from pytest_vla.report.summary import write_summary
        from pytest_vla.run.repeats import flip_rate

        if self.usage_error:
            terminalreporter.write_line(f"ERROR: {self.usage_error}", red=True)
        if self.run is None:
            return
        write_summary(terminalreporter, self.run, speed=self.live.speed())
        for line in self._afterwards.use_lines():
            terminalreporter.line(line)
        for title, lines in self._afterwards.sections():
            terminalreporter.section(title)
            for line in lines:
                terminalreporter.line(line)
        if self.run.hunts:
            self._write_hunts(terminalreporter, self.run)
        flips = flip_rate(self.run.table) if not self.usage_error else None
        if flips is not None:
            terminalreporter.line(str(flips))

    def _write_hunts(self, terminalreporter: pytest.TerminalReporter, run: Run) -> None:
        from pytest_vla.hunt.summary import hunt_lines

        terminalreporter.section("vla hunts")
        hunts = sorted(run.hunts, key=lambda hunt: hunt.name)
        for line in hunt_lines(hunts, shown_path(self.writer.path), run.policy.builtin):
            terminalreporter.line(line)
