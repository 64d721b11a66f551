"""The worker's side of a run: environments kept between items, the policy, and a report that says what happened."""

from __future__ import annotations

import faulthandler
import sys
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from pytest_vla.episode import EpisodeKey, Result
from pytest_vla.hunt.items import HuntKey
from pytest_vla.inference.session import local_source, remote_source
from pytest_vla.options import Settings
from pytest_vla.policies import Policy, PolicyError, PolicySource
from pytest_vla.policies.kinds import choices
from pytest_vla.report.tape import Tape
from pytest_vla.rollout import Surroundings, surroundings
from pytest_vla.suite import Suite, SuiteError, get_suite

if TYPE_CHECKING:
    import gymnasium

MAX_ENVS = 4
JUNIT_FIELDS = (
    *("suite", "task", "partition", "index", "perturbation"),
    *("outcome", "reason", "steps", "progress", "digest", "instruction"),
)
RESULTS = pytest.StashKey[list[Result]]()


class Execution:
    """What one process (a worker, or the only one) keeps over its items."""

    def __init__(self, settings: Settings, is_worker: bool, served: Mapping[str, Any] | None = None) -> None:
        self.settings = settings
        self.is_worker = is_worker
        self._served = served
        self._source: PolicySource | None = None
        self._envs: OrderedDict[tuple[str, str], gymnasium.Env[Any, Any]] = OrderedDict()

    def source(self) -> PolicySource:
        """The policy of this run, loaded once."""
        if self._source is None:
            if self.settings.inference.policy is None:
                raise PolicyError("no policy: add --vla-policy=SPEC")
            asked, timeout = self.settings.inference, self.settings.run.timeout
            self._source = remote_source(self._served, asked, timeout) if self._served else local_source(asked)
        return self._source

    def use(self, source: PolicySource) -> None:
        """The process that loaded the policy to check it need not load it again."""
        self._source = source

    def policy_for(self, suite: Suite, env: gymnasium.Env[Any, Any]) -> Policy:
        return self.source().bind(suite, env)

    def skip_reason(self, suite: Suite) -> str | None:
        """Why no episode of this suite can run here, or None."""
        if self.settings.inference.policy is None:
            return f"no policy: add --vla-policy={choices()}"
        missing = suite.missing()
        if missing is not None:
            return f"suite '{suite.name}' needs {missing.module}: {missing.install}"
        mismatch = self.source().spec.mismatch(suite)
        return f"suite '{suite.name}' does not fit: {mismatch}" if mismatch else None

    def env_for(self, suite: Suite, task: str) -> gymnasium.Env[Any, Any]:
        """The environment of a task: kept from earlier items where there is one."""
        group = (suite.name, suite.env_group(task))
        if group not in self._envs:
            while len(self._envs) >= MAX_ENVS:
                self._envs.popitem(last=False)[1].close()
            self._envs[group] = suite.make_env(task)
        self._envs.move_to_end(group)
        return self._envs[group]

    def drop_env(self, suite: Suite, task: str) -> None:
        """Forget an environment that may be broken; the next item gets a new one."""
        env = self._envs.pop((suite.name, suite.env_group(task)), None)
        if env is not None:
            env.close()

    def close(self) -> None:
        while self._envs:
            self._envs.popitem()[1].close()

    @contextmanager
    def watching(self, item: pytest.Item) -> Iterator[None]:
        """Run an item with its time limit set and its results listened to."""
        results = item.stash.setdefault(RESULTS, [])
        around = Surroundings(timeout=self.settings.run.timeout, on_result=results.append)
        if self.settings.report.taping:
            tape = Tape()
            around = replace(around, on_result=lambda result: results.append(tape.added_to(result)), on_step=tape.add)
        token = surroundings.set(around)
        try:
            with self._native_hang_limit(item.config):
                yield
        finally:
            surroundings.reset(token)

    @contextmanager
    def _native_hang_limit(self, config: pytest.Config) -> Iterator[None]:
        """Code that hangs outside Python hears no alarm: end the worker, which costs its one item."""
        limit = self.settings.run.timeout * 1.5 + 10
        if not self.is_worker or not self.settings.run.timeout or float(config.getini("faulthandler_timeout") or 0):
            yield
            return
        faulthandler.dump_traceback_later(limit, exit=True, file=sys.__stderr__ or 2)
        try:
            yield
        finally:
            faulthandler.cancel_dump_traceback_later()


def start_report(item: pytest.Item, episode: EpisodeKey) -> pytest.TestReport:
    """Tells the controller which episode begins: were the worker to die in it, nothing else would say."""
    report = pytest.TestReport(item.nodeid, item.location, {}, "passed", None, "setup", duration=0, start=0, stop=0)
    report.vla_start = Result(episode, "error").to_record()  # type: ignore[attr-defined]
    return report


def result_of(item: pytest.Item, call: pytest.CallInfo[None]) -> Result | None:
    """The one result this phase of the item adds to the run, if any."""
    episode = item.callspec.params["episode"]  # type: ignore[attr-defined]
    results = item.stash.get(RESULTS, [])
    failed = call.excinfo is not None and not call.excinfo.errisinstance(pytest.skip.Exception)
    if call.when == "call" and results:
        return results[-1]
    if call.when in ("setup", "call") and failed and call.excinfo is not None:
        error = call.excinfo.value
        if isinstance(error, PolicyError):
            return Result(episode, "error", "policy_error", str(error))
        reason = "env_error" if call.when == "setup" else "test_error"
        return Result(episode, "error", reason, f"{type(error).__name__}: {error}")
    return None


def junit_properties(result: Result) -> list[tuple[str, object]]:
    """The facts of the run file's line that JUnit carries too."""
    record = result.to_record()
    return [(f"vla.{name}", record[name]) for name in JUNIT_FIELDS if record[name] not in (None, "")]


def decorate(report: pytest.TestReport, item: pytest.Item, result: Result) -> None:
    """Put the result where the controller and the terminal look for it."""
    report.vla = {**result.to_record(), "nodeid": item.nodeid}  # type: ignore[attr-defined]
    if result.outcome != "solved" and report.failed and item.stash.get(RESULTS, []):
        report.longrepr = str(result)  # the measurement says more than the traceback of `assert result`


def suite_of(episode: EpisodeKey | HuntKey) -> Suite:
    try:
        return get_suite(episode.suite)
    except SuiteError as error:
        raise pytest.UsageError(str(error)) from None
