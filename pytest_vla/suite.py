"""What a suite must provide."""

from __future__ import annotations

import importlib.util
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_vla.episode import EpisodeKey
from pytest_vla.policies.conventions import Conventions
from pytest_vla.suggest import unknown

if TYPE_CHECKING:
    import gymnasium

    from pytest_vla.perturb import Axis
    from pytest_vla.policies import Policy


class SuiteError(Exception):
    """A suite was asked for something it does not have, or cannot run here."""


class Termination(StrEnum):
    """When a success counts. Left implicit, this silently inflates scores, so every suite states it."""

    ON_SUCCESS = "on_success"  # the first success ends the episode
    AT_HORIZON = "at_horizon"  # success must hold at the step limit


@dataclass(frozen=True, slots=True)
class Requirement:
    """A module a suite cannot run without, and the one command that installs it."""

    module: str
    install: str


@dataclass(frozen=True, slots=True)
class Provided:
    """What a run gives to its suites besides keys: folders of data, and what a process of their own may use."""

    data: Mapping[str, Path] = field(default_factory=dict)
    """By suite; that of the empty name is everybody's."""
    memory_gb: float = 0.0


@dataclass(frozen=True, slots=True)
class Published:
    """What others have scored in a benchmark, to be read beside a run of it.

    Args:
        rates: by method, and then by (task, partition), the success rate (0..1); what a method was not run on is left
            out.
        source: where the numbers are from, in a sentence.
        caveat: what a reader must know before comparing, in a sentence.
        groups: the methods by what kind they are.
    """

    rates: Mapping[str, Mapping[tuple[str, str], float]]
    source: str
    caveat: str
    groups: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Score:
    """A benchmark's own score, where that is not its success rate: a multiple of the mean progress."""

    name: str
    most: float
    """What it is when every episode is solved."""


