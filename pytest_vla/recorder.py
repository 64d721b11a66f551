"""The controller's side of a run: writes the run file, shows progress, prints the table, sets the exit code."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_vla.inference.session import describe, local_workers, open_policy, statistics
from pytest_vla.options import Settings, shown_path
from pytest_vla.policies import PolicyError, PolicySource
from pytest_vla.report.live import Live
from pytest_vla.report.runfile import FILE_NAME, Key, Record, RunFileError, RunWriter, key_of, provenance, read_run
from pytest_vla.run import HuntRecord
from pytest_vla.suite import get_suite, get_suites, suite_names

if TYPE_CHECKING:
    from pytest_vla.inference.service import Service

RUNS_FOLDER = Path("vla-runs")


class Recorder:
    """One run: opened when the session starts, fed with reports, closed with the session."""

    def __init__(self, config: pytest.Config, settings: Settings, source: PolicySource) -> None:
        self.config, self.settings, self.source = config, settings, source
        self.records: dict[Key, Record] = {}
        self.done: frozenset[Key] = frozenset()
        self.skipped: dict[str, int] = {}
        self.usage_error: str | None = None
        self.service: Service | None = None
        self.inference: Record | None = None
        self.hunts: list[HuntRecord] = []
        self._started: dict[str, Record] = {}
        self.folder = self._folder()
        self.writer = self._open()
        self.live = Live(config, settings.first_episode, self.records.values())

    @classmethod
    def start(cls, config: pytest.Config, settings: Settings) -> Recorder:
        """Load the policy and open the run file; whatever is wrong is one usage error."""
        try:
            assert settings.policy is not None
            source, service = open_policy(settings, local_workers(config))
            if service is not None:
                config.add_cleanup(service.close)
            for name in settings.suite:
                mismatch = source.spec.mismatch(get_suite(name)) if name in suite_names() else None
                if mismatch:
                    raise PolicyError(f"policy '{settings.policy}' cannot act in suite '{name}': {mismatch}")
            recorder = cls(config, settings, source)
            recorder.service = service
            recorder.live.statistics = service.statistics if service is not None else None
            return recorder
        except (PolicyError, RunFileError) as error:
            raise pytest.UsageError(str(error)) from error

    # --- the run file ------------------------------------------------------------------------------------------------

    def _folder(self) -> Path:
        if self.settings.run_dir is not None:
            return Path(self.settings.run_dir)
        if self.settings.resume:
            runs = sorted(path.parent for path in RUNS_FOLDER.glob(f"*/{FILE_NAME}"))
            if not runs:
                raise RunFileError(
                    f"nothing to resume: there is no run in '{RUNS_FOLDER}/'; name one with --vla-run-dir"
                )
            return runs[-1]
        return RUNS_FOLDER / datetime.now().strftime("%Y-%m-%d_%H-%M-%S_%f")

    def _open(self) -> RunWriter:
        path = self.folder / FILE_NAME
        if self.settings.resume and path.exists():
            return self._resume(path)
        known = [name for name in self.settings.suite if name in suite_names()]
        suites = {suite.name: suite.version for suite in get_suites(known)}
        policy = {"text": self.source.text, "digest": self.source.digest, "spec": self.source.spec.to_dict()}
        return RunWriter.create(path, provenance(policy, suites, self.settings.to_dict()))

    def _resume(self, path: Path) -> RunWriter:
        run = read_run(path)
        if run.policy_digest != self.source.digest:
            raise RunFileError(
                f"cannot resume '{path}': it was made with policy '{run.provenance['policy']['text']}' "
                f"({run.policy_digest}), this is '{self.source.text}' ({self.source.digest}). "
                "Use the same policy, or another --vla-run-dir"
            )
        for record in run.episodes:
            if record["suite"] in suite_names() and get_suite(record["suite"]).version != record["version"]:
                raise RunFileError(
                    f"cannot resume '{path}': it was made with version {record['version']} of suite "
                    f"'{record['suite']}', installed is {get_suite(record['suite']).version}. Use another --vla-run-dir"
                )
        self.records = {key_of(record): record for record in run.episodes}
        self.done = frozenset(self.records)
        return RunWriter.resume(path)

    # --- pytest hooks ------------------------------------------------------------------------------------------------

    def planned(self, count: int) -> None:
        """The number of items is known: progress and readers of the run file can say how much is left."""
        self.writer.write({"type": "plan", "episodes": len(self.done) + count})
        self.live.begin(count)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        started = getattr(report, "vla_start", None)
        if started is not None:
            self._started[report.nodeid] = started
            return
        record = getattr(report, "vla", None)
        if record is not None:
            self.records[key_of(record)] = record
            self.writer.write(record)
            self.live.add(record)
        elif report.skipped and report.when == "setup" and isinstance(report.longrepr, tuple):
            reason = str(report.longrepr[2]).removeprefix("Skipped: ")
            self.skipped[reason] = self.skipped.get(reason, 0) + 1
            self.live.skip()
        if report.when in ("teardown", "???"):
            self._started.pop(report.nodeid, None)

    def crashed(self, report: pytest.TestReport) -> None:
        """A worker died in an item: that item is an error, and the only one."""
        started = self._started.get(report.nodeid)
        if started is not None:
            message = f"the worker process died while running this episode ({report.longrepr})"
            report.vla = {  # type: ignore[attr-defined]
                **started,
                "outcome": "error",
                "reason": "worker_lost",
                "message": message,
                "nodeid": report.nodeid,
            }

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        self.live.end()
        session.exitstatus = self._exit_status(session)
        if self.service is not None:
            self.inference = statistics(self.service, self._new_records())
            self.writer.write(self.inference)
        if session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            speed = self.live.speed() or 0.0
            self.writer.write({"type": "end", "episodes": len(self.records), "episodes_per_second": round(speed, 3)})
        self.writer.close()

    def _exit_status(self, session: pytest.Session) -> int | pytest.ExitCode:
        """0 when all were solved, but for at most `--vla-max-errors` errors; 5 when nothing could run."""
        if self.usage_error:
            return pytest.ExitCode.USAGE_ERROR
        status = session.exitstatus
        if status == pytest.ExitCode.OK and self.skipped and not self.records:
            return pytest.ExitCode.NO_TESTS_COLLECTED
        if status == pytest.ExitCode.NO_TESTS_COLLECTED and (self.done or self.hunts):
            status = pytest.ExitCode.OK  # a resumed run that was complete already
        if status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            return status
        outcomes = [record["outcome"] for record in self.records.values()]
        errors = outcomes.count("error")
        causes = any(hunt.causes for hunt in self.hunts)
        if causes or outcomes.count("unsolved") or errors > self.settings.max_errors:
            return pytest.ExitCode.TESTS_FAILED
        new_errors = sum(r["outcome"] == "error" for key, r in self.records.items() if key not in self.done)
        other_failures = session.testsfailed - new_errors
        return pytest.ExitCode.TESTS_FAILED if other_failures > 0 else pytest.ExitCode.OK

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        from pytest_vla.report.table import write_summary

        if self.usage_error:
            terminalreporter.write_line(f"ERROR: {self.usage_error}", red=True)
        write_summary(
            terminalreporter,
            list(self.records.values()),
            skipped=self.skipped,
            run_file=shown_path(self.writer.path),
            speed=self.live.speed(),
        )
        if self.inference is not None:
            for line in describe(self.inference):
                terminalreporter.line(line)

    def _new_records(self) -> list[Record]:
        return [record for key, record in self.records.items() if key not in self.done]


def is_worker(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput")


def keys_from_worker(items: list[list[Any]]) -> frozenset[Key]:
    """The finished episodes as the controller sent them (lists of built-ins)."""
    return frozenset((str(s), str(t), str(p), int(i), str(x), int(r)) for s, t, p, i, x, r in items)
