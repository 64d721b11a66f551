"""A benchmark class of vla-eval as a suite: what it is is asked of the class itself, once, in its own interpreter."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_vla.isolate.described import DescribedSuite
from pytest_vla.suite import Termination

if TYPE_CHECKING:
    import gymnasium


class VlaEvalSuite(DescribedSuite):
    """The tasks of a class, each under the entry of the config it comes from; episodes are numbered as vla-eval does.

    The class judges an episode by its last step, and says itself when that is: `AT_HORIZON`.
    """

    version = "1"
    termination = Termination.AT_HORIZON
    test_file = Path(__file__).parent / "test_vla_eval.py"

    def action_space(self, task: str) -> gymnasium.Space[Any]:
        import numpy as np
        from gymnasium.spaces import Box

        entry = self.entry(task)
        low, high = (np.array(entry.get(side, [0.0]), np.float32) for side in ("low", "high"))
        unbounded = np.float32(np.inf)
        return Box(
            np.where(np.isnan(low), -unbounded, low), np.where(np.isnan(high), unbounded, high), dtype=np.float32
        )

    @property
    def specs(self) -> list[Mapping[str, Any]]:
        """What each entry declares of its actions and observations, in vla-eval's words."""
        return [{"action": entry["action"], "observation": entry["observation"]} for entry in self.entries]
