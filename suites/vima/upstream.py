"""The suite seen as VIMABench shows itself, so that a policy written for it runs here by changing one import.

Example:
    >>> from pytest_vla.suites.vima import upstream as vima_bench
    >>> specs = vima_bench.PARTITION_TO_SPECS["test"]["placement_generalization"]
    >>> env = vima_bench.make("rotate", task_kwargs=specs["rotate"], seed=7)
    >>> observation = env.reset()
    >>> observation, reward, done, info = env.step(env.task.oracle(env).act(observation))
    >>> info["success"]
    True
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from gymnasium import spaces

from pytest_vla.episode import EpisodeKey
from pytest_vla.suggest import unknown

from .env import HIGH, IMAGE_SHAPE, LOW, VimaEnv, action_space
from .kit.partitions import L3, L4, LEVELS, TRAIN, Choices
from .kit.prompt import AssetImages
from .kit.scene import Look
from .kit.task import Task
from .objects import OBJECTS
from .oracle import Oracle
from .tasks import TASKS
from .window import PromptWindow, display_missing, prompt_picture

ALL_TASKS = [f"{task.group}/{task.name}" for task in TASKS.values()]
ALL_PARTITIONS = list(LEVELS)
VIEWS = ("front", "top")
CUSTOM = "custom"
MODALITIES = ("rgb", "segm")
DEFAULT_WITHOUT = {"pick_in_order_then_restore": ("block",)}

SPEC_KEYS = {
    "possible_dragged_obj": "dragged",
    "possible_base_obj": "bases",
    "possible_dragged_obj_texture": "dragged_textures",
    "possible_base_obj_texture": "base_textures",
}

Action = dict[str, Any]
Observation = dict[str, Any]


class Spec(dict[str, list[str]]):
    """What a partition allows for a task, as keyword arguments, and which partition that is."""

    def __init__(self, partition: str, choices: Choices) -> None:
        names = {key: list(getattr(choices, field)) for key, field in SPEC_KEYS.items()}
        super().__init__({key: value for key, value in names.items() if value})
        self.partition = partition


def _specs(partition: str) -> dict[str, Spec]:
    return {
        task.name: Spec(partition, task.partitions[partition])
        for task in TASKS.values()
        if partition in task.partitions
    }


PARTITION_TO_SPECS: dict[str, Any] = {TRAIN: _specs(TRAIN), "test": {level: _specs(level) for level in LEVELS}}


def make(
    task_name: str,
    *,
    task_kwargs: Mapping[str, Any] | None = None,
    modalities: str | Sequence[str] | None = None,
    seed: int | None = None,
    debug: bool = False,
    display_debug_window: bool = False,
    render_prompt: bool = False,
    record_gui: bool = False,
    record_kwargs: Mapping[str, Any] | None = None,
    hide_arm_rgb: bool = True,
    partition: str | None = None,
    strict: bool = False,
) -> UpstreamEnv:
    """An environment of one task, as `vima_bench.make` gives it.

    Args:
        task_name: `rotate` or `instruction_following/rotate`.
        task_kwargs: an entry of PARTITION_TO_SPECS, or lists of names under its keys. What is not given is the task's
            default: every shape that any level has, and the original's halves of the textures.
        modalities: `rgb`, `segm` or both, which is the default.
        seed: the episode that the first reset starts; each further reset starts the next one.
        debug: says nothing more here.
        display_debug_window: PyBullet's window on the table, where there is a display.
        render_prompt: `env.render()` shows the prompt in a window, where there is a display.
        record_gui: films are made by `pytest --vla-report`; here it is refused.
        record_kwargs: goes with `record_gui`.
        hide_arm_rgb: there is no arm, so it is hidden anyway.
        partition: names the partition instead of `task_kwargs`.
        strict: judge by the strict rules.
    """
    if record_gui:
        raise ValueError("record_gui: films are made by pytest --vla-report=page.html, not by the environment")
    name = task_name.rpartition("/")[2]
    if name not in TASKS:
        raise ValueError(unknown("task", task_name, list(TASKS)))
    task, where = _resolve(TASKS[name], task_kwargs, partition)
    wanted = [modalities] if isinstance(modalities, str) else list(modalities or MODALITIES)
    missing = display_missing() if display_debug_window else ""
    if missing:
        print(f"display_debug_window: {missing}; the episodes are played without a window", file=sys.stderr)
    window = display_debug_window and not missing
    return UpstreamEnv(task, where, wanted, 0 if seed is None else seed, strict, window, render_prompt)


def _resolve(task: Task, task_kwargs: Mapping[str, Any] | None, partition: str | None) -> tuple[Task, str]:
    """The task and the partition that the arguments mean; own lists of names make a partition of their own."""
    where = partition or getattr(task_kwargs, "partition", None)
    if where is not None and where not in task.partitions:
        raise ValueError(unknown("partition", where, list(task.partitions), f"of task '{task.name}'"))
    if where is not None and (not task_kwargs or isinstance(task_kwargs, Spec)):
        return task, where
    task_kwargs = task_kwargs or {}
    strange = [key for key in task_kwargs if key not in SPEC_KEYS]
    if strange:
        raise ValueError(unknown("task argument", strange[0], list(SPEC_KEYS)))
    lists: dict[str, Any] = {SPEC_KEYS[key]: _names(value) for key, value in task_kwargs.items() if value is not None}
    choices = replace(task.partitions[where] if where else default_choices(task), **lists)
    return replace(task, partitions={CUSTOM: choices}), CUSTOM


def default_choices(task: Task) -> Choices:
    """What the original's tasks draw from when nothing is said: every shape of any level, by halves of all textures."""
    levels = list(task.partitions.values())
    dragged = {name for choices in levels for name in choices.dragged} - set(DEFAULT_WITHOUT.get(task.name, ()))
    bases = {name for choices in levels for name in choices.bases}
    # Levels 3 and 4 have the textures of the default; sweeping has no level 3, and two roles like same_texture.
    textured = levels[-1] if {L3, L4} & set(task.partitions) else TASKS["same_texture"].partitions[L4]
    return replace(
        textured,
        dragged=tuple(name for name in OBJECTS if name in dragged),
        bases=tuple(name for name in OBJECTS if name in bases),
    )


