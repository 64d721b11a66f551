"""Recorded episodes run again, for whoever wants to see one: the replay command, films, recordings, explanations."""

from __future__ import annotations

import importlib.util
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_vla.episode import Result
from pytest_vla.inference.session import recorded_source
from pytest_vla.policies.base import Observation, Policy
from pytest_vla.policies.builtin import BUILTIN
from pytest_vla.policies.trust import EVERYTHING, trusted
from pytest_vla.policies.trust import trust as trust_code
from pytest_vla.registry import family_of, get_suite, typed_suite
from pytest_vla.rollout import Step, Surroundings, rollout, surroundings
from pytest_vla.run import Record, Run, RunFileError, read_run
from pytest_vla.run.trace import decode_actions
from pytest_vla.suggest import unknown
from pytest_vla.suite import Suite, SuiteError, provide

if TYPE_CHECKING:
    import gymnasium
    import numpy as np
    from numpy.typing import NDArray

    from pytest_vla.episode import EpisodeKey
    from pytest_vla.policies import PolicySource

KNOWN_NAMES = 1000
"""Among how many episodes a mistyped name is looked for."""


class Replayer:
    """Runs episodes of one run again, in this process; environments and the policy are kept from one to the next.

    With `trust`, what the run names may run code until the replayer is left.
    """

    def __init__(self, run: Run, policy: str | None = None, *, trust: bool = False) -> None:
        self.run, self.trust = run, trust
        self._trusted_before = trusted()
        self._typed_policy = policy
        self._source: PolicySource | None = None
        self._envs: dict[tuple[str, str], gymnasium.Env[Any, Any]] = {}
        provide((run.options.get("data") or ()) if trust else (), run.options.get("env_memory") or 0.0)

    def __enter__(self) -> Replayer:
        if self.trust:
            trust_code((EVERYTHING,))
        return self

    def __exit__(self, *_: object) -> None:
        trust_code(self._trusted_before)
        while self._envs:
            self._envs.popitem()[1].close()

    @property
    def source(self) -> PolicySource:
        """The policy of the run, or the one given instead, asked in the way the run asked."""
        if self._source is None:
            text = self._typed_policy
            if text is None:
                text = self.run.policy.text
                if text not in BUILTIN:
                    consent(self.trust, f"use the policy {text!r}", f"--vla-policy={shlex.quote(text)}")
            self._source = recorded_source(text, self.run.options)
        return self._source

    def run_policy(self, record: Record, on_step: Callable[[Step], None] = lambda step: None) -> Result:
        """The episode once more, with the policy acting anew."""
        return self.run_with(record, self.source.bind, on_step)

    def run_actions(self, record: Record, on_step: Callable[[Step], None] = lambda step: None) -> Result:
        """The episode once more, with the actions in the run file or, where there are none, with the policy."""
        if not record.result.actions:
            return self.run_policy(record, on_step)
        recorded = RecordedActions(record.result.actions)
        return self.run_with(record, lambda suite, env: recorded, on_step)

    def run_with(
        self,
        record: Record,
        policy: Callable[[Suite, gymnasium.Env[Any, Any]], Policy],
        on_step: Callable[[Step], None],
    ) -> Result:
        """The episode once more, with the policy that is made for its environment."""
        suite = suite_of(record, self.trust)
        if suite.version != record.key.version:
            raise RunFileError(
                f"the episode was recorded with version {record.key.version} of suite '{suite.name}', installed is "
                f"{suite.version}: it cannot be replayed here"
            )
        missing = suite.missing()
        if missing is not None:
            raise SuiteError(f"suite '{suite.name}' needs {missing.module}: {missing.install}")
        env = self.env_of(suite, record.key.task)
        token = surroundings.set(Surroundings(on_step=on_step))
        try:
            return rollout(policy(suite, env), env, record.key)
        finally:
            surroundings.reset(token)

    def env_of(self, suite: Suite, task: str) -> gymnasium.Env[Any, Any]:
        """The environment that a task's episodes are run in."""
        group = (suite.name, suite.env_group(task))
        if group not in self._envs:
            self._envs[group] = suite.make_env(task)
        return self._envs[group]