class Suite(ABC):
    """One benchmark: its tasks, partitions and protocol. Three methods are abstract, the others have a default.

    Creating a suite and listing its cells must be cheap (no simulator, no torch): that happens at collection.
    """

    name: str
    version: str = "1"
    termination: Termination = Termination.ON_SUCCESS
    requires: Sequence[Requirement] = ()
    control_hz: float = 1.0  # actions in a second of the robot's time; 1 where an action is a whole motion
    batch: int = 1  # episodes of a task that its environments run at once, by `reset_batch` and `step_batch`
    # What a policy may rely on, as data; compared with the policy's spec before the first episode.
    cameras: Sequence[str] = ()
    state_keys: Sequence[str] = ()
    image_sizes: Mapping[str, tuple[int, int]] = {}  # height and width by camera, where they are known
    rotations: Sequence[str] = ()  # the ways in which an action may have its rotation, other than the space's own
    #: what pictures, state and actions mean, as data: what a policy has otherwise is converted
    conventions: Conventions = Conventions()
    #: what the numbers mean, and in which units: by `state.KEY`, and by `action` or `action.PART`
    meanings: Mapping[str, str] = {}
    #: perturbation axes that this suite brings, in the groups there are
    own_axes: Sequence[Axis] = ()
    score: Score | None = None  # what it is published by, where that is not the success rate
    #: a variant of another suite, or one that takes an environment of its own: run only when `--vla-suite` names it
    only_by_name: bool = False
    plays_as: Sequence[str] = ()  # suites with the same observations and actions: policies for them act here too
    has_oracle: bool = False  # a suite that defines `oracle` has one, unless it says otherwise
    #: path of the test file that `pytest --vla-suite=NAME` runs when no path is given
    test_file: Path | None = None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "oracle" in cls.__dict__ and "has_oracle" not in cls.__dict__:
            cls.has_oracle = True

    @abstractmethod
    def cells(self) -> Sequence[tuple[str, str]]:
        """Every (task, partition) there is, in the order of the report."""

    @abstractmethod
    def make_env(self, task: str) -> gymnasium.Env[Any, Any]:
        """A new environment that can run `task`.

        `reset` gets `seed=` and `options={"episode": EpisodeKey}` and applies the key's perturbation, if any.
        `step` says how it went in `info`: `success` (bool), and `failure` (a reason such as `constraint_violated` or
        `invalid_action`) when the episode is lost, with an optional `message` for a person. What is in `kept`, plain
        data by name, becomes part of the episode's line in the run file.
        """

    @abstractmethod
    def step_limit(self, task: str) -> int:
        """How many actions a policy has."""

    def default_partitions(self) -> Sequence[str]:
        """The partitions that are run when none is named."""
        return self.partitions()

    def unseen_tasks(self) -> Sequence[str]:
        """Tasks that no policy may have been trained on: its score there would not be what the benchmark asks for."""
        return ()

    def env_group(self, task: str) -> str:
        """Tasks with the same answer share one environment in a worker."""
        return task

    def oracle(self, env: gymnasium.Env[Any, Any]) -> Policy:
        """A privileged policy that shows that each episode can be solved."""
        raise SuiteError(self.without_oracle)

    def noop(self, env: gymnasium.Env[Any, Any]) -> Any:
        """An action that does nothing (the space's zero, clipped into it, unless the suite knows better)."""
        from pytest_vla.policies.actions import zero_action

        return zero_action(env.action_space)

    def action(self, given: Any, rotation: str) -> Any:
        """An action of the environment's space, from one that has its rotation in another way (of `rotations`)."""
        raise SuiteError(f"suite '{self.name}' takes no actions with rotations as {rotation}")

    def flatten_action(self, action: Any) -> Any:
        """An action as one float32 vector: in recorded demonstrations, on the wire, in exported graphs."""
        from pytest_vla.policies.actions import flatten_action

        return flatten_action(action)

    def unflatten_action(self, vector: Any, space: gymnasium.Space[Any]) -> Any:
        """The way back: what a policy that gives vectors means. PolicyError where it is no such vector."""
        from pytest_vla.policies.actions import unflatten_action

        return unflatten_action(vector, space)

    def action_space(self, task: str) -> gymnasium.Space[Any]:
        """The space of a task's actions; a suite that knows it without an environment says so."""
        env = self.make_env(task)
        try:
            return env.action_space
        finally:
            env.close()

    def accept(self, given: Any, space: gymnasium.Space[Any]) -> Any:
        """What `step` gets of a policy's action; PolicyError where it is malformed.

        A suite that measures what is malformed, as one that asks questions does, takes it as it is.
        """
        from pytest_vla.policies.actions import check_action, has_parts

        if has_parts(space) and not isinstance(given, Mapping):
            given = self.unflatten_action(given, space)
        return check_action(given, space)

    def output(self, task: str) -> str:
        """The type of answer that a task asks for, compared with those of a policy's spec; none for robots' actions."""
        return ""

    def hold(self, env: gymnasium.Env[Any, Any], last: Any) -> Any:
        """What the robot does in a step that brings no new action; `last` is what it did before, None at the start."""
        return self.noop(env)

    def axes(self) -> Sequence[str]:
        """The perturbation axes that work here: those around any environment, and those its `reset` applies itself."""
        from pytest_vla.perturb import everywhere

        found = everywhere(cameras=bool(self.cameras), states=bool(self.state_keys))
        return [*found, *(axis.name for axis in self.own_axes)]

    def random_action(self, space: gymnasium.Space[Any]) -> Any:
        """One draw of the random policy; a suite narrows it where most of the space is impossible."""
        return space.sample()

    def features(self, env: gymnasium.Env[Any, Any]) -> Mapping[str, str | float]:
        """What the scene after a reset is like, in a few names and numbers: which object, on which side, how far off.

        As drawn: the same key has the same features whatever its perturbation, so that "fails where the object is on
        the left" can be told from "fails when the camera is turned".
        """
        return {}

    def groups(self) -> Mapping[str, Sequence[str]]:
        """The tasks by what they ask of a policy, where the benchmark reports by that too; a task is in one group."""
        return {}

    def published(self) -> Published | None:
        """What others have scored here; reports put a run beside it. None where nothing is known."""
        return None

    def progress(self, env: gymnasium.Env[Any, Any]) -> float | None:
        """How much of the task is done, 0..1, or None where the task has no such measure."""
        return None

    def digest(self, env: gymnasium.Env[Any, Any]) -> str:
        """A hash of the full physical state, to prove that two runs were the same."""
        return ""

    def segment(self, env: gymnasium.Env[Any, Any], camera: str) -> tuple[Any, Mapping[int, str]] | None:
        """Which thing each pixel of a camera's picture shows now: whole numbers (height, width), and their names.

        Names say what a thing is for in this episode (the object to be moved, the target, the gripper, distractors,
        the table), so that many episodes can be told together. None where the suite cannot say.
        """
        return None

    def provenance(self) -> dict[str, str]:
        """What an episode depends on besides its key, such as the renderer here; runs that differ in it do not pair."""
        return {}

    @property
    def without_oracle(self) -> str:
        return f"suite '{self.name}' has no oracle; choose another --vla-policy"

    # --- derived -----------------------------------------------------------------------------------------------------

    def tasks(self) -> list[str]:
        return list(dict.fromkeys(task for task, _ in self.cells()))

    def partitions(self) -> list[str]:
        return list(dict.fromkeys(partition for _, partition in self.cells()))

    def select(self, tasks: Iterable[str] = (), partitions: Iterable[str] = ()) -> list[tuple[str, str]]:
        """The cells of the named tasks and partitions; unknown names are an error that suggests the nearest ones."""
        tasks, partitions = list(tasks), list(partitions)
        for kind, wanted, known in (("task", tasks, self.tasks()), ("partition", partitions, self.partitions())):
            for name in wanted:
                if name not in known:
                    raise SuiteError(unknown(kind, name, known, f"in suite '{self.name}'"))
        chosen = set(partitions or self.default_partitions())
        return [(t, p) for t, p in self.cells() if p in chosen and (not tasks or t in tasks)]

    def episode(self, task: str, partition: str, index: int, perturbation: str = "") -> EpisodeKey:
        return EpisodeKey(self.name, task, partition, index, perturbation, self.version)

    def data_folder(self) -> Path | None:
        """The folder that `--vla-data` gives this suite."""
        folders = provided().data
        return folders.get(self.name) or folders.get("")

    def lacks(self, episode: EpisodeKey) -> str | None:
        """Why this very episode cannot run here, in a sentence that says what to do; None where it can."""
        return None

    def missing(self) -> Requirement | None:
        """The first requirement that is not installed, found without importing it."""
        return next((r for r in self.requires if importlib.util.find_spec(r.module) is None), None)

    def missing_in(self, task: str) -> Requirement | None:
        """The same for one task, where tasks need more than the suite does."""
        return self.missing()


_provided = Provided()


def provide(data: Iterable[str] = (), memory_gb: float = 0.0) -> None:
    """Say what the suites of this process get, as `--vla-data` has it: `[SUITE=]DIR`."""
    global _provided
    folders = {}
    for text in data:
        suite, _, folder = text.rpartition("=")
        folders[suite] = Path(folder).expanduser().absolute()
    _provided = Provided(folders, memory_gb)


def provided() -> Provided:
    return _provided