def _names(value: Any) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(str(name) for name in value)


@dataclass(frozen=True)
class OracleView:
    """The scripted expert with the original's signature: `act(observation) -> action`."""

    policy: Oracle

    def act(self, observation: Any = None) -> Action:
        action: Action = self.policy.act([observation or {}], [None])[0]
        return action


@dataclass(frozen=True)
class TaskView:
    """The task of an environment, as far as programs written for the original look at it."""

    name: str
    oracle_max_steps: int
    env: UpstreamEnv = field(repr=False)

    @property
    def task_name(self) -> str:
        return self.name

    @property
    def seed(self) -> int:
        return self.env.global_seed[1]

    def oracle(self, env: UpstreamEnv) -> OracleView:
        return OracleView(Oracle(env.inner))


class UpstreamEnv:
    """`reset() -> obs`, `step(action) -> (obs, reward, done, info)`; prompt and meta data are attributes."""

    metadata: Mapping[str, Any] = {"render_modes": ["human", "rgb_array"]}
    reward_range = (0.0, 0.0)
    spec = None
    """As in the original: it is in no registry, so wrappers find no limit here."""

    def __init__(
        self,
        task: Task,
        partition: str,
        modalities: Sequence[str],
        seed: int,
        strict: bool,
        window: bool = False,
        render_prompt: bool = False,
    ) -> None:
        strange = [name for name in modalities if name not in MODALITIES]
        if strange:
            raise ValueError(unknown("modality", strange[0], list(MODALITIES)))
        self.inner = VimaEnv({task.name: task}, strict=strict, window=window)
        self.task = TaskView(task.name, task.oracle_steps, self)
        self._prompt_window = PromptWindow() if render_prompt else None
        self.task_name, self.partition, self.modalities = task.name, partition, list(modalities)
        self.global_seed = seed
        self.action_space, self.observation_space = action_space(), _observation_space(modalities)
        self._strict = strict
        self._resets = 0

    @property
    def unwrapped(self) -> UpstreamEnv:
        return self

    @property
    def global_seed(self) -> tuple[int, int]:
        """The episode that the next reset starts: for the environment and for its task, which are the same here."""
        return self._seed, self._seed

    @global_seed.setter
    def global_seed(self, seed: int) -> None:
        self._seed, self._resets = int(seed), 0

    def seed(self, seed: int | None = None) -> int:
        self._seed, self._resets = 0 if seed is None else int(seed), 0
        return self._seed

    def reset(self) -> Observation:
        name = "vima_strict" if self._strict else "vima"
        key = EpisodeKey(name, self.task_name, self.partition, self._seed + self._resets)
        self._resets += 1
        observation, _ = self.inner.reset(options={"episode": key})
        self.prompt: str = self.inner.prompt.text
        return self._view(observation)

    def step(self, action: Action, skip_oracle: bool = True) -> tuple[Observation, float, bool, dict[str, Any]]:
        """One action; `skip_oracle` says nothing here, where experts have no goals of their own."""
        observation, _, done, _, info = self.inner.step(action)
        facts = {"prompt": self.prompt, "success": info["success"], "failure": "failure" in info}
        return self._view(observation), 0.0, done, facts

    @property
    def prompt_assets(self) -> dict[str, dict[str, Any]]:
        return {name: _asset(images) for name, images in self.inner.prompt.assets.items()}

    def get_prompt_and_assets(self) -> tuple[str, dict[str, dict[str, Any]]]:
        return self.prompt, self.prompt_assets

    @property
    def meta_info(self) -> dict[str, Any]:
        looks = self.inner.table.looks()
        return {
            "end_effector_type": self.inner.task.tool,
            "n_objects": len(looks),
            "difficulty": "easy",
            "views": list(VIEWS),
            "modalities": self.modalities,
            "seed": self._seed,
            "action_bounds": {"low": LOW.copy(), "high": HIGH.copy()},
            "robot_components": [],
            "obj_id_to_info": {self.inner.ids[label]: _facts(look) for label, look in looks.items()},
        }

    def render(self, mode: str = "human") -> np.ndarray | None:
        """The prompt: in its window where `render_prompt` asked for one, or as an image in the mode `rgb_array`."""
        if mode == "rgb_array":
            return np.asarray(prompt_picture(self.inner.prompt))
        if self._prompt_window is not None:
            self._prompt_window.show(prompt_picture(self.inner.prompt))
        return None

    def close(self) -> None:
        self.inner.close()
        if self._prompt_window is not None:
            self._prompt_window.close()

    def _view(self, observation: Observation) -> Observation:
        seen: Observation = {"ee": int(observation["state"]["ee"][0])}
        if "rgb" in self.modalities:
            seen["rgb"] = {view: _channels_first(observation["images"][view]) for view in VIEWS}
        if "segm" in self.modalities:
            seen["segm"] = {view: observation["segmentation"][view] for view in VIEWS}
        return seen


