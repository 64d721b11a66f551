"""The worker's side of a run: environments kept between items, the policy, and a report that says what happened."""

from __future__ import annotations

import faulthandler
import sys
from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING, Any

import pytest

from pytest_vla.episode import EpisodeKey, Result, printable
from pytest_vla.inference.session import local_source, remote_source
from pytest_vla.lockstep import Together
from pytest_vla.messages import NotRun, Rolled
from pytest_vla.options import InferenceOptions, Settings
from pytest_vla.policies import Policy, PolicyError, PolicySource, PolicySpec
from pytest_vla.policies.kinds import choices
from pytest_vla.registry import get_suite
from pytest_vla.rollout import Step, Surroundings, surroundings
from pytest_vla.run import Failure, Plan, Record
from pytest_vla.run.trace import Tape
from pytest_vla.suite import Suite, SuiteError
from pytest_vla.unmade import Unmade

if TYPE_CHECKING:
    import gymnasium

    from pytest_vla.hunt.items import HuntKey

MAX_ENVS = 4
LOOK_AHEAD = 2  # times the lanes of a suite: the next episodes for those that become free
LONGEST_OBJECTION = 500
RESULTS = pytest.StashKey[list[Result]]()
WHY = pytest.StashKey[str]()
"""Why an item is skipped, as `Unrun` has it."""


class Execution:
    """What one process (a worker, or the only one) keeps over its items."""

    def __init__(self, settings: Settings, is_worker: bool, served: Mapping[str, Any] | None = None) -> None:
        self.settings = settings
        self.is_worker = is_worker
        self.current: EpisodeKey | HuntKey | None = None
        """What the item that runs now is about."""
        self._served = served
        self._source: PolicySource | None = None
        self._limited_at: float | None = None
        self._misses: dict[tuple[str, str], str | None] = {}
        self._unanswerable: dict[tuple[str, str], str | None] = {}
        self._locations: dict[str, tuple[str, int | None, str]] = {}
        self._together = Together()
        self._bound: tuple[Any, Any] | None = None
        self._places: dict[str, int] | None = None
        self._envs: OrderedDict[tuple[str, str], gymnasium.Env[Any, Any]] = OrderedDict()

    def episode(self) -> EpisodeKey:
        """The episode of the item that runs now; of a hunt its first one."""
        if self.current is None:
            raise pytest.UsageError("this test uses the fixtures of pytest-vla without @vla.benchmark(SUITE)")
        return (
            self.current if isinstance(self.current, EpisodeKey) else self.current.episode(self.current.first_episode)
        )

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
        """Bound to the environment; the same object for all episodes where several are played at once."""
        if suite.batch == 1:
            return self.source().bind(suite, env)
        if self._bound is None or self._bound[0] is not env:
            self._bound = (env, self.source().bind(suite, env))
        policy: Policy = self._bound[1]
        return policy

    def skip_reason(self, key: EpisodeKey | HuntKey) -> str | None:
        """Why this episode, or hunt, is not run, or None."""
        if self.settings.inference.policy is None:
            return f"no policy: add --vla-policy={choices()}"
        if isinstance(key, EpisodeKey):
            return self.lacks(key)
        return self.misses(suite_named(key.suite), key.task) or self._unanswered(key.suite, key.task)

    def lacks(self, key: EpisodeKey) -> str | None:
        """Why a policy that was named cannot be tested in this episode here, or None."""
        if self.settings.inference.policy is None:
            return None
        suite = suite_named(key.suite)
        return self.misses(suite, key.task) or self._unanswered(key.suite, key.task) or suite.lacks(key)

    def _unanswered(self, name: str, task: str) -> str | None:
        if (name, task) not in self._unanswerable:
            self._unanswerable[name, task] = self.source().spec.unanswered(suite_named(name), task)
        return self._unanswerable[name, task]

    def misses(self, suite: Suite, task: str) -> str | None:
        """Why a policy that was named cannot be tested in this task here, or None."""
        if self.settings.inference.policy is None:
            return None
        place = suite.name, task
        if place not in self._misses:
            missing = suite.missing_in(task)
            if missing is not None:
                what = f"suite '{suite.name}'" if suite.missing() else f"a part of suite '{suite.name}'"
                self._misses[place] = f"{what} needs {missing.module}: {missing.install}"
            else:
                mismatch = misfit(self.source().spec, suite, self.settings.inference)
                self._misses[place] = f"suite '{suite.name}' does not fit: {mismatch}" if mismatch else None
        return self._misses[place]

    def leaked(self, plan: Plan) -> list[str]:
        """Planned tasks that the policy was trained on although they count as unseen, as SUITE/TASK."""
        if not self.settings.inference.allow_leaks:
            return []  # such a suite is skipped
        spec, planned = self.source().spec, {(cell.suite, cell.task) for cell in plan.part.cells()}
        suites = sorted({suite for suite, _ in planned})
        return [f"{s}/{task}" for s in suites for task in spec.leaked(suite_named(s)) if (s, task) in planned]

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

    def locate(self, item: pytest.Item) -> None:
        """Items of one function stand at one place of one file, which pytest would look for again for each."""
        function = item.nodeid.partition("[")[0]
        if function not in self._locations:
            file, line, name = item.location
            self._locations[function] = file, line, name.removesuffix(item.name)
        file, line, before = self._locations[function]
        item.location = file, line, before + item.name

    @contextmanager
    def watching(self, item: pytest.Item, upcoming: Sequence[EpisodeKey] = (), last: bool = True) -> Iterator[None]:
        """Run an item with its limit set and its results listened to; a pause may follow the `last` one."""
        results = item.stash.setdefault(RESULTS, [])
        tape = Tape() if self.settings.report.taping else None

        def on_step(step: Step) -> None:
            self._limit_native_hangs(item.config)
            if tape is not None:
                tape.add(step.action, step.progress)

        def on_result(result: Result) -> None:
            results.append(result if tape is None else tape.added_to(result))

        around = Surroundings(self.settings.run.timeout, on_result, on_step, upcoming, self._together)
        token = surroundings.set(around)
        self._limit_native_hangs(item.config)
        try:
            yield
        finally:
            surroundings.reset(token)
            if last:
                self._lift_the_limit()

    def upcoming(self, item: pytest.Item, key: EpisodeKey) -> Sequence[EpisodeKey]:
        """The episodes behind an item's that its suite may play along with it: of the same function, not recorded."""
        batch = suite_named(key.suite).batch
        if batch == 1 or self.settings.report.record is not None:
            return ()
        items = item.session.items
        if isinstance(items, Unmade):
            place = items.place(item)
        else:
            if self._places is None:
                self._places = {each.nodeid: place for place, each in enumerate(items)}
            place = self._places[item.nodeid]
        function = item.nodeid.partition("[")[0]
        following = items[place + 1 : place + LOOK_AHEAD * batch]
        return [each.callspec.params["episode"] for each in following if each.nodeid.partition("[")[0] == function]  # type: ignore[attr-defined]

    def _limit_native_hangs(self, config: pytest.Config) -> None:
        """Code that hangs outside Python hears no alarm: end the worker, which costs its one item.

        It begins anew with each step. Setting it costs as much as all else here, so that one serves many of them.
        """
        limit = self.settings.run.timeout * 1.5 + 10
        if not self.is_worker or not self.settings.run.timeout or float(config.getini("faulthandler_timeout") or 0):
            return
        if self._limited_at is None or monotonic() - self._limited_at > limit / 4:
            faulthandler.dump_traceback_later(limit * 1.25, exit=True, file=sys.__stderr__ or 2)
            self._limited_at = monotonic()

    def _lift_the_limit(self) -> None:
        """A worker that waits for its next item does not hang."""
        if self._limited_at is not None:
            faulthandler.cancel_dump_traceback_later()
            self._limited_at = None


