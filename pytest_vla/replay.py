"""One recorded episode once more: same key, same policy, and the answer whether it came out the same."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import dataclass
from pathlib import Path

from pytest_vla.episode import EpisodeKey, Result
from pytest_vla.inference.session import recorded_source
from pytest_vla.report.runfile import Record, Run, RunFileError, read_run
from pytest_vla.rollout import rollout
from pytest_vla.suggest import unknown
from pytest_vla.suite import Suite, SuiteError, get_suite


@dataclass(frozen=True, slots=True)
class Replayed:
    """What was recorded, what happened now."""

    recorded: Record
    result: Result
    policy_changed: bool

    @property
    def same(self) -> bool:
        recorded = (self.recorded["outcome"], self.recorded["digest"])
        return recorded == (self.result.outcome, self.result.digest)

    def __str__(self) -> str:
        verdict = "the digest matches: same episode, bit for bit" if self.same else "the digest DIFFERS"
        lines = [
            str(self.result),
            f"recorded  {self.recorded['outcome']:<9} {self.recorded['digest'] or '(no digest)'}",
            f"replayed  {self.result.outcome:<9} {self.result.digest or '(no digest)'}",
            verdict,
        ]
        if self.policy_changed:
            lines.append("note: the policy is not the one of the run")
        if not self.same and self.recorded["initial_digest"] != self.result.initial_digest:
            lines.append("note: the scene itself differs already before the first action")
        return "\n".join(lines)


def replay(run_file: Path, name: str, policy: str | None = None) -> Replayed:
    """Run the named episode of a run again, in this process."""
    run = read_run(run_file)
    record = find_episode(run, name)
    suite = suite_of(record)
    if suite.version != record["version"]:
        raise RunFileError(
            f"the episode was recorded with version {record['version']} of suite '{suite.name}', installed is "
            f"{suite.version}: it cannot be replayed here"
        )
    missing = suite.missing()
    if missing is not None:
        raise SuiteError(f"suite '{suite.name}' needs {missing.module}: {missing.install}")
    source = recorded_source(policy or run.provenance["policy"]["text"], run.provenance.get("options", {}))
    key = EpisodeKey(
        suite.name, record["task"], record["partition"], record["index"], record["perturbation"], suite.version
    )
    env = suite.make_env(key.task)
    try:
        result = rollout(source.bind(suite, env), env, key)
    finally:
        env.close()
    return Replayed(record, result, policy_changed=source.digest != run.policy_digest)


def find_episode(run: Run, name: str) -> Record:
    """The record of a node id, of SUITE/ID or of an ID; what is between brackets is the ID."""
    wanted = name.partition("[")[2].rstrip("]") if "[" in name else name
    matches = []
    for record in [*run.episodes, *(other for other in run.others if other["type"] == "probe")]:
        key = EpisodeKey(record["suite"], record["task"], record["partition"], record["index"], record["perturbation"])
        if name == record.get("nodeid"):
            return record
        if wanted in (key.id, str(key)):
            matches.append(record)
    if len({record["suite"] for record in matches}) > 1:
        raise RunFileError(f"{name!r} names episodes of several suites: write SUITE/{wanted}")
    if not matches:
        known = sorted({f"{r['suite']}/{r['task']}-{r['partition']}-{r['index']:02d}" for r in run.episodes})
        raise RunFileError(unknown("episode", name, known[:1000], f"in {run.path}")[:600])
    return matches[0]


def suite_of(record: Record) -> Suite:
    """The suite of a record; one that a test file defines is found by importing that file."""
    try:
        return get_suite(record["suite"])
    except SuiteError:
        path = Path(str(record.get("nodeid", "")).partition("::")[0])
        if not path.is_file():
            raise
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    sys.path.insert(0, str(path.parent.resolve()))
    spec.loader.exec_module(module)
    return get_suite(record["suite"])
