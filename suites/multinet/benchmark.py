"""MultiNet as a suite: eleven kinds of questions in seven domains, made by code, from the user's data, or live."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_vla.answers.forms import CALL
from pytest_vla.suite import Suite, SuiteError

from .domains import DOMAIN_OF, DOMAINS, ODINW, SHAPES

if TYPE_CHECKING:
    import gymnasium

    from pytest_vla.episode import EpisodeKey
    from pytest_vla.policies import Policy

    from .sample import Source

SYNTHETIC = "synthetic"
TURNS = 12  # of the longest conversation
LONGEST_ANSWER = 1_000_000  # characters that are looked at; what is longer is invalid anyway


class MultiNetSuite(Suite):
    """Questions of five types. An answer that cannot be read is unsolved, by the reason `invalid_output`."""

    name = "multinet"
    version = "1"
    only_by_name = True  # a policy that moves a robot is not asked questions unless somebody says so
    test_file = Path(__file__).parent / "test_multinet.py"

    def cells(self) -> Sequence[tuple[str, str]]:
        tasks = [task for domain in DOMAINS.values() for task in domain.tasks]
        return [(task, SYNTHETIC) for task in tasks if not _is_real_subset(task)]

    def default_partitions(self) -> Sequence[str]:
        return (SYNTHETIC,)

    def make_env(self, task: str) -> gymnasium.Env[Any, Any]:
        from .env import QuestionEnv
        from .judge import Setting

        domain = DOMAIN_OF[task]
        setting = Setting(task, domain.regime, domain.needs)
        return QuestionEnv(domain.output, setting, lambda partition: self.source(task, partition), SYNTHETIC)

    def source(self, task: str, partition: str) -> Source:
        """Where the samples of a cell come from, kept for the next one."""
        if (task, partition) not in self._sources:
            self._sources[task, partition] = self._open(task, partition)
        return self._sources[task, partition]

    @cached_property
    def _sources(self) -> dict[tuple[str, str], Source]:
        return {}

    def _open(self, task: str, partition: str) -> Source:
        from .synthetic import synthetic_source

        if partition == SYNTHETIC:
            return synthetic_source(task)
        raise SuiteError(f"'{self.name}' has no samples of '{task}' in partition '{partition}'")

    def step_limit(self, task: str) -> int:
        return TURNS if DOMAIN_OF[task].output == CALL else 1

    def output(self, task: str) -> str:
        return DOMAIN_OF[task].output

    def accept(self, given: Any, space: gymnasium.Space[Any]) -> Any:
        """Anything: whether it is an answer is what is measured. It must only fit into a line of the run file."""
        import numpy as np

        if isinstance(given, str):
            return str(given)[:LONGEST_ANSWER]
        if isinstance(given, (list, tuple)) and given and all(isinstance(call, str) for call in given):
            return "\n".join(given)[:LONGEST_ANSWER]
        try:
            array = np.asarray(given)
        except (ValueError, TypeError, RecursionError):
            array = np.empty(0, object)
        if array.dtype.kind in "iuf":
            return array
        return str(given)[:LONGEST_ANSWER]

    def noop(self, env: gymnasium.Env[Any, Any]) -> Any:
        """An empty answer where words are asked for, and the first or middle one else."""
        from gymnasium.spaces import Text

        return "" if isinstance(env.action_space, Text) else super().noop(env)

    def oracle(self, env: gymnasium.Env[Any, Any]) -> Policy:
        from .env import QuestionEnv, RightAnswers

        inner = env.unwrapped
        assert isinstance(inner, QuestionEnv)
        return RightAnswers(inner)

    def axes(self) -> Sequence[str]:
        """Those of pictures and of words; nothing moves here."""
        from pytest_vla.perturb import AXES, CONTRADICTION, everywhere

        return [*(name for name in everywhere(states=False) if AXES[name].stage != "action"), CONTRADICTION]

    def features(self, env: gymnasium.Env[Any, Any]) -> Mapping[str, str | float]:
        from .env import QuestionEnv
        from .judge import label_text

        inner = env.unwrapped
        if not isinstance(inner, QuestionEnv):
            return {}
        return {"sample": inner.sample.id, "label": label_text(inner.sample)}

    def digest(self, env: gymnasium.Env[Any, Any]) -> str:
        from .env import QuestionEnv

        inner = env.unwrapped
        return inner.digest() if isinstance(inner, QuestionEnv) else ""

    def lacks(self, episode: EpisodeKey) -> str | None:
        return None


def _is_real_subset(task: str) -> bool:
    return task.removeprefix("odinw_") in ODINW and task != SHAPES
