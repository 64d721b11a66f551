"""GR00T's own server process (`gr00t/policy/server_client.py` of the checkout in sys.argv[1]) with a policy of ours.

Its package imports a whole training stack; only the modules that its server needs are loaded.
"""

import sys
import types
from pathlib import Path

import numpy as np

root = Path(sys.argv[1])
for name in ("gr00t", "gr00t.policy", "gr00t.data", "gr00t.configs", "gr00t.configs.data"):
    package = types.ModuleType(name)
    package.__path__ = [str(root / name.replace(".", "/"))]
    sys.modules[name] = package
configs = types.ModuleType("gr00t.configs.data.embodiment_configs")
sys.modules[configs.__name__] = configs
from gr00t.data.types import ModalityConfig  # noqa: E402

configs.ModalityConfig = ModalityConfig
from gr00t.policy.server_client import PolicyServer  # noqa: E402


class Sums:
    """Answers with what it was given, so that a mistake on the way shows."""

    def get_modality_config(self):
        keys = {"video": ["front"], "state": ["arm"], "language": ["task"], "action": ["move", "grip"]}
        return {
            name: ModalityConfig(delta_indices=list(range(4)) if name == "action" else [0], modality_keys=names)
            for name, names in keys.items()
        }

    def reset(self, options=None):
        return {}

    def get_action(self, observation, options=None):
        video, state = observation["video"]["front"], observation["state"]["arm"]
        assert (video.dtype, video.ndim, video.shape[1]) == (np.uint8, 5, 1), video.shape
        assert (state.dtype, state.ndim) == (np.float32, 3), state.shape
        rows = len(video)
        words = np.array([len(row[0]) for row in observation["language"]["task"]], np.float32)
        move = np.stack([video.reshape(rows, -1).mean(1), state.sum((1, 2))], 1).astype(np.float32)
        steps = np.arange(4, dtype=np.float32)
        grip = np.full((rows, 4, 1), rows, np.float32)
        return {"move": move[:, None] + steps[None, :, None], "grip": grip + words[:, None, None]}, {"more": 1}


server = PolicyServer(Sums(), host="127.0.0.1", port=int(sys.argv[2]))
print("ready", flush=True)
server.run()
