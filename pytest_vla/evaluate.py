"""A benchmark as a library call, for a training loop: the same episodes and the same run file, without pytest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_vla.benchmark import names
from pytest_vla.episode import EpisodeKey, Result
from pytest_vla.inference.session import held_source, local_source
from pytest_vla.options import InferenceOptions
from pytest_vla.policies import Policy, PolicyError, PolicySource
from pytest_vla.registry import register, typed_suite
from pytest_vla.rollout import DEFAULT_TIMEOUT_S, Surroundings, rollout, surroundings
from pytest_vla.run import KeySet, Plan, Record, Run, RunWriter, read_run, sum_by
from pytest_vla.run.folder import RunFolder, chosen_folder
from pytest_vla.run.provenance import provenance
from pytest_vla.run.trace import Tape
from pytest_vla.suite import Suite, SuiteError

if TYPE_CHECKING:
    import gymnasium

DEFAULT_EPISODES = 10


def evaluate(
    policy: Policy | str,
    suite: Suite | str,
    *,
    episodes: int = DEFAULT_EPISODES,
    task: str | Sequence[str] = (),
    partition: str | Sequence[str] = (),
    first_episode: int = 0,
    run_dir: str | Path | None = None,
    timeout: float = DEFAULT_TIMEOUT_S,
    keep_actions: bool = False,
    on_result: Callable[[Result], object] = lambda result: None,
) -> Run:
    """Play episodes of a suite in this process and return the run, as `pytest --vla-policy` would have written it.

    Args:
        policy: a policy, or what `--vla-policy` takes.
        suite: a suite, or its name.
        episodes: of each task and partition.
        task, partition: only these; all tasks and the suite's default partitions otherwise.
        first_episode: the index of the first one: fresh scenes for every evaluation, or the same ones to compare.
        run_dir: where the run file goes; by default a new folder in `vla-runs/`.
        timeout: seconds without a step after which an episode counts as hanging.
        keep_actions: write down what the policy did, so that `films` can show it without the policy.
        on_result: hears of every episode as it ends.

    Returns:
        The run: `run.once.tally()`, `scalars(run)`, `films(run)`, and whatever reads a run file.
    """
    asked = InferenceOptions(policy=policy) if isinstance(policy, str) else InferenceOptions()
    source = local_source(asked) if isinstance(policy, str) else held_source(policy, asked)
    if isinstance(suite, str):
        suite = typed_suite(suite)
    else:
        register(suite)
    _check(source, suite, episodes)
    indices = range(first_episode, first_episode + episodes)
    cells = suite.select(names(task), names(partition))
    keys = [suite.episode(*cell, index) for cell in cells for index in indices]
    if not keys:
        raise SuiteError(f"nothing to evaluate: suite '{suite.name}' has no such task in these partitions")
    options = {"episodes": episodes, "first_episode": first_episode, "suite": [suite.name], "policy": source.text}
    with closing(
        RunFolder.hold(chosen_folder(None if run_dir is None else str(run_dir), None, resume=False))
    ) as folder:
        identity = {**source.identity, "spec": source.spec.to_dict()}
        writer = RunWriter.create(folder.file, provenance(identity, {suite.name: suite.version}, options))
        try:
            _play(writer, _Player(source, suite, timeout, keep_actions), keys, on_result)
        finally:
            writer.close()
        return read_run(folder.path)


def scalars(run: Run, prefix: str = "vla") -> dict[str, float]:
    """A run as numbers for a logger: success with both ends of its interval, of each partition and of each suite.

    `vla/SUITE/PARTITION/success`, `.../low`, `.../high`, `.../episodes`, and `vla/SUITE/success` over all of it.
    """
    found: dict[str, float] = {}
    tallies = run.once.tallies()
    groups = {
        **sum_by(tallies, lambda cell: f"{cell.suite}/{cell.partition}"),
        **sum_by(tallies, lambda cell: cell.suite),
    }
    for name, tally in groups.items():
        found[f"{prefix}/{name}/episodes"] = float(tally.measured)
        found[f"{prefix}/{name}/errors"] = float(tally.errors)
        interval = tally.interval()
        if tally.rate is not None and interval is not None:
            values = {"success": tally.rate, "low": interval[0], "high": interval[1]}
            found.update({f"{prefix}/{name}/{word}": value for word, value in values.items()})
    return found


def films(run: Run, which: str = "1", folder: str | Path | None = None, prefix: str = "vla") -> dict[str, Path]:
    """MP4 files of episodes, by the name that a logger shows them under: `vla/SUITE/TASK-PARTITION-INDEX`.

    Args:
        run: a run that kept its actions (`keep_actions=True`, `--vla-keep-actions`).
        which: `unsolved`, `all`, or of each task the first so many unsolved ones.
        folder: where the files go; by default `films` beside the run file. Those that lie there are not made again.
        prefix: of the names.
    """
    from pytest_vla.report.film import choose, make_films

    place = run.path.parent / "films" if folder is None else Path(folder)
    made = make_films(run, choose(run, which), place)
    return {f"{prefix}/{episode}": place / film.video for episode, film in made.items() if film.video is not None}


def _check(source: PolicySource, suite: Suite, episodes: int) -> None:
    if episodes < 1:
        raise SuiteError(f"episodes must be 1 or more, got {episodes}")
    missing = suite.missing()
    if missing is not None:
        raise SuiteError(f"suite '{suite.name}' needs {missing.module}: {missing.install}")
    mismatch = source.spec.mismatch(suite)
    if mismatch:
        raise PolicyError(f"policy '{source.text}' cannot act in suite '{suite.name}': {mismatch}")


def _play(
    writer: RunWriter, player: _Player, keys: Sequence[EpisodeKey], on_result: Callable[[Result], object]
) -> None:
    planned = KeySet.of(keys)
    writer.write(Plan(planned, planned, frozenset()).to_record())
    with closing(player):
        for key in keys:
            result = player.play(key)
            record = Record(result, f"evaluate[{key.id}]", "passed" if result else "failed")
            writer.write_text(record.to_text())
            on_result(result)
    writer.write({"type": "end", "episodes": len(keys)})


class _Player:
    """Plays episodes one after the other; an environment serves until one of another group is needed, or it broke."""

    def __init__(self, source: PolicySource, suite: Suite, timeout: float, keep_actions: bool) -> None:
        self.source, self.suite, self.timeout = source, suite, timeout
        self._tape = Tape() if keep_actions else None
        self._env: gymnasium.Env[Any, Any] | None = None
        self._group = ""

    def play(self, key: EpisodeKey) -> Result:
        if self._env is None or self.suite.env_group(key.task) != self._group:
            self.close()
            self._env, self._group = self.suite.make_env(key.task), self.suite.env_group(key.task)
        result = self._rolled(self._env, key)
        if result.outcome == "error" and result.reason != "policy_error":
            self.close()
        return result

    def _rolled(self, env: gymnasium.Env[Any, Any], key: EpisodeKey) -> Result:
        tape = self._tape
        if tape is None:
            return rollout(self.source.bind(self.suite, env), env, key, timeout=self.timeout)
        token = surroundings.set(Surroundings(on_step=lambda step: tape.add(step.action, step.progress)))
        try:
            return tape.added_to(rollout(self.source.bind(self.suite, env), env, key, timeout=self.timeout))
        finally:
            surroundings.reset(token)

    def close(self) -> None:
        if self._env is not None:
            self._env.close()
            self._env = None