def outcome_of(item: pytest.Item, call: pytest.CallInfo[None], repeats: int) -> Rolled | NotRun | Failure | None:
    """What a phase of an item adds to the run, if anything."""
    key: EpisodeKey = item.callspec.params["episode"]  # type: ignore[attr-defined]
    error = call.excinfo.value if call.excinfo is not None else None
    results = item.stash.get(RESULTS, [])
    if call.when == "teardown":
        return Failure(item.nodeid, "teardown", _said(error), key) if error is not None else None
    if call.when == "call" and results:
        return Rolled(tuple(_records(item.nodeid, key, results, error, repeats)))
    if error is None:
        return NotRun(key, "unavailable", "the test did not call vla.rollout") if call.when == "call" else None
    if isinstance(error, pytest.skip.Exception):
        return NotRun(key, item.stash.get(WHY, "unavailable"), printable(str(error)))
    if isinstance(error, PolicyError):
        result = Result(key, "error", "policy_error", printable(str(error)))
    else:
        result = Result(key, "error", "env_error" if call.when == "setup" else "test_error", _said(error))
    return Rolled((Record(result, item.nodeid, "failed"),))


def _records(
    nodeid: str, key: EpisodeKey, results: Sequence[Result], error: BaseException | None, repeats: int
) -> Iterator[Record]:
    """Every rollout of a test is a record. The same episode rolled out once more in it is a repeat of the first."""
    failed = error is not None and not isinstance(error, pytest.skip.Exception)
    objection = _said(error)[:LONGEST_OBJECTION] if failed and all(results) else ""
    seen: Counter[EpisodeKey] = Counter()
    for result in results:
        episode = result.episode
        if seen[episode]:
            result = replace(result, episode=replace(episode, repeat=episode.repeat + seen[episode] * repeats))
        seen[episode] += 1
        item = None if result.episode == key else key
        yield Record(result, nodeid, "failed" if failed else "passed", objection, item)


def _said(error: BaseException | None) -> str:
    return printable(f"{type(error).__name__}: {error}")


def explain(report: pytest.TestReport, results: Sequence[Result], gating: bool) -> None:
    """Let a failed report say what was measured; under a gate an unsolved episode is a measurement like any other.

    The verdict fails the run then, or does not.
    """
    first = next((result for result in results if not result), None)
    if not report.failed or first is None:
        return
    report.longrepr = str(first)  # it says more than the traceback of `assert result`
    if gating and all(result.outcome != "error" for result in results):
        report.outcome, report.longrepr = "passed", None


def misfit(spec: PolicySpec, suite: Suite, asked: InferenceOptions) -> str | None:
    """Why a policy cannot, or must not, act in a suite."""
    if asked.policy == "oracle" and not suite.has_oracle:
        return suite.without_oracle
    leaked = [] if asked.allow_leaks else spec.leaked(suite)
    if leaked:
        return (
            f"the policy was trained on {', '.join(leaked)}, unseen in '{suite.name}'. "
            "--vla-allow-leaks runs it all the same, and the report says so"
        )
    return spec.mismatch(suite, asked.conventions)


def suite_named(name: str) -> Suite:
    """The suite; one that does not exist is a usage error."""
    try:
        return get_suite(name)
    except SuiteError as error:
        raise pytest.UsageError(str(error)) from None
