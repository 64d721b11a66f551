"""MultiNet as a suite: eleven kinds of questions in seven domains, made by code, from the user's data, or live."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_vla.answers.forms import CALL
from pytest_vla.episode import printable
from pytest_vla.suite import Published, Suite

from .domains import DOMAIN_OF, DOMAINS, GAME_STEPS, LIVE_BFCL, LIVE_OVERCOOKED, ODINW, REPLAY, SHAPES
from .scoring import JOINT_ACTIONS

if TYPE_CHECKING:
    import gymnasium

    from pytest_vla.episode import EpisodeKey
    from pytest_vla.policies import Policy

    from .sample import Source

SYNTHETIC = "synthetic"
OWN_DATA = ("public", "full")
LIVE, HUMANS = "live", "replay"
LIVE_TASKS = (*LIVE_OVERCOOKED, *LIVE_BFCL)
PUBLISHED = Path(__file__).parent / "data" / "published.json"
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
        made = [(task, SYNTHETIC) for task in tasks if not _is_real_subset(task)]
        own = [(task, partition) for partition in OWN_DATA for task in tasks]
        live = [(task, LIVE) for task in (*LIVE_OVERCOOKED, *LIVE_BFCL)]
        return [*made, *own, *live, (REPLAY, HUMANS)]

    def default_partitions(self) -> Sequence[str]:
        return (SYNTHETIC,)

    def make_env(self, task: str) -> gymnasium.Env[Any, Any]:
        from .env import QuestionEnv
        from .judge import Setting

        if task in LIVE_TASKS:
            from .live import live_env

            return live_env(task)
        domain = DOMAIN_OF[task]
        setting = Setting(task, domain.regime, domain.needs)
        space = self._usual_space(task)
        return QuestionEnv(domain.output, setting, lambda partition: self.source(task, partition), space)

    def env_group(self, task: str) -> str:
        """Live tasks of one kind share a process: the world in it is replaced when the task changes."""
        return task

    def _usual_space(self, task: str) -> gymnasium.Space[Any]:
        """That of the generated samples, or what is known of a sub-set."""
        from gymnasium.spaces import Discrete

        from .sample import space_of

        if task == REPLAY:
            return Discrete(JOINT_ACTIONS)
        if _is_real_subset(task):
            return Discrete(ODINW[task.removeprefix("odinw_")])
        return space_of(DOMAIN_OF[task].output, self.source(task, SYNTHETIC))

    def source(self, task: str, partition: str) -> Source:
        """Where the samples of a cell come from, kept for the next one."""
        if (task, partition) not in self._sources:
            self._sources[task, partition] = self._open(task, partition)
        return self._sources[task, partition]

    @cached_property
    def _sources(self) -> dict[tuple[str, str], Source]:
        return {}

    def _open(self, task: str, partition: str) -> Source:
        if partition == SYNTHETIC:
            from .synthetic import synthetic_source

            return synthetic_source(task)
        if partition == HUMANS:
            from .live import human_games

            return human_games()
        from .loaders import load

        return load(task, partition, self.data_folder())

    def step_limit(self, task: str) -> int:
        if task in LIVE_OVERCOOKED:
            return GAME_STEPS
        return TURNS if DOMAIN_OF[task].output == CALL else 1

    def output(self, task: str) -> str:
        return DOMAIN_OF[task].output

    def accept(self, given: Any, space: gymnasium.Space[Any]) -> Any:
        """Anything: whether it is an answer is what is measured. It must only fit into a line of the run file."""
        import numpy as np

        if isinstance(given, str):
            return printable(given[:LONGEST_ANSWER])
        if isinstance(given, (list, tuple)) and given and all(isinstance(call, str) for call in given):
            return printable("\n".join(given)[:LONGEST_ANSWER])
        try:
            array = np.asarray(given)
            if array.dtype.kind in "iuf":
                return array[: LONGEST_ANSWER // 10] if array.ndim else array
            return "" if given is None else printable(str(given)[:LONGEST_ANSWER])
        except (ValueError, TypeError, OverflowError, RecursionError):  # ragged, endless, or too large to be written
            return f"a {type(given).__name__}"

    def noop(self, env: gymnasium.Env[Any, Any]) -> Any:
        """An empty answer where words are asked for, and the first or middle one else."""
        from gymnasium.spaces import Text

        return "" if isinstance(env.action_space, Text) else super().noop(env)

    def oracle(self, env: gymnasium.Env[Any, Any]) -> Policy:
        from .env import QuestionEnv, RightAnswers

        inner = env.unwrapped
        if isinstance(inner, QuestionEnv):
            return RightAnswers(inner)
        from .live import ConversationEnv, GameEnv, LiveOracle

        assert isinstance(inner, (ConversationEnv, GameEnv))
        return LiveOracle(inner)

    def axes(self) -> Sequence[str]:
        """Those of pictures and of words; nothing moves here."""
        from pytest_vla.perturb import AXES, CONTRADICTION, everywhere

        return [*(name for name in everywhere(states=False) if AXES[name].stage != "action"), CONTRADICTION]

    def published(self) -> Published | None:
        """Beside runs on the whole test data: what is made by code here was never asked anybody."""
        import json

        data = json.loads(PUBLISHED.read_text(encoding="utf-8"))
        rates = {
            model: {(task, "full"): rate for task, rate in found.items()}
            for model, found in data["exact_match"].items()
        }
        return Published(rates, f"{data['source']}.", f"To be read with care: {'; '.join(data['caveats'])}.")

    def features(self, env: gymnasium.Env[Any, Any]) -> Mapping[str, str | float]:
        from .env import QuestionEnv
        from .judge import label_text

        inner = env.unwrapped
        if not isinstance(inner, QuestionEnv):
            from pytest_vla.isolate.env import isolated

            return isolated(env).features
        return {"sample": inner.sample.id, "label": label_text(inner.sample)}

    def digest(self, env: gymnasium.Env[Any, Any]) -> str:
        from .env import QuestionEnv

        inner = env.unwrapped
        if isinstance(inner, QuestionEnv):
            return inner.digest()
        from pytest_vla.isolate.env import isolated

        return isolated(env).digest

    def lacks(self, episode: EpisodeKey) -> str | None:
        """Data that is not there, by its path, and samples beyond its end."""
        if episode.partition == SYNTHETIC:
            return None
        if episode.partition in (LIVE, HUMANS):
            from .live import CONVERSATIONS, not_installed

            if episode.task in LIVE_BFCL and episode.index >= CONVERSATIONS:
                return f"{episode.task} has {CONVERSATIONS} conversations and no more"
            if episode.task not in self._uninstalled:
                self._uninstalled[episode.task] = not_installed(episode.task)
            if self._uninstalled[episode.task] is not None or episode.partition == LIVE:
                return self._uninstalled[episode.task]
        cell = episode.task, episode.partition
        if cell not in self._absent:
            self._absent[cell] = self._why_absent(*cell)
        why = self._absent[cell]
        if why is None and not self.source(*cell).holds(episode.index):
            return f"{'/'.join(cell)} has {len(self.source(*cell))} samples and no more"
        return why

    @cached_property
    def _uninstalled(self) -> dict[str, str | None]:
        return {}

    @cached_property
    def _absent(self) -> dict[tuple[str, str], str | None]:
        return {}

    def _why_absent(self, task: str, partition: str) -> str | None:
        from .loaders import Missing
        from .loaders.files import DataError
        from .loaders.snapshots import NotInstalled

        try:
            self.source(task, partition)
        except (Missing, NotInstalled, DataError) as error:
            return f"{task}/{partition}: {error}"
        return None


def _is_real_subset(task: str) -> bool:
    return task.removeprefix("odinw_") in ODINW and task != SHAPES
