"""A task of LIBERO-plus or LIBERO-PRO: LIBERO's world around the code of a checkout."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np

_LIBERO = Path(__file__).parent.parent / "libero" / "world.py"
_spec: Any = importlib.util.spec_from_file_location("libero_world", _LIBERO)
libero_world: Any = importlib.util.module_from_spec(_spec)
sys.modules["libero_world"] = libero_world
_spec.loader.exec_module(libero_world)

#: Pictures are spoiled by the number in a task's name, ten severities of each kind.
KINDS = ("motion_blur", "gaussian_blur", "zoom_blur", "fog", "glass_blur")
SEVERITIES = 10


class World(libero_world.World):  # type: ignore[misc]  # it is loaded by its path
    """What LIBERO's world is, with the checkout's package in the place of the installed one."""

    def __init__(self, task: str, *, checkout: str, instruction: str, file: str = "", **options: Any) -> None:
        """`file` is the name of the task's files where it is not the task's, and an empty instruction is its bddl's."""
        if checkout not in sys.path:
            sys.path.insert(0, checkout)
        super().__init__(file or task, instruction=instruction, **options)
        self.told = instruction or str(self.env.language_instruction)
        self.noise = int(getattr(self.env, "noise", 0))
        if self.noise:
            self.env.noise = 0  # upstream spoils every picture with numpy's global generator: see `picture`

    def init_file(self, folder: Path, partition: str, task: str) -> Path:
        return init_file(folder, partition, task)

    def reset(self, seed: int, episode: dict[str, Any]) -> dict[str, Any]:
        self.seed, self.steps = seed, 0
        return dict(super().reset(seed, episode))

    def step(self, action: Any) -> tuple[dict[str, Any], bool, dict[str, Any]]:
        self.steps += 1
        answer: tuple[dict[str, Any], bool, dict[str, Any]] = super().step(action)
        return answer

    def picture(self, camera: str) -> Any:
        """Upstream's own noise on `agentview`, drawn from the episode's seed and the step."""
        image = super().picture(camera)
        if not self.noise or camera != "agentview":
            return image
        from libero.libero.envs import env_wrapper
        from PIL import Image

        before = np.random.get_state()
        np.random.seed([self.seed, self.steps])
        try:
            kind, severity = divmod(self.noise - 1, SEVERITIES)
            upstream = Image.fromarray(np.ascontiguousarray(image[::-1, ::-1]))  # which has it turned
            spoiled = getattr(env_wrapper, KINDS[kind])(upstream, severity=severity + 1)
        finally:
            np.random.set_state(before)
        return np.ascontiguousarray(np.asarray(spoiled).astype(np.uint8)[::-1, ::-1])


def init_file(folder: Path, partition: str, task: str) -> Path:
    """Where upstream keeps the init states of a task: its own where things were added or moved, else the original's."""
    if "_add_" in task or "_level" in task:
        return folder / "libero_newobj" / partition / f"{task}.pruned_init"
    if (folder / partition / f"{task}.pruned_init").is_file():
        return folder / partition / f"{task}.pruned_init"
    base = re.sub(r"(_language_\d+|_view_.*|_light_.*|_table_\d+|_tb_\d+)", "", task)
    return folder / partition / f"{base}.pruned_init"
