"""LIBERO-plus as a suite: upstream's own list of tasks, by dimension. What moves is in `world.py`, elsewhere."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_vla.isolate.described import NOT_INSTALLED
from pytest_vla.isolate.suite import IsolatedSuite
from pytest_vla.suite import SuiteError, Termination

from ..libero.assets import instruction
from ..libero.benchmark import IMAGE_PX, LIBERO_CONVENTIONS, STEP_LIMITS
from .names import DIMENSIONS, base_of, rewords

if TYPE_CHECKING:
    import gymnasium

PACKAGE = "libero/libero"
LIST = f"{PACKAGE}/benchmark/task_classification.json"


@dataclass(frozen=True)
class Listed:
    """A task as upstream lists it: its LIBERO suite, its dimension, and its level (None where it has none)."""

    suite: str
    dimension: str
    level: int | None


class CheckoutSuite(IsolatedSuite):
    """A variant of LIBERO whose code, tasks and assets are a checkout of the user's; without it it is one skip."""

    version = "1"
    termination = Termination.ON_SUCCESS
    control_hz = 20.0
    cameras = ("agentview", "wrist")
    state_keys = ("robot",)
    conventions = LIBERO_CONVENTIONS
    has_oracle = True
    root_variable: str

    def action_space(self, task: str) -> gymnasium.Space[Any]:
        import numpy as np
        from gymnasium.spaces import Box

        return Box(-1.0, 1.0, (7,), np.float32)

    def noop(self, env: gymnasium.Env[Any, Any]) -> Any:
        """The arm stays, and the gripper is open."""
        import numpy as np

        return np.array([0.0] * 6 + [-1.0], dtype=np.float32)

    def data_folder(self) -> Path | None:
        """The checkout: what `--vla-data` gives, or the variable of this suite."""
        given, variable = super().data_folder(), os.environ.get(self.root_variable)
        return given or (Path(variable).expanduser().absolute() if variable else None)

    def checkout(self) -> Path:
        folder = self.data_folder()
        if folder is None:
            raise SuiteError(f"suite '{self.name}' needs a checkout: {self.fetch}, then add --vla-data={self.name}=DIR")
        return folder

    @property
    def world(self) -> Path:
        return Path(__file__).parent / "world.py"


class LiberoPlusSuite(CheckoutSuite):
    """10,030 tasks in seven dimensions, one episode each as published."""

    name = "libero_plus"
    environment = "libero_plus"
    data = (LIST, f"{PACKAGE}/envs/env_wrapper.py", f"{PACKAGE}/assets")
    fetch = "git clone https://github.com/sylvestf/LIBERO-plus DIR, and unpack its assets.zip into DIR/libero/libero"
    root_variable = "LIBERO_PLUS_ROOT"
    test_file = Path(__file__).parent / "test_libero_plus.py"

    def cells(self) -> Sequence[tuple[str, str]]:
        if self.missing() is not None:
            return [NOT_INSTALLED]  # one item, which is skipped and says why
        return [(task, listed.dimension) for task, listed in self.listed.items()]

    def step_limit(self, task: str) -> int:
        return 1 if task == NOT_INSTALLED[0] else STEP_LIMITS[self.listed[task].suite]

    def options(self, task: str) -> Mapping[str, Any]:
        return {
            "checkout": str(self.checkout()),
            "partition": self.listed[task].suite,
            "assets": str(self.checkout() / PACKAGE / "assets"),
            "instruction": "" if rewords(task) else instruction(base_of(task)),
            "image_px": IMAGE_PX,
        }

    def provenance(self) -> dict[str, str]:
        """Upstream tells policies the suffix of the file's name too: scores with it are another thing."""
        return {**super().provenance(), "instruction": "without the suffix of the task's name"}

    @cached_property
    def listed(self) -> Mapping[str, Listed]:
        """Upstream's list; no name is in it twice."""
        data = json.loads((self.checkout() / LIST).read_text(encoding="utf-8"))
        return {
            task["name"]: Listed(suite, DIMENSIONS[task["category"]], task.get("difficulty_level"))
            for suite, tasks in data.items()
            for task in tasks
        }