def _observation_space(modalities: Sequence[str]) -> spaces.Dict:
    image, mask = spaces.Box(0, 255, (3, *IMAGE_SHAPE), np.uint8), spaces.Box(0, 255, IMAGE_SHAPE, np.uint8)
    kinds = {"rgb": image, "segm": mask}
    seen: dict[str, Any] = {name: spaces.Dict(dict.fromkeys(VIEWS, kinds[name])) for name in modalities}
    return spaces.Dict({**seen, "ee": spaces.Discrete(2)})


def _channels_first(image: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(np.moveaxis(image, -1, 0))


def _asset(images: AssetImages) -> dict[str, Any]:
    objects = [
        {"obj_id": number, "obj_name": look.shape, "obj_color": look.texture} for number, look in images.objects.items()
    ]
    return {
        "rgb": {view: _channels_first(images.rgb[view]) for view in VIEWS},
        "segm": {
            **{view: images.segmentation[view] for view in VIEWS},
            "obj_info": objects[0] if images.kind == "object" else objects,
        },
        "placeholder_type": images.kind,
    }


def _facts(look: Look) -> dict[str, Any]:
    spec = OBJECTS[look.shape]
    described = {f"obj_{field.name}": getattr(spec, field.name) for field in fields(spec)}
    return {**described, "texture_name": look.texture}
