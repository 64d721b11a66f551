"""The original as a suite: cells, limits and spaces of `vima`, played in `world.py`, elsewhere."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_vla.isolate.suite import IsolatedSuite
from pytest_vla.suite import SuiteError, Termination

from ..vima.benchmark import VimaSuite

if TYPE_CHECKING:
    import gymnasium

    from pytest_vla.suite import Published

ROOT_VARIABLE = "VIMA_BENCH_ROOT"
FETCH = f"git clone https://github.com/vimalabs/VIMABench DIR && export {ROOT_VARIABLE}=DIR"


class VimaUpstreamSuite(IsolatedSuite):
    """The cells, limits and spaces of `vima`, played on the original."""

    name = "vima_upstream"
    version = "2"
    environment = "vima_upstream"
    termination = Termination.ON_SUCCESS
    plays_as = ("vima",)
    has_oracle = True
    cameras = VimaSuite.cameras
    state_keys = VimaSuite.state_keys
    image_sizes = VimaSuite.image_sizes
    meanings = VimaSuite.meanings
    data = ("vima_bench/__init__.py", "vima_bench/tasks/assets")
    fetch = FETCH
    test_file = Path(__file__).parent / "test_vima_upstream.py"

    def __init__(self) -> None:
        self._ours = VimaSuite()

    def cells(self) -> Sequence[tuple[str, str]]:
        return self._ours.cells()

    def default_partitions(self) -> Sequence[str]:
        return self._ours.default_partitions()

    def step_limit(self, task: str) -> int:
        return self._ours.step_limit(task)

    def groups(self) -> Mapping[str, Sequence[str]]:
        return self._ours.groups()

    def published(self) -> Published:
        return self._ours.published()

    def action_space(self, task: str) -> gymnasium.Space[Any]:
        from ..vima.env import action_space

        return action_space()

    def random_action(self, space: gymnasium.Space[Any]) -> Any:
        return self._ours.random_action(space)

    def noop(self, env: gymnasium.Env[Any, Any]) -> Any:
        """A pick, or a short push, in the corner nearest to the robot's right."""
        import numpy as np

        up = np.array([0, 0, 0, 1], dtype=np.float32)
        start, end = np.array([0.25, -0.5], dtype=np.float32), np.array([0.25, -0.49], dtype=np.float32)
        return {"pose0_position": start, "pose0_rotation": up, "pose1_position": end, "pose1_rotation": up}

    def make_env(self, task: str) -> gymnasium.Env[Any, Any]:
        from ..vima.env import observation_space
        from .env import UpstreamEnv

        return UpstreamEnv(
            partial(self.launch, task), self.options, self.action_space(task), observation_space(), self.describe
        )

    def data_folder(self) -> Path | None:
        """The checkout: what `--vla-data` gives, or `$VIMA_BENCH_ROOT`."""
        given, variable = super().data_folder(), os.environ.get(ROOT_VARIABLE)
        return given or (Path(variable).expanduser().absolute() if variable else None)

    def options(self, task: str) -> Mapping[str, Any]:
        folder = self.data_folder()
        if folder is None:
            raise SuiteError(f"suite '{self.name}' needs a checkout of vimalabs/VIMABench: {FETCH}")
        return {"root": str(folder)}

    def provenance(self) -> dict[str, str]:
        """Time is counted in simulator steps here: what a busy machine would have cut short is played to its end."""
        return {**super().provenance(), "clock": "simulator steps"}