class RecordedActions(Policy):
    """The policy that does once more what a record says was done."""

    def __init__(self, parts: Mapping[str, Sequence[Any]]) -> None:
        self._parts = decode_actions(parts)

    def reset(self, episode: EpisodeKey) -> list[int]:
        return [0]

    def act(self, observations: Sequence[Observation], states: Sequence[Any]) -> list[Any]:
        return [self._next(state) for state in states]

    def _next(self, state: list[int]) -> Any:
        step, state[0] = state[0], state[0] + 1
        action = {name: _value(column[step]) for name, column in self._parts.items()}
        return action[""] if list(action) == [""] else action


def _value(value: np.generic | NDArray[Any]) -> Any:
    """A copy the environment may write to; numbers of a discrete space are numbers again."""
    return value.copy() if getattr(value, "shape", ()) else value.item()


@dataclass(frozen=True, slots=True)
class Replayed:
    """What was recorded, what happened now."""

    recorded: Result
    result: Result
    policy_changed: bool

    @property
    def same(self) -> bool:
        return is_same(self.recorded, self.result)

    def __str__(self) -> str:
        lines = [
            str(self.result),
            f"recorded  {self.recorded.outcome:<9} {self.recorded.digest or '(no digest)'}",
            f"replayed  {self.result.outcome:<9} {self.result.digest or '(no digest)'}",
            self._verdict(),
        ]
        if self.result.scene:
            lines.insert(1, f"scene     {', '.join(f'{name}={value}' for name, value in self.result.scene.items())}")
        if self.policy_changed:
            lines.append("note: the policy is not the one of the run")
        if not self.same and self.recorded.initial_digest != self.result.initial_digest:
            lines.append("note: the scene itself differs already before the first action")
        return "\n".join(lines)

    def _verdict(self) -> str:
        if not self.recorded.digest and not self.result.digest:
            how = "is the same" if self.same else "DIFFERS"
            suite = self.result.episode.suite
            return f"suite '{suite}' gave no digest, so only the outcome was compared: it {how}"
        return "the digest matches: same episode, bit for bit" if self.same else "the digest DIFFERS"


def is_same(recorded: Result, again: Result) -> bool:
    """Whether an episode came out as it was recorded, as far as its suite lets anybody know."""
    return (recorded.outcome, recorded.digest) == (again.outcome, again.digest)


def consent(trust: bool, wish: str, *alternatives: str) -> None:
    """A run file is data: what it names is imported, opened or called only where a person says so."""
    if not trust:
        how = ", or ".join([*alternatives, "--trust if you trust the run file"])
        raise RunFileError(f"the run file asks to {wish}: add {how}")


def replay(run_file: Path, name: str, policy: str | None = None, *, trust: bool = False) -> Replayed:
    """Run the named episode of a run again, with its policy or another."""
    run = read_run(run_file)
    record = find_episode(run, name)
    with Replayer(run, policy, trust=trust) as replayer:
        result = replayer.run_policy(record)
        return Replayed(record.result, result, policy_changed=replayer.source.digest != run.policy.digest)


def find_episode(run: Run, name: str) -> Record:
    """The record of a node id, of SUITE/ID or of an ID; RunFileError with the nearest names where there is none."""
    record = run.find(name)
    if record is None:
        known = [str(run.table.key(row)) for row in range(min(len(run), KNOWN_NAMES))]
        raise RunFileError(unknown("episode", name, known, f"in {run.path}")[:600])
    return record


def suite_of(record: Record, trust: bool = False) -> Suite:
    """The suite of a record; one that a test file defines is found by importing that file."""
    name, path = record.key.suite, Path(record.nodeid.partition("::")[0])
    try:
        return get_suite(name)
    except SuiteError:
        if family_of(name):
            consent(trust, f"make the suite {name!r}")
            return typed_suite(name)
        if not path.is_file():
            raise
    consent(trust, f"import '{path}', which has the suite {name!r}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    sys.path.insert(0, str(path.parent.resolve()))
    spec.loader.exec_module(module)
    return get_suite(record.key.suite)
